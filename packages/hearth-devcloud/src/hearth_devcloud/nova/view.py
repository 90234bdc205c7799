"""The representation of servers in responses, depending on the microversion of the call."""

from __future__ import annotations

import hashlib
from functools import cache

from hearth_devcloud import tables
from hearth_devcloud.http import Body, Call
from hearth_devcloud.nova.base import bookmark, links
from hearth_devcloud.nova.hypervisors import host_status
from hearth_devcloud.store import Resource

POWER = {"active": 1, "stopped": 4, "paused": 3, "suspended": 7, "rescued": 1, "resized": 1}


def brief(call: Call, server: Resource) -> Body:
    """Return a server as in the brief list: id, name and links."""
    return {
        "id": server.id,
        "name": server.body["name"],
        "links": links(call, "servers", server.id),
    }


def addresses(call: Call, server: Resource, *, extended: bool = True) -> Body:
    """Return the addresses of a server by network name; fixed IPs come before floating IPs."""
    store = call.cloud.store
    addresses_by_network: dict[str, list[Body]] = {}
    for port_id in server.hidden["ports"]:
        port = store.table(tables.PORTS).get(port_id)
        if port is None:
            continue
        network = store.table(tables.NETWORKS)[port.body["network_id"]]
        network_addresses = addresses_by_network.setdefault(network.body["name"], [])
        fixed = [(item["ip_address"], "fixed") for item in port.body["fixed_ips"]]
        fixed += [
            (f.body["floating_ip_address"], "floating")
            for f in store.where(tables.FLOATING_IPS, port_id=port_id)
        ]
        for address, kind in fixed:
            item: Body = {"version": 6 if ":" in address else 4, "addr": address}
            if extended:
                item["OS-EXT-IPS:type"] = kind
                item["OS-EXT-IPS-MAC:mac_addr"] = port.body["mac_address"]
            network_addresses.append(item)
    return addresses_by_network


@cache
def _host_id(project_id: str) -> str:
    return hashlib.sha224(project_id.encode()).hexdigest()


def _flavor(call: Call, server: Resource) -> Body:
    flavor = server.hidden["flavor"]
    if call.version < (2, 47):
        flavor_id = server.hidden["flavor_id"]
        return {"id": flavor_id, "links": [bookmark(call, "flavors", flavor_id)]}
    return {
        "vcpus": flavor["vcpus"],
        "ram": flavor["ram"],
        "disk": flavor["disk"],
        "ephemeral": flavor["OS-FLV-EXT-DATA:ephemeral"],
        "swap": flavor["swap"],
        "original_name": flavor["name"],
        "extra_specs": flavor["extra_specs"],
    }


def _image(call: Call, server: Resource) -> Body | str:
    image_id = server.hidden["image_id"]
    if not image_id:
        return ""
    return {"id": image_id, "links": [bookmark(call, "images", image_id)]}


def core(call: Call, server: Resource, *, extended: bool) -> Body:
    """Return a server with the basic fields, which `full` extends.

    The reply to a rebuild, and to an update before microversion 2.75, contains these fields. If
    `extended` is true, each address has its type and the MAC address of its port.
    """
    body = server.body
    built = server.hidden["host"]
    view: Body = {
        "accessIPv4": body["accessIPv4"],
        "accessIPv6": body["accessIPv6"],
        "addresses": addresses(call, server, extended=extended),
        "created": body["created"],
        "flavor": _flavor(call, server),
        "hostId": _host_id(server.project_id or "") if built else "",
        "id": server.id,
        "image": _image(call, server),
        "links": links(call, "servers", server.id),
        "metadata": body["metadata"],
        "name": body["name"],
        "status": body["status"],
        "tenant_id": server.project_id,
        "user_id": body["user_id"],
        "updated": body["updated"],
        "OS-DCF:diskConfig": body["OS-DCF:diskConfig"],
    }
    if body["status"] in ("ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE", "REBOOT"):
        view["progress"] = 0
    if server.hidden["fault"] and body["status"] in ("ERROR", "DELETED"):
        view["fault"] = server.hidden["fault"]
    return view


