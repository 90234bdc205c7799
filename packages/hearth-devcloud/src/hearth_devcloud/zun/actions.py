"""Actions on containers: start, stop and others, and changes of the networks."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Handler, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.store import Resource
from hearth_devcloud.zun import wiring
from hearth_devcloud.zun.base import arguments, bad, conflict, find_container, flag, not_in_version
from hearth_devcloud.zun.containers import allow, view

_CHANGES = {
    "start": (("Created", "Stopped", "Error"), "container_starting", "Running"),
    "stop": (("Running",), "container_stopping", "Stopped"),
    "reboot": (("Created", "Running", "Stopped", "Error"), "container_rebooting", "Running"),
    "pause": (("Running",), "container_pausing", "Paused"),
    "unpause": (("Paused",), "container_unpausing", "Running"),
    "kill": (("Running",), "container_killing", "Stopped"),
}
"""Action → (states in which it is allowed, state of the task, state at the end)."""

_WIRED = ("Created", "Running", "Stopped", "Paused")
_LOGGED = (*_WIRED, "Error", "Unknown")


def _act(name: str) -> Handler:
    states, task, _ = _CHANGES[name]

    def handler(call: Call) -> Reply:
        """Handle POST of an action; reply with status 202."""
        arguments(call, ("timeout", "signal"))
        container = find_container(call)
        allow(container, name, states)
        container.body["task_state"] = task
        call.cloud.store.later(call.effects.slow_s or 0, container, "container.changed")
        return Reply(202)

    return handler


def changed(cloud: Cloud, container: Resource) -> None:
    """Complete an action on a container."""
    for _, task, state in _CHANGES.values():
        if container.body["task_state"] == task:
            container.body.update(status=state, task_state=None)
            container.body["addresses"] = wiring.addresses(cloud, container)


def rename(call: Call) -> Reply:
    """Handle POST of a new name, before microversion 1.14."""
    if call.version >= (1, 14):
        raise not_in_version()
    container, options = find_container(call), arguments(call, ("name",))
    if options.get("name") in (None, container.body["name"]):
        raise conflict("The new name for the container is the same as the old name.")
    container.body["name"] = options["name"]
    return Reply(200, view(call, container))


def networks(call: Call) -> Reply:
    """Handle GET network_list: the ports of a container, since microversion 1.18 one by one."""
    container = find_container(call)
    ports = wiring.ports(call.cloud, container)
    views: list[Body] = []
    for port in ports:
        ips = wiring.fixed_ips(port)
        if call.version >= (1, 18):
            view = {"port_id": port.id, "net_id": port.body["network_id"], "fixed_ips": ips}
            views.append(view)
        else:
            fields = {"port_id": port.id, "net_id": port.body["network_id"]}
            views += [{**fields, **ip} for ip in ips]
    return Reply(200, {"networks": views})


def attach(call: Call) -> Reply:
    """Handle POST network_attach: connect a container to a network or port; status 202."""
    options = arguments(call, ("network", "port", "fixed_ip"))
    container = find_container(call)
    allow(container, "network_attach", _WIRED)
    if ("network" in options) == ("port" in options):
        raise bad("Invalid input: expected either network or port")
    net: Body = {name: options[name] for name in ("network", "port") if name in options}
    if "fixed_ip" in options:
        net["v6-fixed-ip" if ":" in options["fixed_ip"] else "v4-fixed-ip"] = options["fixed_ip"]
    if "network" in net:
        network = wiring.network_of(call, net["network"])
        network_ids = {port.body["network_id"] for port in wiring.ports(call.cloud, container)}
        if network.id in network_ids:
            raise conflict(f"Container {container.id} has been attached to network {network.id}")
    wiring.plug(call, container, net)
    container.body["addresses"] = wiring.addresses(call.cloud, container)
    return Reply(202)


def detach(call: Call) -> Reply:
    """Handle POST network_detach: disconnect a container from a network or port; status 202."""
    options = arguments(call, ("network", "port") if call.version >= (1, 17) else ("network",))
    container = find_container(call)
    allow(container, "network_detach", _WIRED)
    chosen_port = options.get("port")
    network = wiring.network_of(call, options["network"]).id if "network" in options else None
    ports = [
        port.id
        for port in wiring.ports(call.cloud, container)
        if chosen_port in (port.id, port.body["name"]) or port.body["network_id"] == network
    ]
    if not ports:
        raise bad(f"The port or network is not attached to container {container.id}")
    for port_id in ports:
        wiring.unplug(call.cloud, container, port_id)
    container.body["addresses"] = wiring.addresses(call.cloud, container)
    return Reply(202)


def logs(call: Call) -> Reply:
    """Handle GET of a container's log; nothing runs, so it is empty."""
    options = arguments(call, ("stdout", "stderr", "timestamps", "tail", "since"))
    flag(options, "timestamps")
    allow(find_container(call), "logs", _LOGGED)
    return Reply(200, "")


def _since(minor: int, handler: Handler) -> Since:
    refused = not_in_version()
    return Since((1, minor), handler, refused.status, refused.message)


_PATH = "/v1/containers/{}"
ROUTES: list[Route] = [
    *(("POST", f"{_PATH}/{name}", _act(name)) for name in _CHANGES),
    ("POST", _PATH + "/rename", rename),
    ("GET", _PATH + "/network_list", _since(13, networks)),
    ("POST", _PATH + "/network_attach", _since(8, attach)),
    ("POST", _PATH + "/network_detach", _since(6, detach)),
    ("GET", _PATH + "/logs", logs),
]
