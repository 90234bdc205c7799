"""Actions on containers: start, stop and others, and changes of the networks."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Cloud, Handler, Reply, Route
from hearth_devcloud.store import Thing
from hearth_devcloud.zun import wiring
from hearth_devcloud.zun.base import arguments, bad, conflict, container, flag, since
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
        thing = container(call)
        allow(thing, name, states)
        thing.body["task_state"] = task
        call.cloud.store.later(call.effects.slow_s or 0, thing, "container.changed")
        return Reply(202)

    return handler


def changed(cloud: Cloud, thing: Thing) -> None:
    """Complete an action on a container."""
    for _, task, state in _CHANGES.values():
        if thing.body["task_state"] == task:
            thing.body.update(status=state, task_state=None)
            thing.body["addresses"] = wiring.addresses(cloud, thing)


def rename(call: Call) -> Reply:
    """Handle POST of a new name, before microversion 1.14."""
    if call.version >= (1, 14):
        since(call, 1000)
    thing, given = container(call), arguments(call, ("name",))
    if given.get("name") in (None, thing.body["name"]):
        raise conflict("The new name for the container is the same as the old name.")
    thing.body["name"] = given["name"]
    return Reply(200, view(call, thing))


def networks(call: Call) -> Reply:
    """Handle GET network_list: the ports of a container, since microversion 1.18 one by one."""
    since(call, 13)
    thing = container(call)
    ports = wiring.ports(call.cloud, thing)
    found: list[Body] = []
    for port in ports:
        ips = wiring.fixed_ips(port)
        if call.version >= (1, 18):
            one = {"port_id": port.id, "net_id": port.body["network_id"], "fixed_ips": ips}
            found.append(one)
        else:
            more = {"port_id": port.id, "net_id": port.body["network_id"]}
            found += [{**more, **ip} for ip in ips]
    return Reply(200, {"networks": found})


def attach(call: Call) -> Reply:
    """Handle POST network_attach: connect a container to a network or port; status 202."""
    since(call, 8)
    given = arguments(call, ("network", "port", "fixed_ip"))
    thing = container(call)
    allow(thing, "network_attach", _WIRED)
    if ("network" in given) == ("port" in given):
        raise bad("Invalid input: expected either network or port")
    net: Body = {name: given[name] for name in ("network", "port") if name in given}
    if "fixed_ip" in given:
        net["v6-fixed-ip" if ":" in given["fixed_ip"] else "v4-fixed-ip"] = given["fixed_ip"]
    if "network" in net:
        network = wiring.network_of(call, net["network"])
        there = {port.body["network_id"] for port in wiring.ports(call.cloud, thing)}
        if network.id in there:
            raise conflict(f"Container {thing.id} has been attached to network {network.id}")
    wiring.plug(call, thing, net)
    thing.body["addresses"] = wiring.addresses(call.cloud, thing)
    return Reply(202)


def detach(call: Call) -> Reply:
    """Handle POST network_detach: disconnect a container from a network or port; status 202."""
    since(call, 6)
    given = arguments(call, ("network", "port") if call.version >= (1, 17) else ("network",))
    thing = container(call)
    allow(thing, "network_detach", _WIRED)
    wanted = given.get("port")
    network = wiring.network_of(call, given["network"]).id if "network" in given else None
    found = [
        port.id
        for port in wiring.ports(call.cloud, thing)
        if wanted in (port.id, port.body["name"]) or port.body["network_id"] == network
    ]
    if not found:
        raise bad(f"The port or network is not attached to container {thing.id}")
    for port_id in found:
        wiring.unplug(call.cloud, thing, port_id)
    thing.body["addresses"] = wiring.addresses(call.cloud, thing)
    return Reply(202)


def logs(call: Call) -> Reply:
    """Handle GET of a container's log; nothing runs, so it is empty."""
    given = arguments(call, ("stdout", "stderr", "timestamps", "tail", "since"))
    flag(given, "timestamps")
    allow(container(call), "logs", _LOGGED)
    return Reply(200, "")


_PATH = "/v1/containers/{}"
ROUTES: list[Route] = [
    *(("POST", f"{_PATH}/{name}", _act(name)) for name in _CHANGES),
    ("POST", _PATH + "/rename", rename),
    ("GET", _PATH + "/network_list", networks),
    ("POST", _PATH + "/network_attach", attach),
    ("POST", _PATH + "/network_detach", detach),
    ("GET", _PATH + "/logs", logs),
]