def full(call: Call, server: Resource) -> Body:
    """Return a server with all fields, as in GET of one server and in the detailed list."""
    body, hidden, version = server.body, server.hidden, call.version
    view = core(call, server, extended=True)
    view["OS-EXT-AZ:availability_zone"] = hidden["zone"] if hidden["host"] else ""
    view["config_drive"] = hidden["config_drive"]
    view["key_name"] = hidden["key_name"]
    view["OS-SRV-USG:launched_at"] = hidden["launched_at"]
    view["OS-SRV-USG:terminated_at"] = None
    groups = _security_groups(call, server)
    if groups:
        view["security_groups"] = groups
    if call.caller.is_admin:
        _admin(call, server, view)
    elif version >= (2, 90):
        view["OS-EXT-SRV-ATTR:hostname"] = hidden["hostname"]
    view["OS-EXT-STS:task_state"] = body["task_state"]
    view["OS-EXT-STS:vm_state"] = body["vm_state"]
    view["OS-EXT-STS:power_state"] = POWER.get(body["vm_state"], 0)
    volumes: list[Body] = [{"id": item["volume_id"]} for item in hidden["volumes"]]
    if version >= (2, 3):
        for volume_view, item in zip(volumes, hidden["volumes"], strict=True):
            volume_view["delete_on_termination"] = item["delete_on_termination"]
    view["os-extended-volumes:volumes_attached"] = volumes
    _newer(call, server, view)
    return view


def _admin(call: Call, server: Resource, view: Body) -> None:
    hidden = server.hidden
    host = hidden["host"]
    view["OS-EXT-SRV-ATTR:host"] = host
    view["OS-EXT-SRV-ATTR:instance_name"] = f"instance-{hidden['serial']:08x}"
    view["OS-EXT-SRV-ATTR:hypervisor_hostname"] = host
    if call.version >= (2, 3):
        view["OS-EXT-SRV-ATTR:hostname"] = hidden["hostname"]
        view["OS-EXT-SRV-ATTR:kernel_id"] = ""
        view["OS-EXT-SRV-ATTR:launch_index"] = 0
        view["OS-EXT-SRV-ATTR:ramdisk_id"] = ""
        view["OS-EXT-SRV-ATTR:reservation_id"] = hidden["reservation_id"]
        view["OS-EXT-SRV-ATTR:root_device_name"] = "/dev/vda"
        view["OS-EXT-SRV-ATTR:user_data"] = hidden["user_data"]
    if call.version >= (2, 16):
        view["host_status"] = host_status(call.cloud.store, host) if host else ""


def _newer(call: Call, server: Resource, view: Body) -> None:
    """Add the fields of newer microversions, up to the microversion of the call, to `view`."""
    body, hidden, version = server.body, server.hidden, call.version
    if version >= (2, 9):
        view["locked"] = hidden["locked"]
    if version >= (2, 19):
        view["description"] = body["description"]
    if version >= (2, 26):
        view["tags"] = body["tags"]
    if version >= (2, 63):
        view["trusted_image_certificates"] = None
    if version >= (2, 71):
        groups = call.cloud.store.all("compute.server_groups")
        view["server_groups"] = [g.id for g in groups if server.id in g.body["members"]]
    if version >= (2, 73):
        view["locked_reason"] = hidden["locked_reason"]
    if version >= (2, 96):
        view["pinned_availability_zone"] = hidden["pinned_zone"]


def _security_groups(call: Call, server: Resource) -> list[Body]:
    store = call.cloud.store
    names: dict[str, None] = {}
    for port_id in server.hidden["ports"]:
        port = store.table(tables.PORTS).get(port_id)
        for group_id in port.body["security_groups"] if port is not None else []:
            group = store.table(tables.SECURITY_GROUPS).get(group_id)
            if group is not None:
                names[group.body["name"]] = None
    return [{"name": name} for name in names]
