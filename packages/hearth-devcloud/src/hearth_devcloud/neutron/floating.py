"""The API of floating IPs and their port forwardings."""

from __future__ import annotations

from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    Invalid,
    Unconvertible,
    address,
    integer,
    nullable,
    one_of,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.neutron.networks import networks
from hearth_devcloud.neutron.ports import new_port, ports, remove_port
from hearth_devcloud.neutron.rest import Rest, bad_request, explain, owned, stamped
from hearth_devcloud.neutron.routers import router_between
from hearth_devcloud.store import Resource, Store

FLOATING_IPS = Collection(
    "network",
    "floatingips",
    "floatingip",
    {
        "floating_network_id": Field(uuid, required=True, update=False),
        "floating_ip_address": Field(nullable(address), update=False, admin=True),
        "subnet_id": Field(nullable(uuid), update=False),
        "port_id": Field(nullable(uuid)),
        "fixed_ip_address": Field(nullable(address)),
        "description": Field(text(), default=""),
        "qos_policy_id": Field(nullable(uuid)),
        "dns_domain": Field(text(), default="", update=False),
        "dns_name": Field(text(), default="", update=False),
        "status": READ_ONLY,
        "router_id": READ_ONLY,
    },
    type_name="FloatingIP",
    path="/v2.0/floatingips",
    quota="floatingip",
)


def _port(value: Any) -> Any:
    try:
        return integer(1, 65535, null=True)(value)
    except Unconvertible as error:
        raise ValueError(str(error)) from None


def _range(value: Any) -> str:
    """Check a port range, which is two ports separated by a colon. Raises ValueError."""
    low, _, high = str(value).partition(":")
    for port in (low, high):
        if not port.isdecimal() or not 1 <= int(port) <= 65535:
            raise ValueError(f"Invalid port: {port}")
    if int(low) > int(high):
        raise ValueError("First port in a port range must be lower than the second port")
    return str(value)


def _protocol(value: Any) -> Any:
    protocols = ("tcp", "udp", "icmp", "icmp6", "sctp", "dccp")
    if str(value).lower() not in protocols:
        raise Unconvertible(f"IP protocol '{value}' is not supported.")
    return one_of(*protocols)(value)


FORWARDINGS = Collection(
    "network",
    "port_forwardings",
    "port_forwarding",
    {
        "internal_port_id": Field(uuid, required=True),
        "internal_ip_address": Field(address, required=True),
        "internal_port": Field(_port),
        "internal_port_range": Field(nullable(_range)),
        "external_port": Field(_port),
        "external_port_range": Field(nullable(_range)),
        "protocol": Field(_protocol, required=True),
        "description": Field(text(), default=""),
    },
    type_name="PortForwarding",
)


_SIDES = {
    "external": ("floatingip_id", "protocol"),
    "internal": ("internal_port_id", "internal_ip_address", "protocol"),
}


def follow_port(cloud: Cloud, floating_ip: Resource) -> None:
    """Set a floating IP to ACTIVE if it has a port, otherwise to DOWN."""
    status = "ACTIVE" if floating_ip.body["port_id"] else "DOWN"
    if floating_ip.body["status"] != status:
        floating_ip.body["status"] = status
        floating_ip.body["revision_number"] += 1


