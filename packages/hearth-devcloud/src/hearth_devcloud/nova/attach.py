"""The API of the interfaces and attached volumes of a server."""

from __future__ import annotations

from hearth_devcloud.cinder import attachments
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.nova import life
from hearth_devcloud.nova.base import bad, conflict, missing
from hearth_devcloud.nova.servers import find, record
from hearth_devcloud.store import Thing


def _interface(call: Call, port: Thing) -> Body:
    body = port.body
    return {
        "net_id": body["network_id"],
        "port_id": port.id,
        "mac_addr": body["mac_address"],
        "port_state": body["status"],
        "fixed_ips": body["fixed_ips"],
    }


def _ports(call: Call, server: Thing) -> list[Thing]:
    table = call.cloud.store.table("network.ports")
    return [table[port_id] for port_id in server.hidden["ports"] if port_id in table]


def interfaces(call: Call) -> Reply:
    """Handle GET of the interfaces of a server."""
    found = [_interface(call, port) for port in _ports(call, find(call))]
    return Reply(200, {"interfaceAttachments": found})


def interface(call: Call) -> Reply:
    """Handle GET of an interface of a server, by its port id."""
    for port in _ports(call, find(call)):
        if port.id == call.ids[1]:
            return Reply(200, {"interfaceAttachment": _interface(call, port)})
    raise missing("Port", call.ids[1])


DETACHABLE = frozenset(
    {"active", "paused", "suspended", "stopped", "resized", "shelved", "shelved_offloaded"}
)  # the states in which a server lets its volumes go


def _unlocked(call: Call) -> Thing:
    """Return the server of the call. Raises Refusal if it is locked for the caller."""
    server = find(call)
    if server.hidden["locked"] and not call.caller.is_admin:
        raise conflict(f"Instance {server.id} is locked")
    return server


def _settled(server: Thing) -> None:
    if server.body["vm_state"] not in ("active", "paused", "stopped"):
        state = server.body["vm_state"]
        raise conflict(
            f"Cannot change the interfaces of instance {server.id} while it is in vm_state {state}"
        )
    if (task := server.body["task_state"]) is not None:
        raise conflict(
            f"Cannot change the interfaces of instance {server.id} while it is in task_state {task}"
        )


def plug(call: Call) -> Reply:
    """Handle POST of an interface: attach a port, or a new port on a network, to a server."""
    server, given = _unlocked(call), call.object("interfaceAttachment")
    if set(given) - {"net_id", "port_id", "fixed_ips", "tag"}:
        raise bad("Additional properties are not allowed")
    if given.get("net_id") and given.get("port_id"):
        raise bad("Must not input both network_id and port_id")
    _settled(server)
    store = call.cloud.store
    item: Body = {}
    if given.get("port_id"):
        port = store.get("network.ports", given["port_id"])
        if port is None:
            raise missing("Port", given["port_id"])
        if port.body["device_id"]:
            raise conflict(f"Port {port.id} is still in use.")
        item["port"] = port.id
    else:
        net_id = given.get("net_id")
        if net_id is None:
            here = _ports(call, server)
            net_id = here[0].body["network_id"] if here else None
        network = store.get("network.networks", net_id)
        if network is None:
            raise missing("Network", str(net_id))
        item["uuid"] = network.id
        if fixed := given.get("fixed_ips"):
            item["fixed_ip"] = fixed[0].get("ip_address")
    try:
        made = life.plug(call.cloud, server, item)
    except Refusal as refused:
        raise bad(refused.message) from None
    server.hidden["ports"].append(made.id)
    record(call, server, "attach_interface")
    return Reply(200, {"interfaceAttachment": _interface(call, made)})


def unplug(call: Call) -> Reply:
    """Handle DELETE of an interface; reply with status 202, even if there is no such port."""
    server = _unlocked(call)
    _settled(server)
    life.unplug(call.cloud, server, call.ids[1])
    record(call, server, "detach_interface")
    return Reply(202)


