"""Cleanup after the admin API has removed a Neutron object, as if the cloud had lost it."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.http import Cloud
from hearth_devcloud.neutron import addresses, firewalls, subnets
from hearth_devcloud.neutron.ports import INTERFACE, remove_port
from hearth_devcloud.store import Resource

_PARTS = {
    tables.NETWORKS: ("network.segments", "network_id"),
    tables.SECURITY_GROUPS: (tables.SECURITY_GROUP_RULES, "security_group_id"),
    "network.metering_labels": ("network.metering_label_rules", "metering_label_id"),
}


def follow(cloud: Cloud, resource: Resource) -> None:
    """Remove the dependent objects and the address allocations of a lost object."""
    store = cloud.store
    if resource.table in _PARTS:
        table, field = _PARTS[resource.table]
        for part in store.where(table, **{field: resource.id}):
            store.remove(part)
    match resource.table:
        case tables.PORTS:
            addresses.free(store, resource.body["fixed_ips"])
        case tables.SUBNETS:
            _follow_subnet(cloud, resource)
        case "network.network_gateways":
            for port in store.where(tables.PORTS, device_id=resource.id):
                remove_port(cloud, port)
        case "network.firewall_policies":
            resource.body["firewall_rules"] = []
            firewalls.link(store, resource)


def _follow_subnet(cloud: Cloud, subnet: Resource) -> None:
    """Remove the routers' interfaces that were in a subnet alone, and its addresses from others.

    Neutron deletes no subnet that a router is connected to, so a user who deleted it has removed
    the interface before.
    """
    ports = subnets.ports_on(cloud, subnet)
    subnets.forget(cloud, subnet)
    for port in ports:
        if port.body["device_owner"] == INTERFACE and not port.body["fixed_ips"]:
            remove_port(cloud, port)
