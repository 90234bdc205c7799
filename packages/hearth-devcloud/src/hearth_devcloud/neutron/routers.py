"""The API of routers, with their gateways and interfaces."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    boolean,
    list_of,
    nullable,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.neutron import addresses, checks
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.ports import INTERFACE, new_port, ports, remove_port
from hearth_devcloud.neutron.rest import Rest, bad_request, not_authorized, owned, stamped, touch
from hearth_devcloud.neutron.subnets import subnets
from hearth_devcloud.store import Resource, Store

_GATEWAY = "network:router_gateway"

_GATEWAY_KEYS = {"network_id", "enable_snat", "external_fixed_ips", "qos_policy_id"}


def _gateway(value: Any) -> Any:
    if not value:
        return None
    if not isinstance(value, dict):
        raise ValueError(f"'{value}' is not a dictionary")
    if unknown := sorted(set(value) - _GATEWAY_KEYS):
        raise ValueError(f"Unexpected keys supplied: {', '.join(unknown)}")
    if "network_id" not in value:
        raise ValueError("Validation of dictionary's keys failed: network_id is missing")
    nullable(uuid)(value["network_id"])
    nullable(checks.fixed_ips)(value.get("external_fixed_ips"))
    return value


ROUTERS = Collection(
    "network",
    "routers",
    "router",
    {
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "admin_state_up": Field(boolean, default=True),
        "external_gateway_info": Field(_gateway),
        "routes": Field(checks.routes, default=list, create=False),
        "availability_zone_hints": Field(list_of(), default=list),
        "flavor_id": Field(nullable(uuid), update=False),
        "enable_ndp_proxy": Field(boolean, default=False),
        "distributed": Field(boolean, default=None, admin=True),
        "ha": Field(boolean, default=None, admin=True),
        "status": READ_ONLY,
    },
    type_name="Router",
    path="/v2.0/routers",
    quota="router",
)


def interfaces(store: Store, router_id: str) -> list[Resource]:
    """Return the ports that connect a router to internal subnets."""
    return store.where(tables.PORTS, device_id=router_id, device_owner=INTERFACE)


def router_between(store: Store, subnet_id: str, external_id: str) -> Resource | None:
    """Return the router that connects a subnet to an external network, or None."""
    for port in store.where(tables.PORTS, device_owner=INTERFACE):
        if any(item["subnet_id"] == subnet_id for item in port.body["fixed_ips"]):
            router = store.get(tables.ROUTERS, port.body["device_id"])
            info = router.body["external_gateway_info"] if router else None
            if info and info["network_id"] == external_id:
                return router
    return None


def _new_router(cloud: Cloud, router_id: str, project_id: str, values: Body) -> Resource:
    """Return a new router without a gateway. It is not stored yet."""
    body = {
        "id": router_id,
        "name": values["name"],
        **owned(project_id),
        "admin_state_up": values["admin_state_up"],
        "status": "ACTIVE",
        "external_gateway_info": None,
        "description": values["description"],
        "availability_zones": [],
        "availability_zone_hints": values["availability_zone_hints"],
        "routes": [],
        "flavor_id": values["flavor_id"],
        "conntrack_helpers": [],
        "enable_ndp_proxy": values["enable_ndp_proxy"],
        "distributed": bool(values["distributed"]),
        "ha": bool(values["ha"]),
        **stamped(cloud, 1),
    }
    return Resource(router_id, ROUTERS.table, project_id, body)


def _plug_gateway(
    cloud: Cloud, router: Resource, network: Resource, info: Body, seed: str | None = None
) -> None:
    attributes: Body = {"device_id": router.id, "device_owner": _GATEWAY}
    fixed_ips = info.get("external_fixed_ips")
    attributes |= {"fixed_ips": fixed_ips or None, "port_security_enabled": False}
    port = new_port(cloud, network, "", attributes, implicit=True, seed=seed)
    router.body["external_gateway_info"] = {
        "network_id": network.id,
        "external_fixed_ips": port.body["fixed_ips"],
        "enable_snat": info.get("enable_snat", True),
    }


def _plug(cloud: Cloud, router: Resource, subnet: Resource, seed: str | None = None) -> Resource:
    """Create the port that connects a router to a subnet, and return it.

    The port gets the gateway address of the subnet. `seed` is the fixed id of an initial port.
    """
    network = cloud.store.table(tables.NETWORKS)[subnet.body["network_id"]]
    attributes: Body = {
        "device_id": router.id,
        "device_owner": INTERFACE,
        "fixed_ips": [{"subnet_id": subnet.id, "ip_address": subnet.body["gateway_ip"]}],
        "security_groups": [],
        "port_security_enabled": False,
    }
    return new_port(cloud, network, router.project_id or "", attributes, implicit=True, seed=seed)


def seeded_router(
    cloud: Cloud, name: str, external: Resource, subnet: Resource, ids: tuple[str, str, str]
) -> None:
    """Create an initial router between a subnet and an external network, in the subnet's project.

    `ids` are the ids of the router, its gateway port and its interface port.
    """
    router_id, gateway, interface = ids
    values = ROUTERS.for_create({"name": name})
    router = _new_router(cloud, router_id, subnet.project_id or "", values)
    router.seed = True
    _plug_gateway(cloud, router, external, {}, gateway)
    cloud.store.insert(router)
    _plug(cloud, router, subnet, interface)


class _Routers(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        router = _new_router(call.cloud, call.cloud.store.new_id(), project_id, values)
        if values["external_gateway_info"]:
            self._set_gateway(call, router, values["external_gateway_info"])
        return call.cloud.store.insert(router)

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        view = dict(resource.body)
        if not call.caller.is_admin:
            view.pop("distributed")
            view.pop("ha")
        return view

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if "routes" in changes:
            self._check_routes(call, resource, changes["routes"])
        if "external_gateway_info" in changes:
            info = changes.pop("external_gateway_info")
            if info and info.get("network_id"):
                self._set_gateway(call, resource, info)
            else:
                self._clear_gateway(call, resource)
        resource.body.update(changes)

    def _set_gateway(self, call: Call, router: Resource, info: Body) -> None:
        if "enable_snat" in info and not call.caller.is_admin:
            raise not_authorized("update_router:external_gateway_info:enable_snat")
        if info.get("external_fixed_ips") and not call.caller.is_admin:
            raise not_authorized("update_router:external_gateway_info:external_fixed_ips")
        network = networks.find(call, str(info.get("network_id")))
        if not network.body["router:external"]:
            raise bad_request(f"Network {network.id} is not an external network")
        present = router.body["external_gateway_info"]
        fixed_ips = info.get("external_fixed_ips")
        if present and present["network_id"] == network.id and not fixed_ips:
            present["enable_snat"] = info.get("enable_snat", present["enable_snat"])
            return
        if present:
            self._clear_gateway(call, router)
        _plug_gateway(call.cloud, router, network, info)
        touch(call.cloud, router)

    def _clear_gateway(self, call: Call, router: Resource) -> None:
        store = call.cloud.store
        if store.where(tables.FLOATING_IPS, router_id=router.id):
            text_ = f"Gateway cannot be updated for router {router.id}: floating IPs use it."
            raise Refusal(409, "RouterExternalGatewayInUseByFloatingIp", text_)
        for port in store.where(tables.PORTS, device_id=router.id, device_owner=_GATEWAY):
            remove_port(call.cloud, port)
        router.body["external_gateway_info"] = None

    def _check_routes(self, call: Call, router: Resource, routes: list[Body]) -> None:
        store = call.cloud.store
        nets, own_addresses = [], set()
        for port in store.where(tables.PORTS, device_id=router.id):
            for item in port.body["fixed_ips"]:
                own_addresses.add(item["ip_address"])
                if (subnet := store.table(tables.SUBNETS).get(item["subnet_id"])) is not None:
                    nets.append(ipaddress.ip_network(subnet.body["cidr"]))
        for route in routes:
            hop = ipaddress.ip_address(route["nexthop"])
            if str(hop) in own_addresses:
                text_ = f"Invalid format for routes: {routes}, the nexthop is used by router"
                raise Refusal(400, "InvalidRoutes", text_)
            if not any(hop in net for net in nets):
                text_ = (
                    f"Invalid format for routes: the nexthop {hop} is in no subnet of the router"
                )
                raise Refusal(400, "InvalidRoutes", text_)

    def add_routes(self, call: Call) -> Reply:
        """Handle PUT add_extraroutes: add static routes that the router does not have yet."""
        return self._routes(call, lambda now, new: [*now, *(r for r in new if r not in now)])

    def remove_routes(self, call: Call) -> Reply:
        """Handle PUT remove_extraroutes: remove static routes; missing ones are ignored."""
        return self._routes(call, lambda now, less: [r for r in now if r not in less])

    def _routes(self, call: Call, join: Callable[[list[Body], list[Body]], list[Body]]) -> Reply:
        router = self.find(call, call.ids[0])
        self.owned_by_caller(call, router, "update")
        attributes = call.object("router")
        if set(attributes) != {"routes"} or not isinstance(attributes["routes"], list):
            text_ = "The object 'router' must contain only the list 'routes'"
            raise Refusal(400, "HTTPBadRequest", text_)
        try:
            routes = join(router.body["routes"], checks.routes(attributes["routes"]))
        except ValueError as error:
            text_ = f"Invalid input for routes. Reason: {error}."
            raise Refusal(400, "HTTPBadRequest", text_) from None
        self._check_routes(call, router, routes)
        router.body["routes"] = routes
        touch(call.cloud, router)
        keys = ("id", "name", "routes")
        return Reply(200, {"router": {key: router.body[key] for key in keys}})

    def gone(self, call: Call, resource: Resource) -> None:
        if call.cloud.store.where("network.vpnservices", router_id=resource.id):
            text_ = f"Router {resource.id} is used by a VPNService"
            raise Refusal(409, "RouterInUseByVPNService", text_)
        if interfaces(call.cloud.store, resource.id):
            raise Refusal(409, "RouterInUse", f"Router {resource.id} still has ports")
        self._clear_gateway(call, resource)

    def add_interface(self, call: Call) -> Reply:
        """Handle PUT add_router_interface: connect the router to a subnet.

        The request names the subnet, or a port on the subnet.
        """
        router = self.find(call, call.ids[0])
        self.owned_by_caller(call, router, "add_router_interface to")
        request = call.json()
        store = call.cloud.store
        if not isinstance(request, dict) or ("subnet_id" in request) == ("port_id" in request):
            raise bad_request("Either subnet_id or port_id must be specified")
        _check_ids(request)
        if "port_id" in request:
            port = ports.find(call, request["port_id"])
            if port.body["device_id"]:
                text_ = f"Unable to complete operation on port {port.id}: it is in use"
                raise Refusal(409, "PortInUse", text_)
            if not port.body["fixed_ips"]:
                raise bad_request("Router port must have at least one fixed IP")
            fixed = [item["subnet_id"] for item in port.body["fixed_ips"]]
            self._check_new(store, router, [subnets.find(call, id_) for id_ in fixed])
            port.body.update(device_id=router.id, device_owner=INTERFACE, status="ACTIVE")
            touch(call.cloud, port)
        else:
            subnet = subnets.find(call, request["subnet_id"])
            self._check_new(store, router, [subnet])
            if subnet.body["gateway_ip"] is None:
                raise bad_request(f"Subnet {subnet.id} must have a gateway IP")
            port = _plug(call.cloud, router, subnet)
        touch(call.cloud, router)
        return self._interface(router, port, port.body["fixed_ips"][0]["subnet_id"])

    @staticmethod
    def _check_new(store: Store, router: Resource, new: list[Resource]) -> None:
        """Raise Refusal 400 if a router cannot be connected to new subnets with one port.

        They must not overlap the other subnets of the router, and only one may be IPv4.
        """
        if [subnet.body["ip_version"] for subnet in new].count(4) > 1:
            raise bad_request("Bad router request: Cannot have multiple IPv4 subnets on one port.")
        for port in store.where(tables.PORTS, device_id=router.id):
            for item in port.body["fixed_ips"]:
                router_subnet = store.table(tables.SUBNETS)[item["subnet_id"]]
                for subnet in new:
                    if subnet is router_subnet:
                        raise bad_request(f"Router already has a port on subnet {subnet.id}")
                    net = ipaddress.ip_network(subnet.body["cidr"])
                    if addresses.overlaps(net, [router_subnet.body["cidr"]]):
                        text_ = (
                            f"Cidr {net} of subnet {subnet.id} overlaps with {router_subnet.id}."
                        )
                        raise bad_request(f"Bad router request: {text_}")

    def remove_interface(self, call: Call) -> Reply:
        """Handle PUT remove_router_interface: remove the port of an interface.

        The request names the port, its subnet, or both.
        """
        router = self.find(call, call.ids[0])
        self.owned_by_caller(call, router, "remove_router_interface from")
        request = call.json()
        if not isinstance(request, dict) or not {"subnet_id", "port_id"} & set(request):
            raise bad_request("Either subnet_id or port_id must be specified")
        _check_ids(request)
        store = call.cloud.store
        subnet_id, port_id = request.get("subnet_id"), request.get("port_id")
        legs = interfaces(store, router.id)
        if port_id is None:
            subnet = subnets.find(call, request["subnet_id"])
            legs = [
                p for p in legs if any(i["subnet_id"] == subnet.id for i in p.body["fixed_ips"])
            ]
        else:
            legs = [p for p in legs if p.id == port_id]
        port = legs[0] if legs else None
        if port is None:
            suffix = "ForSubnet" if port_id is None else ""
            text_ = f"Router {router.id} has no interface on {subnet_id or port_id}"
            raise Refusal(404, f"RouterInterfaceNotFound{suffix}", text_)
        subnet_ids = {item["subnet_id"] for item in port.body["fixed_ips"]}
        if subnet_id is not None and subnet_id not in subnet_ids:
            text_ = f"Subnet on port {port.id} does not match the requested subnet {subnet_id}."
            raise Refusal(400, "SubnetMismatchForPort", text_)
        self._check_floating(store, router, subnet_ids)
        self._check_used(store, router, subnet_ids)
        remove_port(call.cloud, port)
        touch(call.cloud, router)
        return self._interface(router, port, subnet_id or port.body["fixed_ips"][0]["subnet_id"])

    @staticmethod
    def _check_floating(store: Store, router: Resource, subnet_ids: set[str]) -> None:
        for floating in store.where(tables.FLOATING_IPS, router_id=router.id):
            port = store.get(tables.PORTS, floating.body["port_id"])
            fixed = port.body["fixed_ips"] if port is not None else []
            if any(item["subnet_id"] in subnet_ids for item in fixed):
                text_ = f"Router interface on {router.id} is required by a floating IP."
                raise Refusal(409, "RouterInterfaceInUseByFloatingIP", text_)

    @staticmethod
    def _check_used(store: Store, router: Resource, subnet_ids: set[str]) -> None:
        """Raise Refusal 409 if a route or a VPN service of the router needs one of the subnets."""
        for subnet_id in subnet_ids:
            filters = {"router_id": router.id, "subnet_id": subnet_id}
            if store.where("network.vpnservices", **filters):
                text_ = f"Subnet {subnet_id} is used by a VPNService"
                raise Refusal(409, "SubnetInUseByVPNService", text_)
            subnet = store.table(tables.SUBNETS)[subnet_id]
            net = ipaddress.ip_network(subnet.body["cidr"])
            if any(ipaddress.ip_address(r["nexthop"]) in net for r in router.body["routes"]):
                text_ = f"Router interface for subnet {subnet_id} is required by a route."
                raise Refusal(409, "RouterInterfaceInUseByRoute", text_)

    @staticmethod
    def _interface(router: Resource, port: Resource, subnet_id: str) -> Reply:
        body: Body = {
            "id": router.id,
            **owned(router.project_id),
            "port_id": port.id,
            "network_id": port.body["network_id"],
            "subnet_id": subnet_id,
            "subnet_ids": [item["subnet_id"] for item in port.body["fixed_ips"]],
        }
        body.pop("tenant_id")
        return Reply(200, body)


def _check_ids(request: Body) -> None:
    try:
        for key in {"subnet_id", "port_id"} & set(request):
            uuid(request[key])
    except ValueError as error:
        raise bad_request(f"Bad router request: {error}.") from None


routers = _Routers(ROUTERS)
ROUTES: list[Route] = [
    *routers.routes,
    ("PUT", "/v2.0/routers/{}/add_router_interface", routers.add_interface),
    ("PUT", "/v2.0/routers/{}/remove_router_interface", routers.remove_interface),
    ("PUT", "/v2.0/routers/{}/add_extraroutes", routers.add_routes),
    ("PUT", "/v2.0/routers/{}/remove_extraroutes", routers.remove_routes),
]
