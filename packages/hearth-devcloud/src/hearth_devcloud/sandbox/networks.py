"""The document that describes the desired networks, servers and load balancers for the keeper."""

from __future__ import annotations

from collections.abc import Iterable

from hearth_devcloud import tables
from hearth_devcloud.guest import server as facts
from hearth_devcloud.sandbox.balancers import configuration, served
from hearth_devcloud.sandbox.fabric import BALANCER, ROUTER
from hearth_devcloud.sandbox.firewall import router_rules, server_rules
from hearth_devcloud.store import Body, Resource, Store

Document = Body
_OWNERS = ("network:router_interface", "network:router_gateway")


def document(store: Store, servers: Iterable[Resource], *, balancers: bool) -> Document:
    """Return the document for the keeper, from the current state of the store.

    It contains networks, volumes, and the namespaces of routers, of the running `servers` and, if
    `balancers` is true, of load balancers.
    """
    places: dict[str, Body] = {}
    configurations = {}
    for router in store.all(tables.ROUTERS):
        places[ROUTER + router.id] = _router(store, router)
    for server in servers:
        places[server.id] = _server(store, server)
    for balancer in served(store) if balancers else ():
        places[BALANCER + balancer.id] = _balancer(store, balancer)
        configurations[BALANCER + balancer.id] = configuration(store, balancer)
    used = {port["network"] for place in places.values() for port in place["ports"].values()}
    volumes = sorted(store.table(tables.VOLUMES))
    return {
        "networks": sorted(used),
        "places": places,
        "volumes": volumes,
        "balancers": configurations,
    }


def _server(store: Store, server: Resource) -> Body:
    ports = {
        f"eth{number}": port
        for number, port in enumerate(facts.ports(store, server))
        if port.body["admin_state_up"]
    }
    return {
        "ports": {port.id: _port(store, port, name) for name, port in ports.items()},
        "routes": _routes(store, list(ports.values())),
        "rules": server_rules(store, ports),
        "volumes": {
            item["device"].rpartition("/")[2]: item["volume_id"]
            for item in server.hidden["volumes"]
            if not item["boot"]
        },
    }


def _balancer(store: Store, balancer: Resource) -> Body:
    """Return the description of a load balancer's namespace, which contains its VIP port."""
    port = store.table(tables.PORTS)[balancer.body["vip_port_id"]]
    ports = {port.id: _port(store, port, "eth0")} if port.body["admin_state_up"] else {}
    return {"ports": ports, "routes": _routes(store, [port]), "rules": "", "volumes": {}}


def _port(store: Store, port: Resource, name: str, extra: Iterable[str] = ()) -> Body:
    subnets = store.table(tables.SUBNETS)
    addresses = [
        f"{item['ip_address']}/{subnets[item['subnet_id']].body['cidr'].partition('/')[2]}"
        for item in port.body["fixed_ips"]
        if item["subnet_id"] in subnets
    ]
    network = store.table(tables.NETWORKS)[port.body["network_id"]]
    return {
        "name": name,
        "network": network.id,
        "mac": port.body["mac_address"],
        "mtu": network.body["mtu"],
        "addresses": [*addresses, *extra],
    }


def _routes(store: Store, ports: list[Resource]) -> list[list[str]]:
    """Return the routes of a server as pairs of destination and next hop.

    They are the first gateway of each IP version, and the host routes of the subnets.
    """
    routes: dict[tuple[str, int], list[str]] = {}
    for port in ports:
        for item in port.body["fixed_ips"]:
            subnet = store.table(tables.SUBNETS)[item["subnet_id"]].body
            for route in subnet["host_routes"]:
                routes.setdefault(
                    (route["destination"], 0), [route["destination"], route["nexthop"]]
                )
            gateway = subnet["gateway_ip"]
            if gateway and gateway != item["ip_address"]:
                routes.setdefault(("default", subnet["ip_version"]), ["default", gateway])
    return list(routes.values())


def _router(store: Store, router: Resource) -> Body:
    ports = [
        port
        for port in store.where(tables.PORTS, device_id=router.id)
        if port.body["device_owner"] in _OWNERS and router.body["admin_state_up"]
    ]
    place: Body = {
        "ports": {port.id: _port(store, port, _name(port)) for port in ports},
        "routes": [[route["destination"], route["nexthop"]] for route in router.body["routes"]],
        "rules": "",
    }
    gateway = next((p for p in ports if p.body["device_owner"] == _OWNERS[1]), None)
    info = router.body["external_gateway_info"]
    if gateway is not None and info:
        addresses = [
            i["ip_address"] for i in gateway.body["fixed_ips"] if ":" not in i["ip_address"]
        ]
        floating = {
            route.body["floating_ip_address"]: route.body["fixed_ip_address"]
            for route in store.where(tables.FLOATING_IPS, router_id=router.id)
            if route.body["fixed_ip_address"]
        }
        extra = [f"{route}/32" for route in floating]
        place["ports"][gateway.id] = _port(store, gateway, _name(gateway), extra)
        if addresses:
            snat = bool(info["enable_snat"])
            place["rules"] = router_rules(_name(gateway), addresses[0], floating, snat=snat)
    return place


def _name(port: Resource) -> str:
    return f"q{port.id[:11]}"
