"""The actions on servers: `POST /servers/{id}/action`, where the key of the body is the action."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hearth_devcloud import tables
from hearth_devcloud.glance.images import new_image
from hearth_devcloud.http import Actions, Body, Call, Refusal, Reply, Route
from hearth_devcloud.microversion import Since
from hearth_devcloud.nova import life, migrations, order, quotas, view
from hearth_devcloud.nova.base import admin_only, bad, conflict, missing
from hearth_devcloud.nova.flavors import flavor_of
from hearth_devcloud.nova.hypervisors import host_of
from hearth_devcloud.nova.life import allow, begin
from hearth_devcloud.nova.servers import find, record
from hearth_devcloud.store import Resource


@dataclass(frozen=True)
class Task:
    """An action that only changes the state of a server, such as os-stop.

    `vm_states` are the VM states in which the action is possible, `task_state` is the task state
    while it runs, and `target` is the VM state after it.
    """

    vm_states: frozenset[str]
    task_state: str
    target: str


def _states(*names: str) -> frozenset[str]:
    return frozenset(names)


TASKS = {
    "os-stop": Task(_states("active", "rescued"), "powering-off", "stopped"),
    "os-start": Task(_states("stopped"), "powering-on", "active"),
    "pause": Task(_states("active", "rescued"), "pausing", "paused"),
    "unpause": Task(_states("paused"), "unpausing", "active"),
    "suspend": Task(_states("active", "rescued"), "suspending", "suspended"),
    "resume": Task(_states("suspended"), "resuming", "active"),
    "unrescue": Task(_states("rescued"), "unrescuing", "active"),
    "shelve": Task(
        _states("active", "stopped", "paused", "suspended"), "shelving", "shelved_offloaded"
    ),
    "shelveOffload": Task(_states("shelved"), "shelving_offloading", "shelved_offloaded"),
    "unshelve": Task(_states("shelved", "shelved_offloaded"), "unshelving", "active"),
}


def act(call: Call) -> Reply:
    """Handle POST of an action on a server; the only key of the body is the name of the action."""
    server = find(call)
    verb, arguments = next(iter(call.json().items()))
    handler = HANDLERS.get(verb)
    if server.hidden["locked"] and verb not in ("unlock", "lock") and not call.caller.is_admin:
        raise conflict(f"Instance {server.id} is locked")
    if handler is not None:
        reply = handler(call, server, arguments if isinstance(arguments, dict) else {})
    else:
        task = TASKS[verb]
        allow(server, verb, task.vm_states)
        begin(call, server, task.task_state, task.target)
        reply = Reply(202)
    record(call, server, _RECORDED.get(verb, verb.removeprefix("os-")))
    return reply


def _reboot(call: Call, server: Resource, arguments: Body) -> Reply:
    kind = arguments.get("type")
    if kind not in ("SOFT", "HARD"):
        raise bad("Invalid input for field/attribute type: expected SOFT or HARD")
    states = {"active"} if kind == "SOFT" else {"active", "stopped", "paused", "suspended", "error"}
    allow(server, "reboot", frozenset(states))
    begin(call, server, "rebooting" if kind == "SOFT" else "rebooting_hard", "active")
    return Reply(202)


def _rescue(call: Call, server: Resource, arguments: Body) -> Reply:
    allow(server, "rescue", _states("active", "stopped", "error"))
    begin(call, server, "rescuing", "rescued")
    return Reply(200, {"adminPass": arguments.get("adminPass") or call.cloud.store.new_secret(12)})


def _rebuild(call: Call, server: Resource, arguments: Body) -> Reply:
    allow(server, "rebuild", _states("active", "stopped", "error"))
    image_id = arguments.get("imageRef")
    if not isinstance(image_id, str):
        raise bad("'imageRef' is a required property")
    order.check_image(call, image_id, server.hidden["flavor"])
    server.hidden["image_id"] = image_id
    for key in ("name", "metadata", "accessIPv4", "accessIPv6", "description"):
        if arguments.get(key) is not None:
            server.body[key] = arguments[key]
    if call.version >= (2, 57) and "user_data" in arguments:
        server.hidden["user_data"] = arguments["user_data"]
    if call.version >= (2, 54) and "key_name" in arguments:
        server.hidden["key_name"] = arguments["key_name"]
    target = "stopped" if server.body["vm_state"] == "stopped" else "active"
    server.hidden["fault"] = None
    if server.body["vm_state"] == "error":
        server.body["vm_state"] = "active"
    begin(call, server, "rebuilding", target)
    body = view.core(call, server, extended=False)
    body["adminPass"] = arguments.get("adminPass") or call.cloud.store.new_secret(12)
    return Reply(202, {"server": body})


def _resize(call: Call, server: Resource, arguments: Body) -> Reply:
    reference = str(arguments.get("flavorRef", "")).rpartition("/")[2]
    flavor = flavor_of(call, reference)
    if flavor is None:
        raise bad(f"Flavor {reference} could not be found.")
    if flavor.id == server.hidden["flavor_id"]:
        raise bad("When resizing, instances must change flavor!")
    allow(server, "resize", _states("active", "stopped"))
    before = server.hidden["flavor"]
    increase = {
        "cores": max(0, flavor.body["vcpus"] - before["vcpus"]),
        "ram": max(0, flavor.body["ram"] - before["ram"]),
    }
    quotas.check(call.cloud, server.project_id or "", {k: n for k, n in increase.items() if n})
    server.hidden["before_resize"] = migrations.placement(server)
    server.hidden["flavor_id"] = flavor.id
    server.hidden["flavor"] = {k: v for k, v in flavor.body.items() if k != "access"}
    begin(call, server, "resize_prep", "resized")
    return Reply(202)


def _confirm(call: Call, server: Resource, arguments: Body) -> Reply:
    allow(server, "confirmResize", _states("resized"))
    before = server.hidden.pop("before_resize")
    life.set_state(call.cloud, server, before["vm_state"])
    return Reply(204)


def _revert(call: Call, server: Resource, arguments: Body) -> Reply:
    allow(server, "revertResize", _states("resized"))
    before = server.hidden.pop("before_resize")
    server.hidden.update(flavor_id=before["flavor_id"], flavor=before["flavor"])
    if (host := before["host"]) != host_of(server):
        life.move(call.cloud, server, host)
    begin(call, server, "resize_reverting", before["vm_state"])
    return Reply(202)


def _create_image(call: Call, server: Resource, arguments: Body) -> Reply:
    if not isinstance(arguments.get("name"), str):
        raise bad("'name' is a required property")
    allow(server, "createImage", _states("active", "stopped", "paused", "suspended"))
    image = new_image(
        call.cloud,
        server.project_id or "",
        {
            "name": arguments["name"],
            "disk_format": "qcow2",
            "container_format": "bare",
            "visibility": "private",
            "min_disk": server.hidden["flavor"]["disk"],
        },
        {
            **{key: str(value) for key, value in (arguments.get("metadata") or {}).items()},
            "image_type": "snapshot",
            "instance_uuid": server.id,
            "base_image_ref": server.hidden["image_id"],
        },
        data=b"\0" * 1024,
    )
    location = {"Location": f"{call.base}/image/v2/images/{image.id}"}
    if call.version >= (2, 45):
        return Reply(202, {"image_id": image.id})
    return Reply(202, None, {**location, "Content-Type": "text/html; charset=UTF-8"})


def _lock(call: Call, server: Resource, arguments: Body) -> Reply:
    server.hidden.update(locked=True, locked_reason=arguments.get("locked_reason"))
    return Reply(202)


def _unlock(call: Call, server: Resource, arguments: Body) -> Reply:
    server.hidden.update(locked=False, locked_reason=None)
    return Reply(202)


def _console_output(call: Call, server: Resource, arguments: Body) -> Reply:
    if server.body["vm_state"] == "building":
        raise conflict(f"Instance {server.id} is not ready")
    if call.cloud.machines is not None:
        return Reply(200, {"output": _tail(call.cloud.machines.console(server), arguments)})
    lines = [f"{server.body['name']} login:"]
    return Reply(200, {"output": "\n".join([*server.hidden.get("console", []), *lines])})


def _tail(text: str, arguments: Body) -> str:
    """Return the last lines of a text; `arguments` has their number as `length`, default all."""
    try:
        length = int(arguments.get("length") or -1)
    except (TypeError, ValueError):
        raise bad("Invalid input for field/attribute length: expected an integer") from None
    return text if length < 0 else "".join(text.splitlines(keepends=True)[-length:])


def _console_url(call: Call, server: Resource) -> str:
    return f"{call.base}/console?token={call.cloud.store.new_secret(24)}&server={server.id}"


def _console(call: Call, server: Resource, arguments: Body) -> Reply:
    if server.body["vm_state"] == "building":
        raise conflict(f"Instance {server.id} is not ready")
    kind = arguments.get("type")
    if not isinstance(kind, str):
        raise bad("'type' is a required property")
    return Reply(200, {"console": {"type": kind, "url": _console_url(call, server)}})


def remote_console(call: Call) -> Reply:
    """Handle POST remote-consoles: return a console URL of a server."""
    server, arguments = find(call), call.object("remote_console")
    console = {"protocol": arguments.get("protocol"), "type": arguments.get("type")}
    return Reply(200, {"remote_console": {**console, "url": _console_url(call, server)}})


def _reset(call: Call, server: Resource, arguments: Body) -> Reply:
    admin_only(call)
    state = arguments.get("state")
    if state not in ("active", "error"):
        raise bad(
            f"Invalid input for field/attribute state. Value: {state}. "
            "Expected one of: active, error"
        )
    life.set_state(call.cloud, server, state)
    return Reply(202)


def _force_delete(call: Call, server: Resource, arguments: Body) -> Reply:
    server.body["task_state"] = "deleting"
    life.tell(call.cloud, server, "compute.instance.delete.start")
    call.cloud.store.later(0, server, "compute.deleted")
    return Reply(202)


def _groups_of(call: Call, server: Resource) -> list[list[str]]:
    ports = call.cloud.store.table(tables.PORTS)
    return [ports[p].body["security_groups"] for p in server.hidden["ports"] if p in ports]


def _add_group(call: Call, server: Resource, arguments: Body) -> Reply:
    group_id = order.security_group(call, str(arguments.get("name")))
    groups = _groups_of(call, server)
    if any(group_id in present for present in groups):
        raise bad(f"Security group {arguments.get('name')} is already associated with the instance")
    for present in groups:
        present.append(group_id)
    return Reply(202)


def _remove_group(call: Call, server: Resource, arguments: Body) -> Reply:
    name = str(arguments.get("name"))
    try:
        group_id = order.security_group(call, name)
    except Refusal:
        raise missing("Security group", name) from None
    groups = [present for present in _groups_of(call, server) if group_id in present]
    if not groups:
        raise missing("Security group", name)
    for present in groups:
        present.remove(group_id)
    return Reply(202)


def _no_floating_ip(call: Call, server: Resource, arguments: Body) -> Reply:
    raise missing("Floating IP", str(arguments.get("address")))


def _change_password(call: Call, server: Resource, arguments: Body) -> Reply:
    allow(server, "changePassword", _states("active"))
    return Reply(202)


HANDLERS: dict[str, Callable[[Call, Resource, Body], Reply]] = {
    "reboot": _reboot,
    "rescue": _rescue,
    "rebuild": _rebuild,
    "resize": _resize,
    "confirmResize": _confirm,
    "revertResize": _revert,
    "createImage": _create_image,
    "lock": _lock,
    "unlock": _unlock,
    "os-getConsoleOutput": _console_output,
    "os-getVNCConsole": _console,
    "os-getSPICEConsole": _console,
    "os-getSerialConsole": _console,
    "os-getRDPConsole": _console,
    "os-resetState": _reset,
    "forceDelete": _force_delete,
    "addSecurityGroup": _add_group,
    "removeSecurityGroup": _remove_group,
    "addFloatingIp": _no_floating_ip,
    "removeFloatingIp": _no_floating_ip,
    "changePassword": _change_password,
    **migrations.HANDLERS,
}
_RECORDED = {"os-migrateLive": "live-migration"}  # names of actions in the list of a server

ROUTES: list[Route] = [
    ("POST", "/v2.1/servers/{}/action", Actions((*TASKS, *HANDLERS), act)),
    ("POST", "/v2.1/servers/{}/remote-consoles", Since((2, 6), remote_console)),
]
