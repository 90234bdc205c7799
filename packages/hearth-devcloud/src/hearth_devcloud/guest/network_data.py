"""The file `network_data.json` of the metadata service: a server's network configuration."""

from __future__ import annotations

import ipaddress

from hearth_devcloud import tables
from hearth_devcloud.guest.server import ports
from hearth_devcloud.store import Body, Resource, Store


def network_data(store: Store, server: Resource) -> Body:
    """Return the content of `network_data.json` for a server: links, networks and services."""
    links: list[Body] = []
    networks: list[Body] = []
    services: list[Body] = []
    for port in ports(store, server):
        link = _link(store, port)
        links.append(link)
        for item in port.body["fixed_ips"]:
            subnet = store.table(tables.SUBNETS).get(item["subnet_id"])
            if subnet is None:
                continue
            network = _network(port, subnet, item["ip_address"])
            networks.append({"id": f"network{len(networks)}", "link": link["id"], **network})
            services += [service for service in _services(subnet) if service not in services]
    return {"links": links, "networks": networks, "services": services}


def _link(store: Store, port: Resource) -> Body:
    network = store.table(tables.NETWORKS)[port.body["network_id"]]
    return {
        "id": f"tap{port.id[:11]}",
        "vif_id": port.id,
        "type": port.body["binding:vif_type"],
        "mtu": network.body["mtu"],
        "ethernet_mac_address": port.body["mac_address"],
    }


def _services(subnet: Resource) -> list[Body]:
    return [{"type": "dns", "address": address} for address in subnet.body["dns_nameservers"]]


def _network(port: Resource, subnet: Resource, address: str) -> Body:
    """Return the entry in `networks` for one address of a port.

    If the subnet has no DHCP, the entry has the netmask and the routes.
    """
    body, version = subnet.body, subnet.body["ip_version"]
    network: Body = {"network_id": port.body["network_id"]}
    if body["enable_dhcp"]:
        mode = body["ipv6_address_mode"]
        return {**network, "type": f"ipv6_{mode}" if mode else f"ipv{version}_dhcp"}
    net = ipaddress.ip_network(body["cidr"])
    return {
        **network,
        "type": f"ipv{version}",
        "ip_address": address,
        "netmask": str(net.netmask),
        "routes": _routes(body),
        "services": _services(subnet),
    }


def _routes(subnet: Body) -> list[Body]:
    routes = []
    if subnet["gateway_ip"]:
        anywhere = "::/0" if subnet["ip_version"] == 6 else "0.0.0.0/0"
        routes.append(_route(anywhere, subnet["gateway_ip"]))
    return routes + [
        _route(route["destination"], route["nexthop"]) for route in subnet["host_routes"]
    ]


def _route(destination: str, gateway: str) -> Body:
    net = ipaddress.ip_network(destination)
    return {"network": str(net.network_address), "netmask": str(net.netmask), "gateway": gateway}
