"""Functions that read a server's data, such as ports and addresses, from the store."""

from __future__ import annotations

import base64

from hearth_devcloud import tables
from hearth_devcloud.store import Body, Resource, Store

CLUSTERS = "kubernetes.clusters"  # the table of emulated clusters
DOMAIN = "novalocal"


def server_at(store: Store, network_id: str, address: str) -> Resource | None:
    """Return the server with a fixed address on a network; None if no server has it."""
    for port in store.where(tables.PORTS, network_id=network_id):
        if any(item["ip_address"] == address for item in port.body["fixed_ips"]):
            return store.get(tables.SERVERS, port.body["device_id"])
    return None


def ports(store: Store, server: Resource) -> list[Resource]:
    """Return the ports of a server in the order in which they were attached."""
    table = store.table(tables.PORTS)
    return [table[port_id] for port_id in server.hidden["ports"] if port_id in table]


def user_data(server: Resource) -> bytes | None:
    """Return the decoded user data of a server, or None if it has none."""
    encoded = server.hidden["user_data"]
    return base64.b64decode(encoded) if encoded is not None else None


def host_name(server: Resource) -> str:
    """Return the fully qualified host name of a server."""
    return f"{server.hidden['hostname']}.{DOMAIN}"


def key_pair(store: Store, server: Resource) -> Body | None:
    """Return the key pair of a server, or None if it has none."""
    name = server.hidden["key_name"]
    resource = store.get(tables.KEYPAIRS, f"{server.body['user_id']}/{name}") if name else None
    return resource.body if resource is not None else None


def address(store: Store, server: Resource, *, version: int = 4) -> str:
    """Return the first fixed IP of a server with this IP version, or an empty text."""
    for port in ports(store, server):
        for item in port.body["fixed_ips"]:
            if (":" in item["ip_address"]) == (version == 6):
                return str(item["ip_address"])
    return ""


def floating_address(store: Store, server: Resource) -> str:
    """Return the first floating IP of a server, or an empty text."""
    for port in ports(store, server):
        for floating in store.where(tables.FLOATING_IPS, port_id=port.id):
            return str(floating.body["floating_ip_address"])
    return ""


def security_groups(store: Store, server: Resource) -> list[str]:
    """Return the names of the security groups of all ports of a server."""
    table = store.table(tables.SECURITY_GROUPS)
    names = {
        table[group_id].body["name"]: None
        for port in ports(store, server)
        for group_id in port.body["security_groups"]
        if group_id in table
    }
    return list(names)
