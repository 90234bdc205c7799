"""The API of the interfaces and attached volumes of a server."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.cinder import attachments
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.nova import life
from hearth_devcloud.nova.base import bad, conflict, missing
from hearth_devcloud.nova.servers import find, record
from hearth_devcloud.store import Resource


def _interface(call: Call, port: Resource) -> Body:
    body = port.body
    return {
        "net_id": body["network_id"],
        "port_id": port.id,
        "mac_addr": body["mac_address"],
        "port_state": body["status"],
        "fixed_ips": body["fixed_ips"],
    }


def _ports(call: Call, server: Resource) -> list[Resource]:
    table = call.cloud.store.table(tables.PORTS)
    return [table[port_id] for port_id in server.hidden["ports"] if port_id in table]


def interfaces(call: Call) -> Reply:
    """Handle GET of the interfaces of a server."""
    views = [_interface(call, port) for port in _ports(call, find(call))]
    return Reply(200, {"interfaceAttachments": views})


def interface(call: Call) -> Reply:
    """Handle GET of an interface of a server, by its port id."""
    for port in _ports(call, find(call)):
        if port.id == call.ids[1]:
            return Reply(200, {"interfaceAttachment": _interface(call, port)})
    raise missing("Port", call.ids[1])


DETACHABLE = frozenset(
    {"active", "paused", "suspended", "stopped", "resized", "shelved", "shelved_offloaded"}
)  # the states in which a server lets its volumes go


def _unlocked(call: Call) -> Resource:
    """Return the server of the call. Raises Refusal if it is locked for the caller."""
    server = find(call)
    if server.hidden["locked"] and not call.caller.is_admin:
        raise conflict(f"Instance {server.id} is locked")
    return server


def _settled(server: Resource) -> None:
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
    server, attributes = _unlocked(call), call.object("interfaceAttachment")
    if set(attributes) - {"net_id", "port_id", "fixed_ips", "tag"}:
        raise bad("Additional properties are not allowed")
    if attributes.get("net_id") and attributes.get("port_id"):
        raise bad("Must not input both network_id and port_id")
    _settled(server)
    store = call.cloud.store
    item: Body = {}
    if attributes.get("port_id"):
        port = store.get(tables.PORTS, attributes["port_id"])
        if port is None:
            raise missing("Port", attributes["port_id"])
        if port.body["device_id"]:
            raise conflict(f"Port {port.id} is still in use.")
        item["port"] = port.id
    else:
        net_id = attributes.get("net_id")
        if net_id is None:
            ports = _ports(call, server)
            net_id = ports[0].body["network_id"] if ports else None
        network = store.get(tables.NETWORKS, net_id)
        if network is None:
            raise missing("Network", str(net_id))
        item["uuid"] = network.id
        if fixed := attributes.get("fixed_ips"):
            item["fixed_ip"] = fixed[0].get("ip_address")
    try:
        new_port = life.plug(call.cloud, server, item)
    except Refusal as refused:
        raise bad(refused.message) from None
    server.hidden["ports"].append(new_port.id)
    record(call, server, "attach_interface")
    return Reply(200, {"interfaceAttachment": _interface(call, new_port)})


def unplug(call: Call) -> Reply:
    """Handle DELETE of an interface; reply with status 202, even if there is no such port."""
    server = _unlocked(call)
    _settled(server)
    life.unplug(call.cloud, server, call.ids[1])
    record(call, server, "detach_interface")
    return Reply(202)


def _attachment(call: Call, server: Resource, item: Body) -> Body:
    version = call.version
    view: Body = {} if version >= (2, 89) else {"id": item["volume_id"]}
    view |= {
        "volumeId": item["volume_id"],
        "serverId": server.id,
        "device": item["device"],
    }
    if version >= (2, 70):
        view["tag"] = item["tag"]
    if version >= (2, 79):
        view["delete_on_termination"] = item["delete_on_termination"]
    if version >= (2, 89):
        view |= {"attachment_id": item["attachment_id"], "bdm_uuid": item["bdm_uuid"]}
    return view


def volumes(call: Call) -> Reply:
    """Handle GET of the attached volumes of a server."""
    server = find(call)
    views = [_attachment(call, server, item) for item in server.hidden["volumes"]]
    return Reply(200, {"volumeAttachments": views})


def _item(server: Resource, volume_id: str) -> Body:
    for item in server.hidden["volumes"]:
        if item["volume_id"] == volume_id:
            volume: Body = item
            return volume
    raise missing("Volume attachment", volume_id)


def volume(call: Call) -> Reply:
    """Handle GET of a volume attachment of a server."""
    server = find(call)
    view = _attachment(call, server, _item(server, call.ids[1]))
    return Reply(200, {"volumeAttachment": view})


def attach(call: Call) -> Reply:
    """Handle POST /servers/{id}/os-volume_attachments: attach an available volume."""
    server, attributes = _unlocked(call), call.object("volumeAttachment")
    if unknown := set(attributes) - {"volumeId", "device", "tag", "delete_on_termination"}:
        raise bad(f"Additional properties are not allowed: {sorted(unknown)}")
    store = call.cloud.store
    volume = store.get(tables.VOLUMES, attributes.get("volumeId"))
    if volume is None or not (call.caller.is_admin or volume.project_id == server.project_id):
        raise missing("Volume", str(attributes.get("volumeId")))
    if volume.body["status"] != "available":
        raise bad(f"Invalid volume: volume {volume.id} status must be available to attach")
    if server.body["vm_state"] == "building":
        message = f"Cannot 'attach_volume' instance {server.id} while it is in vm_state building"
        raise conflict(message)
    device = {**attributes, "slow_s": call.effects.slow_s}
    item = life.attach_volume(call.cloud, server, volume, device)
    record(call, server, "attach_volume")
    return Reply(200, {"volumeAttachment": _attachment(call, server, item)})


def update_attachment(call: Call) -> Reply:
    """Handle PUT of a volume attachment: change its field delete_on_termination."""
    server, attributes = find(call), call.object("volumeAttachment")
    item = _item(server, call.ids[1])
    if "delete_on_termination" in attributes:
        item["delete_on_termination"] = bool(attributes["delete_on_termination"])
    return Reply(202)


def detach(call: Call) -> Reply:
    """Handle DELETE of a volume attachment: detach the volume; reply with status 202."""
    server = _unlocked(call)
    item = _item(server, call.ids[1])
    if item["boot"]:
        raise Refusal(403, message="Cannot detach a root device volume")
    if server.body["vm_state"] not in DETACHABLE:
        state = server.body["vm_state"]
        message = f"Cannot 'detach_volume' instance {server.id} while it is in vm_state {state}"
        raise conflict(message)
    server.hidden["volumes"].remove(item)
    volume = call.cloud.store.get(tables.VOLUMES, call.ids[1])
    if volume is not None:
        slow_s = call.effects.slow_s or 0.0
        attachments.detach(call.cloud, volume, item["attachment_id"], after_s=slow_s)
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
