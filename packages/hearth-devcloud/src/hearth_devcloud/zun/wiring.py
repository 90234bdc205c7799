"""The ports and volumes of containers."""

from __future__ import annotations

import ipaddress

from hearth_devcloud import tables
from hearth_devcloud.cinder import attachments
from hearth_devcloud.cinder.volumes import new_volume
from hearth_devcloud.http import Body, Call, Cloud
from hearth_devcloud.neutron.ports import bind, new_port, remove_port
from hearth_devcloud.neutron.security import default_group
from hearth_devcloud.store import Resource
from hearth_devcloud.zun.base import bad, conflict


def network_of(call: Call, ident: object) -> Resource:
    """Return the network with this id or name that the project can use. Raises Refusal 400."""
    for network in call.cloud.store.all(tables.NETWORKS):
        usable = network.project_id == call.caller.project_id or network.body["shared"]
        if ident in (network.id, network.body["name"]) and (usable or call.caller.is_admin):
            return network
    raise bad(f"Neutron network {ident} could not be found.")


def usual_network(call: Call) -> Resource:
    """Return the network of a container for which none is named. Raises Refusal 409."""
    networks = [
        network
        for network in call.cloud.store.all(tables.NETWORKS)
        if not network.body["router:external"]
    ]
    own_networks = [network for network in networks if network.project_id == call.caller.project_id]
    shared = [network for network in networks if network.body["shared"]]
    if not own_networks + shared:
        raise conflict("There is no neutron network available")
    return (own_networks + shared)[0]


def port_of(call: Call, ident: object) -> Resource:
    """Return the free port with this id or name. Raises Refusal 400, or 409 if it is in use."""
    for port in call.cloud.store.all(tables.PORTS):
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
    table = call.cloud.store.where(tables.SECURITY_GROUPS, project_id=call.caller.project_id)
    group_ids = [group.id for group in table if group.id in names or group.body["name"] in names]
    if len(group_ids) < len(set(names)):
        raise bad(f"Any of the security group in {names} is not found")
    return group_ids


def plug(call: Call, container: Resource, net: Body) -> Resource:
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
        attributes: Body = {**binding, "security_groups": container.hidden["groups"]}
        address = net.get("v4-fixed-ip") or net.get("v6-fixed-ip")
        if address:
            attributes["fixed_ips"] = [{"ip_address": address}]
        project_id = container.project_id or ""
        port = new_port(call.cloud, network, project_id, attributes, implicit=True)
        container.hidden["own_ports"].append(port.id)
    container.hidden["ports"].append(port.id)
    return port


def unplug(cloud: Cloud, container: Resource, port_id: str) -> None:
    """Disconnect a container from a port; delete the port if it was made for the container."""
    container.hidden["ports"] = [
        other_id for other_id in container.hidden["ports"] if other_id != port_id
    ]
    port = cloud.store.table(tables.PORTS).get(port_id)
    if port is None:
        return
    if port_id in container.hidden["own_ports"]:
        remove_port(cloud, port)
        return
    port.body.update({"device_id": "", "device_owner": "", "binding:host_id": ""})
    bind(port)


def ports(cloud: Cloud, container: Resource) -> list[Resource]:
    """Return the ports of a container."""
    table = cloud.store.table(tables.PORTS)
    return [table[port_id] for port_id in container.hidden["ports"] if port_id in table]


def fixed_ips(port: Resource) -> list[Body]:
    """Return the addresses of a port, each with its IP version."""
    return [
        {**fixed_ip, "version": ipaddress.ip_address(fixed_ip["ip_address"]).version}
        for fixed_ip in port.body["fixed_ips"]
    ]


def addresses(cloud: Cloud, container: Resource) -> Body:
    """Return the value of the field `addresses`: the addresses of a container by network id."""
    addresses_by_network: Body = {}
    for port in ports(cloud, container):
        is_foreign = port.id not in container.hidden["own_ports"]
        addresses_by_network.setdefault(port.body["network_id"], []).extend(
            {
                "subnet_id": fixed_ip["subnet_id"],
                "version": fixed_ip["version"],
                "preserve_on_delete": is_foreign,
                "addr": fixed_ip["ip_address"],
                "port": port.id,
            }
            for fixed_ip in fixed_ips(port)
        )
    return addresses_by_network


def mount(call: Call, container: Resource, mounted: Body) -> None:
    """Attach a volume to a container: an existing one, or a new one of the given size."""
    cloud, project_id = call.cloud, container.project_id or ""
    if mounted.get("source"):
        volume = volume_of(call, mounted["source"])
    else:
        values: Body = {"size": int(mounted["size"]), "at_once": True, "name": "zun-volume"}
        volume = new_volume(cloud, project_id, values, implicit=True)
        container.hidden["own_volumes"].append(volume.id)
    entry = attachments.attach(cloud, volume, container.id, mounted["destination"])
    container.hidden["volumes"].append([volume.id, entry["attachment_id"]])


def volume_of(call: Call, ident: object) -> Resource:
    """Return the available volume with this id or name. Raises Refusal 400 or 409."""
    for volume in call.cloud.store.all(tables.VOLUMES):
        matches = ident in (volume.id, volume.body["name"])
        if matches and volume.project_id == call.caller.project_id:
            if volume.body["status"] != "available":
                raise conflict(f"Volume {volume.id} is in use.")
            return volume
    raise bad(f"Cinder volume {ident} could not be found.")


def release(cloud: Cloud, container: Resource) -> None:
    """Disconnect a container from its ports and volumes, and delete those made for it."""
    for port_id in list(container.hidden["ports"]):
        unplug(cloud, container, port_id)
    for volume_id, attachment_id in container.hidden["volumes"]:
        volume = cloud.store.table(tables.VOLUMES).get(volume_id)
        if volume is not None:
            attachments.detach(cloud, volume, attachment_id, at_once=True)
            if volume_id in container.hidden["own_volumes"]:
                cloud.store.remove(volume)
            elif volume.body["status"] == "detaching":
                volume.body["status"] = "available"