class _FloatingIps(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        network = networks.find(call, values["floating_network_id"])
        if not network.body["router:external"]:
            raise bad_request(f"Network {network.id} is not a valid external network")
        store = call.cloud.store
        link = self._associate(call, network.id, values, None)
        floating_ip_id = store.new_id()
        attributes: Body = {"device_id": floating_ip_id, "device_owner": "network:floatingip"}
        attributes["port_security_enabled"] = False
        fixed_ip = {
            "subnet_id": values["subnet_id"],
            "ip_address": values["floating_ip_address"],
        }
        if fixed_ip := {k: v for k, v in fixed_ip.items() if v}:
            attributes["fixed_ips"] = [fixed_ip]
        outside = new_port(call.cloud, network, "", attributes, implicit=True)
        body = {
            "id": floating_ip_id,
            **owned(project_id),
            "floating_ip_address": outside.body["fixed_ips"][0]["ip_address"],
            "floating_network_id": network.id,
            **link,
            "status": "DOWN",
            "description": values["description"],
            "qos_policy_id": values["qos_policy_id"],
            "dns_domain": values["dns_domain"],
            "dns_name": values["dns_name"],
            **stamped(call.cloud, 0),
        }
        hidden: Body = {"outside": outside.id}
        floating_ip = store.insert(
            Resource(floating_ip_id, FLOATING_IPS.table, project_id, body, hidden)
        )
        store.later(0, floating_ip, "network.floating_ip")
        return floating_ip

    def _associate(
        self, call: Call, external_id: str, values: Body, current: Resource | None
    ) -> Body:
        port_id = values.get("port_id")
        if port_id is None and values.get("fixed_ip_address") is not None:
            text_ = "fixed_ip_address cannot be specified without a port_id."
            raise bad_request(f"Bad floatingip request: {text_}")
        if port_id is None:
            return {"router_id": None, "port_id": None, "fixed_ip_address": None}
        store = call.cloud.store
        port = ports.find(call, port_id)
        address = values.get("fixed_ip_address")
        inner = [item for item in port.body["fixed_ips"] if ":" not in item["ip_address"]]
        if address is None and len(inner) > 1:
            text_ = f"Port {port.id} has multiple fixed IPv4 addresses, one must be given."
            raise bad_request(f"Bad floatingip request: {text_}")
        choices = [item for item in inner if address in (None, item["ip_address"])]
        if not choices:
            lacks = f"does not have the fixed IPv4 address {address}"
            text_ = lacks if address is not None else "has no fixed IPv4 address"
            raise bad_request(f"Bad floatingip request: Port {port.id} {text_}.")
        for item in choices:
            router = router_between(store, item["subnet_id"], external_id)
            if router is None:
                continue
            twins = store.where(
                FLOATING_IPS.table, port_id=port.id, fixed_ip_address=item["ip_address"]
            )
            if any(twin is not current for twin in twins):
                text_ = f"Cannot associate floating IP: port {port.id} already has one."
                raise Refusal(409, "FloatingIPPortAlreadyAssociated", text_)
            return {
                "router_id": router.id,
                "port_id": port.id,
                "fixed_ip_address": item["ip_address"],
            }
        text_ = f"External network {external_id} is not reachable from port {port.id}."
        raise Refusal(404, "ExternalGatewayForFloatingIPNotFound", text_)

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if "port_id" in changes or "fixed_ip_address" in changes:
            self._not_forwarded(call, resource)
            external_id = resource.body["floating_network_id"]
            changes |= self._associate(call, external_id, changes, resource)
            call.cloud.store.later(0, resource, "network.floating_ip")
        call.cloud.store.change(resource, **changes)

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        view = dict(resource.body)
        port = call.cloud.store.get(tables.PORTS, view["port_id"])
        keys = [
            "name",
            "network_id",
            "mac_address",
            "admin_state_up",
            "status",
            "device_id",
            "device_owner",
        ]
        view["port_details"] = {key: port.body[key] for key in keys} if port else None
        forwardings = call.cloud.store.where(FORWARDINGS.table, floatingip_id=resource.id)
        keys = ["external_port", "protocol", "internal_port", "internal_ip_address"]
        view["port_forwardings"] = [{key: f.body[key] for key in keys} for f in forwardings]
        return view

    @staticmethod
    def _not_forwarded(call: Call, floating_ip: Resource) -> None:
        if call.cloud.store.where(FORWARDINGS.table, floatingip_id=floating_ip.id):
            text_ = f"Floating IP {floating_ip.id} in use by Port Forwarding resources."
            raise Refusal(409, "FipInUseByPortForwarding", text_)

    def gone(self, call: Call, resource: Resource) -> None:
        self._not_forwarded(call, resource)
        store = call.cloud.store
        outside = store.get(tables.PORTS, resource.hidden["outside"])
        if outside is not None:
            remove_port(call.cloud, outside)


def _forwarding_view(forwarding: Resource) -> Body:
    return {key: value for key, value in forwarding.body.items() if key != "floatingip_id"}


def forward(call: Call) -> Reply:
    """Handle POST of a port forwarding."""
    floating = floating_ips.find(call, call.ids[0])
    floating_ips.owned_by_caller(call, floating, "create_floatingip_port_forwarding of")
    try:
        values = FORWARDINGS.for_create(call.object("port_forwarding"))
    except Invalid as error:
        raise explain(error, FORWARDINGS, creating=True) from None
    router = _settle(call, floating, values, None)
    if floating.body["port_id"]:
        text_ = f"Floating IP {floating.id} is in use by port {floating.body['port_id']}"
        raise Refusal(409, "FipInUseByPort", text_)
    store = call.cloud.store
    body = {"id": store.new_id(), "floatingip_id": floating.id, **values}
    forwarding = store.insert(Resource(body["id"], FORWARDINGS.table, floating.project_id, body))
    floating.body["router_id"] = router.id
    return Reply(201, {"port_forwarding": _forwarding_view(forwarding)})


def _settle(call: Call, floating: Resource, values: Body, current: Resource | None) -> Resource:
    """Check the values of a port forwarding and complete its port ranges, in place.

    Return the router between the internal port and the external network. `current` is the
    forwarding that is updated. Raises Refusal.
    """
    store = call.cloud.store
    port = ports.find(call, values["internal_port_id"])
    address = values["internal_ip_address"]
    inner = [item for item in port.body["fixed_ips"] if item["ip_address"] == address]
    if not inner or ":" in address:
        text_ = f"internal IP address {address} is not suitable for port {port.id}"
        raise bad_request(f"Bad port_forwarding request: Requested {text_}.")
    if floating_ips := store.where(FLOATING_IPS.table, port_id=port.id):
        text_ = f"Cannot forward to port {port.id}, which has the floating IP {floating_ips[0].id}."
        raise Refusal(409, "PortHasBindingFloatingIP", text_)
    outside = floating.body["floating_network_id"]
    router = router_between(store, inner[0]["subnet_id"], outside)
    if router is None:
        text_ = f"External network {outside} is not reachable from port {port.id}."
        raise bad_request(f"Bad port_forwarding request: {text_}")
    for side in ("internal", "external"):
        if values[f"{side}_port"] is not None:
            values[f"{side}_port_range"] = "{0}:{0}".format(values[f"{side}_port"])
        if values[f"{side}_port_range"] is None:
            raise bad_request(f"Bad port_forwarding request: {side} ports are missing.")
    _check_ranges(store, values | {"floatingip_id": floating.id}, current)
    return router


def _span(forwarding: Body, side: str) -> range:
    low, _, high = forwarding[f"{side}_port_range"].partition(":")
    return range(int(low), int(high) + 1)


def _check_ranges(store: Store, values: Body, current: Resource | None) -> None:
    """Raise Refusal 400 if the port ranges do not fit each other or overlap another forwarding."""
    inside = _span(values, "internal")
    if len(inside) not in (1, len(_span(values, "external"))):
        text_ = "the internal range must be one port or as large as the external range."
        raise bad_request(f"Bad port_forwarding request: {text_}")
    for side, names in _SIDES.items():
        filters = {name: values[name] for name in names}
        span = _span(values, side)
        for forwarding in store.where(FORWARDINGS.table, **filters):
            theirs = _span(forwarding.body, side)
            if forwarding is not current and span[0] <= theirs[-1] and theirs[0] <= span[-1]:
                text_ = f"There is a port collision with the {side}_port_range."
                raise bad_request(f"Bad port_forwarding request: {text_}")


def _forwarding(call: Call) -> Resource:
    forwarding = call.cloud.store.get(FORWARDINGS.table, call.ids[1])
    if forwarding is None or forwarding.body["floatingip_id"] != call.ids[0]:
        raise Refusal(404, "PortForwardingNotFound", f"Port Forwarding {call.ids[1]} not found")
    return forwarding


def forwardings(call: Call) -> Reply:
    """Handle GET of the port forwardings of a floating IP."""
    floating = floating_ips.find(call, call.ids[0])
    forwardings = call.cloud.store.where(FORWARDINGS.table, floatingip_id=floating.id)
    return Reply(
        200, {"port_forwardings": [_forwarding_view(forwarding) for forwarding in forwardings]}
    )


def show_forwarding(call: Call) -> Reply:
    """Handle GET of a port forwarding."""
    return Reply(200, {"port_forwarding": _forwarding_view(_forwarding(call))})


def update_forwarding(call: Call) -> Reply:
    """Handle PUT of a port forwarding."""
    floating = floating_ips.find(call, call.ids[0])
    forwarding = _forwarding(call)
    try:
        changes = FORWARDINGS.for_update(call.object("port_forwarding"))
    except Invalid as error:
        raise explain(error, FORWARDINGS, creating=False) from None
    values = {**forwarding.body, **changes}
    _settle(call, floating, values, forwarding)
    forwarding.body.update(values)
    return Reply(200, {"port_forwarding": _forwarding_view(forwarding)})


def stop_forwarding(call: Call) -> Reply:
    """Handle DELETE of a port forwarding."""
    floating = floating_ips.find(call, call.ids[0])
    store = call.cloud.store
    store.remove(_forwarding(call))
    if not store.where(FORWARDINGS.table, floatingip_id=floating.id):
        floating.body["router_id"] = None
    return Reply(204)


floating_ips = _FloatingIps(FLOATING_IPS)
_PATH = "/v2.0/floatingips/{}/port_forwardings"
ROUTES: list[Route] = [
    *floating_ips.routes,
    ("POST", _PATH, forward),
    ("GET", _PATH, forwardings),
    ("GET", _PATH + "/{}", show_forwarding),
    ("PUT", _PATH + "/{}", update_forwarding),
    ("DELETE", _PATH + "/{}", stop_forwarding),
]
