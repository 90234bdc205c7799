"""The ports and volumes of containers."""

from __future__ import annotations

import ipaddress

from hearth_devcloud.cinder import attachments
from hearth_devcloud.cinder.volumes import new_volume
from hearth_devcloud.http import Body, Call, Cloud
from hearth_devcloud.neutron.ports import bind, new_port, remove_port
from hearth_devcloud.neutron.security import default_group
from hearth_devcloud.store import Thing
from hearth_devcloud.zun.base import bad, conflict

PORTS = "network.ports"
NETWORKS = "network.networks"
_VOLUMES = "volume.volumes"


def network_of(call: Call, ident: object) -> Thing:
    """Return the network with this id or name that the project can use. Raises Refusal 400."""
    for thing in call.cloud.store.all(NETWORKS):
        usable = thing.project_id == call.caller.project_id or thing.body["shared"]
        if ident in (thing.id, thing.body["name"]) and (usable or call.caller.is_admin):
            return thing
    raise bad(f"Neutron network {ident} could not be found.")


def usual_network(call: Call) -> Thing:
    """Return the network of a container for which none is named. Raises Refusal 409."""
    found = [one for one in call.cloud.store.all(NETWORKS) if not one.body["router:external"]]
    own = [one for one in found if one.project_id == call.caller.project_id]
    shared = [one for one in found if one.body["shared"]]
    if not own + shared:
        raise conflict("There is no neutron network available")
    return (own + shared)[0]


def port_of(call: Call, ident: object) -> Thing:
    """Return the free port with this id or name. Raises Refusal 400, or 409 if it is in use."""
    for port in call.cloud.store.all(PORTS):
        if ident in (port.id, port.body["name"]) and port.project_id == call.caller.project_id:
            if port.body["device_id"]:
                raise conflict(f"Port {port.id} is still in use.")
            return port
    raise bad(f"Neutron port {ident} could not be found.")


def groups_of(call: Call, names: list[str] | None) -> list[str] | None:
    """Return the ids of the project's security groups with these names or ids."""
    if not names:
        return None
    default_group(call.cloud, call.caller.project_id or "")
    table = call.cloud.store.where("network.security_groups", project_id=call.caller.project_id)
    found = [one.id for one in table if one.id in names or one.body["name"] in names]
    if len(found) < len(set(names)):
        raise bad(f"Any of the security group in {names} is not found")
    return found


def plug(call: Call, container: Thing, net: Body) -> Thing:
    """Connect a container to a network or a port, and return the port. Raises Refusal.

    `net` has the key `port` or `network`, and may have an address for a new port.
    """
    binding: Body = {
        "device_id": container.id,
        "device_owner": "compute:nova",
        "binding:host_id": "devcloud",
    }
    if net.get("port"):
        port = port_of(call, net["port"])
        port.body.update(binding)
        bind(port)
    else:
        network = network_of(call, net["network"]) if "network" in net else usual_network(call)
        given: Body = {**binding, "security_groups": container.hidden["groups"]}
        address = net.get("v4-fixed-ip") or net.get("v6-fixed-ip")
        if address:
            given["fixed_ips"] = [{"ip_address": address}]
        project_id = container.project_id or ""
        port = new_port(call.cloud, network, project_id, given, implicit=True)
        container.hidden["own_ports"].append(port.id)
    container.hidden["ports"].append(port.id)
    return port


def unplug(cloud: Cloud, container: Thing, port_id: str) -> None:
    """Disconnect a container from a port; delete the port if it was made for the container."""
    container.hidden["ports"] = [one for one in container.hidden["ports"] if one != port_id]
    port = cloud.store.table(PORTS).get(port_id)
    if port is None:
        return
    if port_id in container.hidden["own_ports"]:
        remove_port(cloud, port)
        return
    port.body.update({"device_id": "", "device_owner": "", "binding:host_id": ""})
    bind(port)


def ports(cloud: Cloud, container: Thing) -> list[Thing]:
    """Return the ports of a container."""
    table = cloud.store.table(PORTS)
    return [table[one] for one in container.hidden["ports"] if one in table]


def fixed_ips(port: Thing) -> list[Body]:
    """Return the addresses of a port, each with its IP version."""
    return [
        {**one, "version": ipaddress.ip_address(one["ip_address"]).version}
        for one in port.body["fixed_ips"]
    ]


def addresses(cloud: Cloud, container: Thing) -> Body:
    """Return the value of the field `addresses`: the addresses of a container by network id."""
    found: Body = {}
    for port in ports(cloud, container):
        kept = port.id not in container.hidden["own_ports"]
        found.setdefault(port.body["network_id"], []).extend(
            {
                "subnet_id": one["subnet_id"],
                "version": one["version"],
                "preserve_on_delete": kept,
                "addr": one["ip_address"],
                "port": port.id,
            }
            for one in fixed_ips(port)
        )
    return found


def mount(call: Call, container: Thing, given: Body) -> None:
    """Attach a volume to a container: an existing one, or a new one of the given size."""
    cloud, project_id = call.cloud, container.project_id or ""
    if given.get("source"):
        volume = volume_of(call, given["source"])
    else:
        values: Body = {"size": int(given["size"]), "at_once": True, "name": "zun-volume"}
        volume = new_volume(cloud, project_id, values, implicit=True)
        container.hidden["own_volumes"].append(volume.id)
    entry = attachments.attach(cloud, volume, container.id, given["destination"])
    container.hidden["volumes"].append([volume.id, entry["attachment_id"]])


def volume_of(call: Call, ident: object) -> Thing:
    """Return the available volume with this id or name. Raises Refusal 400 or 409."""
    for volume in call.cloud.store.all(_VOLUMES):
        same = ident in (volume.id, volume.body["name"])
        if same and volume.project_id == call.caller.project_id:
            if volume.body["status"] != "available":
                raise conflict(f"Volume {volume.id} is in use.")
            return volume
    raise bad(f"Cinder volume {ident} could not be found.")


def release(cloud: Cloud, container: Thing) -> None:
    """Disconnect a container from its ports and volumes, and delete those made for it."""
    for port_id in list(container.hidden["ports"]):
        unplug(cloud, container, port_id)
    for volume_id, attachment_id in container.hidden["volumes"]:
        volume = cloud.store.table(_VOLUMES).get(volume_id)
        if volume is not None:
            attachments.detach(cloud, volume, attachment_id, at_once=True)
            if volume_id in container.hidden["own_volumes"]:
                cloud.store.remove(volume)
            elif volume.body["status"] == "detaching":
                volume.body["status"] = "available"