def _attachment(call: Call, server: Thing, item: Body) -> Body:
    version = call.version
    shown: Body = {} if version >= (2, 89) else {"id": item["volume_id"]}
    shown |= {
        "volumeId": item["volume_id"],
        "serverId": server.id,
        "device": item["device"],
    }
    if version >= (2, 70):
        shown["tag"] = item["tag"]
    if version >= (2, 79):
        shown["delete_on_termination"] = item["delete_on_termination"]
    if version >= (2, 89):
        shown |= {"attachment_id": item["attachment_id"], "bdm_uuid": item["bdm_uuid"]}
    return shown


def volumes(call: Call) -> Reply:
    """Handle GET of the attached volumes of a server."""
    server = find(call)
    found = [_attachment(call, server, item) for item in server.hidden["volumes"]]
    return Reply(200, {"volumeAttachments": found})


def _item(server: Thing, volume_id: str) -> Body:
    for item in server.hidden["volumes"]:
        if item["volume_id"] == volume_id:
            found: Body = item
            return found
    raise missing("Volume attachment", volume_id)


def volume(call: Call) -> Reply:
    """Handle GET of a volume attachment of a server."""
    server = find(call)
    shown = _attachment(call, server, _item(server, call.ids[1]))
    return Reply(200, {"volumeAttachment": shown})


def attach(call: Call) -> Reply:
    """Handle POST /servers/{id}/os-volume_attachments: attach an available volume."""
    server, given = _unlocked(call), call.object("volumeAttachment")
    if unknown := set(given) - {"volumeId", "device", "tag", "delete_on_termination"}:
        raise bad(f"Additional properties are not allowed: {sorted(unknown)}")
    store = call.cloud.store
    found = store.get("volume.volumes", given.get("volumeId"))
    if found is None or not (call.caller.is_admin or found.project_id == server.project_id):
        raise missing("Volume", str(given.get("volumeId")))
    if found.body["status"] != "available":
        raise bad(f"Invalid volume: volume {found.id} status must be available to attach")
    if server.body["vm_state"] == "building":
        words = f"Cannot 'attach_volume' instance {server.id} while it is in vm_state building"
        raise conflict(words)
    wanted = {**given, "slow_s": call.effects.slow_s}
    item = life.attach_volume(call.cloud, server, found, wanted)
    record(call, server, "attach_volume")
    return Reply(200, {"volumeAttachment": _attachment(call, server, item)})


def update_attachment(call: Call) -> Reply:
    """Handle PUT of a volume attachment: change its field delete_on_termination."""
    server, given = find(call), call.object("volumeAttachment")
    item = _item(server, call.ids[1])
    if "delete_on_termination" in given:
        item["delete_on_termination"] = bool(given["delete_on_termination"])
    return Reply(202)


def detach(call: Call) -> Reply:
    """Handle DELETE of a volume attachment: detach the volume; reply with status 202."""
    server = _unlocked(call)
    item = _item(server, call.ids[1])
    if item["boot"]:
        raise Refusal(403, message="Cannot detach a root device volume")
    if server.body["vm_state"] not in DETACHABLE:
        state = server.body["vm_state"]
        words = f"Cannot 'detach_volume' instance {server.id} while it is in vm_state {state}"
        raise conflict(words)
    server.hidden["volumes"].remove(item)
    found = call.cloud.store.get("volume.volumes", call.ids[1])
    if found is not None:
        slow_s = call.effects.slow_s or 0.0
        attachments.detach(call.cloud, found, item["attachment_id"], after_s=slow_s)
    record(call, server, "detach_volume")
    return Reply(202)


_INTERFACES = "/v2.1/servers/{}/os-interface"
_VOLUMES = "/v2.1/servers/{}/os-volume_attachments"
ROUTES: list[Route] = [
    ("GET", _INTERFACES, interfaces),
    ("POST", _INTERFACES, plug),
    ("GET", _INTERFACES + "/{}", interface),
    ("DELETE", _INTERFACES + "/{}", unplug),
    ("GET", _VOLUMES, volumes),
    ("POST", _VOLUMES, attach),
    ("GET", _VOLUMES + "/{}", volume),
    ("PUT", _VOLUMES + "/{}", update_attachment),
    ("DELETE", _VOLUMES + "/{}", detach),
]
