"""Floating IPs and port forwardings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hearth.devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    Invalid,
    integer,
    nullable,
    one_of,
    text,
)
from hearth.devcloud.http import Body, Call, Refusal, Reply, Route
from hearth.devcloud.neutron.networks import networks
from hearth.devcloud.neutron.ports import new_port, ports, remove_port
from hearth.devcloud.neutron.rest import Rest, bad_request, explain, owned, stamped
from hearth.devcloud.neutron.routers import router_between
from hearth.devcloud.store import Thing

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud

FLOATING_IPS = Collection(
    "network",
    "floatingips",
    "floatingip",
    {
        "floating_network_id": Field(text(36), required=True, update=False),
        "floating_ip_address": Field(nullable(text()), update=False, admin=True),
        "subnet_id": Field(nullable(text(36)), update=False),
        "port_id": Field(nullable(text(36))),
        "fixed_ip_address": Field(nullable(text())),
        "description": Field(text(), default=""),
        "qos_policy_id": Field(nullable(text(36))),
        "dns_domain": Field(text(), default="", update=False),
        "dns_name": Field(text(), default="", update=False),
        "status": READ_ONLY,
        "router_id": READ_ONLY,
    },
    type_name="FloatingIP",
    path="/v2.0/floatingips",
    quota="floatingip",
)
FORWARDINGS = Collection(
    "network",
    "port_forwardings",
    "port_forwarding",
    {
        "internal_port_id": Field(text(36), required=True),
        "internal_ip_address": Field(nullable(text())),
        "internal_port": Field(integer(1, 65535, null=True)),
        "internal_port_range": Field(nullable(text())),
        "external_port": Field(integer(1, 65535, null=True)),
        "external_port_range": Field(nullable(text())),
        "protocol": Field(one_of("tcp", "udp", "icmp", "icmp6", "sctp", "dccp"), required=True),
        "description": Field(text(), default=""),
    },
    type_name="PortForwarding",
)


def follow_port(cloud: DevCloud, thing: Thing) -> None:
    """The status catches up with the association."""
    status = "ACTIVE" if thing.body["port_id"] else "DOWN"
    if thing.body["status"] != status:
        thing.body["status"] = status
        thing.body["revision_number"] += 1


class _FloatingIps(Rest):
    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        network = networks.find(call, values["floating_network_id"])
        if not network.body["router:external"]:
            raise bad_request(f"Network {network.id} is not a valid external network")
        store = call.cloud.store
        link = self._associate(call, network.id, values, None)
        thing_id = store.new_id()
        given: Body = {"device_id": thing_id, "device_owner": "network:floatingip"}
        given["port_security_enabled"] = False
        wanted = {
            "subnet_id": values["subnet_id"],
            "ip_address": values["floating_ip_address"],
        }
        if wanted := {k: v for k, v in wanted.items() if v}:
            given["fixed_ips"] = [wanted]
        outside = new_port(call.cloud, network, "", given, implicit=True)
        body = {
            "id": thing_id,
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
        thing = store.insert(Thing(thing_id, FLOATING_IPS.table, project_id, body, hidden))
        store.later(0, thing, "network.floating_ip")
        return thing

    def _associate(self, call: Call, external_id: str, values: Body, own: Thing | None) -> Body:
        port_id = values.get("port_id")
        if port_id is None:
            return {"router_id": None, "port_id": None, "fixed_ip_address": None}
        store = call.cloud.store
        port = ports.find(call, port_id)
        wanted = values.get("fixed_ip_address")
        choices = [
            item
            for item in port.body["fixed_ips"]
            if (":" not in item["ip_address"] if wanted is None else item["ip_address"] == wanted)
        ]
        if not choices:
            raise bad_request(f"Port {port.id} does not have the fixed IPv4 address")
        for item in choices:
            router = router_between(store, item["subnet_id"], external_id)
            if router is None:
                continue
            twins = store.where(
                FLOATING_IPS.table, port_id=port.id, fixed_ip_address=item["ip_address"]
            )
            if any(twin is not own for twin in twins):
                text_ = f"Cannot associate floating IP: port {port.id} already has one."
                raise Refusal(409, "FloatingIPPortAlreadyAssociated", text_)
            return {
                "router_id": router.id,
                "port_id": port.id,
                "fixed_ip_address": item["ip_address"],
            }
        text_ = f"External network {external_id} is not reachable from port {port.id}."
        raise Refusal(404, "ExternalGatewayForFloatingIPNotFound", text_)

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        if "port_id" in changes or "fixed_ip_address" in changes:
            wanted = {"port_id": thing.body["port_id"], **changes}
            external_id = thing.body["floating_network_id"]
            changes |= self._associate(call, external_id, wanted, thing)
            call.cloud.store.later(0, thing, "network.floating_ip")
        thing.body.update(changes)

    def view(self, call: Call, thing: Thing, *, created: bool = False) -> Body:
        view = dict(thing.body)
        port = call.cloud.store.get("network.ports", view["port_id"])
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
        found = call.cloud.store.where(FORWARDINGS.table, floatingip_id=thing.id)
        keys = ["external_port", "protocol", "internal_port", "internal_ip_address"]
        view["port_forwardings"] = [{key: f.body[key] for key in keys} for f in found]
        return view

    def gone(self, call: Call, thing: Thing) -> None:
        store = call.cloud.store
        outside = store.get("network.ports", thing.hidden["outside"])
        if outside is not None:
            remove_port(call.cloud, outside)
        for forwarding in store.where(FORWARDINGS.table, floatingip_id=thing.id):
            store.remove(forwarding)


def _forwarding_view(thing: Thing) -> Body:
    return {key: value for key, value in thing.body.items() if key != "floatingip_id"}


def forward(call: Call) -> Reply:
    """POST of a port forwarding."""
    floating = floating_ips.find(call, call.ids[0])
    floating_ips.owned_by_caller(call, floating, "create_floatingip_port_forwarding of")
    try:
        values = FORWARDINGS.for_create(call.object("port_forwarding"))
    except Invalid as error:
        raise explain(error, FORWARDINGS, creating=True) from None
    if floating.body["port_id"]:
        text_ = f"Floating IP {floating.id} is in use by port {floating.body['port_id']}"
        raise Refusal(409, "FipInUseByPort", text_)
    router = _settle(call, floating, values, None)
    store = call.cloud.store
    body = {"id": store.new_id(), "floatingip_id": floating.id, **values}
    thing = store.insert(Thing(body["id"], FORWARDINGS.table, floating.project_id, body))
    floating.body["router_id"] = router.id
    return Reply(201, {"port_forwarding": _forwarding_view(thing)})


def _settle(call: Call, floating: Thing, values: Body, own: Thing | None) -> Thing:
    """Fill in addresses and ranges; gives the router that carries the traffic."""
    store = call.cloud.store
    port = ports.find(call, values["internal_port_id"])
    inner = [item for item in port.body["fixed_ips"] if ":" not in item["ip_address"]]
    wanted = values["internal_ip_address"]
    if wanted is not None:
        inner = [item for item in inner if item["ip_address"] == wanted]
    if not inner:
        raise bad_request(f"Port {port.id} does not have the fixed IPv4 address {wanted}")
    values["internal_ip_address"] = inner[0]["ip_address"]
    for side in ("internal", "external"):
        number = values[f"{side}_port"]
        if number is not None:
            values[f"{side}_port_range"] = f"{number}:{number}"
    for names in (
        ("external_port", "protocol"),
        ("internal_port_id", "internal_ip_address", "internal_port", "protocol"),
    ):
        same = {name: values[name] for name in names}
        twins = store.where(FORWARDINGS.table, floatingip_id=floating.id, **same)
        if any(twin is not own for twin in twins):
            raise bad_request("A duplicate port forwarding entry with same attributes exists")
    outside = floating.body["floating_network_id"]
    router = router_between(store, inner[0]["subnet_id"], outside)
    if router is None:
        text_ = f"External network {outside} is not reachable from port {port.id}."
        raise Refusal(404, "ExternalGatewayForFloatingIPNotFound", text_)
    return router


def _forwarding(call: Call) -> Thing:
    thing = call.cloud.store.get(FORWARDINGS.table, call.ids[1])
    if thing is None or thing.body["floatingip_id"] != call.ids[0]:
        raise Refusal(404, "PortForwardingNotFound", f"Port Forwarding {call.ids[1]} not found")
    return thing


def forwardings(call: Call) -> Reply:
    """GET of the port forwardings of a floating IP."""
    floating = floating_ips.find(call, call.ids[0])
    found = call.cloud.store.where(FORWARDINGS.table, floatingip_id=floating.id)
    return Reply(200, {"port_forwardings": [_forwarding_view(thing) for thing in found]})


def show_forwarding(call: Call) -> Reply:
    """GET of one."""
    return Reply(200, {"port_forwarding": _forwarding_view(_forwarding(call))})


def update_forwarding(call: Call) -> Reply:
    """PUT of one."""
    floating = floating_ips.find(call, call.ids[0])
    thing = _forwarding(call)
    try:
        changes = FORWARDINGS.for_update(call.object("port_forwarding"))
    except Invalid as error:
        raise explain(error, FORWARDINGS, creating=False) from None
    values = {**thing.body, **changes}
    _settle(call, floating, values, thing)
    thing.body.update(values)
    return Reply(200, {"port_forwarding": _forwarding_view(thing)})


def stop_forwarding(call: Call) -> Reply:
    """DELETE of one."""
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
