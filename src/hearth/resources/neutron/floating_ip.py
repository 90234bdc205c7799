"""OS::Neutron::FloatingIP, its association with a port, and its ports sent on one by one."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.resources.base import IntentKey, Live, Made, ResourceType, Step
from hearth.resources.collection import Collection
from hearth.resources.neutron import order
from hearth.resources.neutron.base import Natural, NeutronResource
from hearth.schema import (
    INTEGER,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Prop,
    Range,
    Replace,
    Resolve,
    Support,
    SupportStatus,
)


class FloatingIP(NeutronResource):
    """An outer address that can point to a port."""

    type_name = "OS::Neutron::FloatingIP"
    properties = {
        "dns_domain": Prop(
            STRING,
            "DNS domain of its records.",
            update_allowed=True,
            constraint="dns_domain",
            since="7.0.0",
        ),
        "dns_name": Prop(
            STRING,
            "DNS name of its record.",
            update_allowed=True,
            constraint="rel_dns_name",
            since="7.0.0",
        ),
        "fixed_ip_address": Prop(
            STRING, "Which of the addresses of the port.", update_allowed=True, constraint="ip_addr"
        ),
        "floating_ip_address": Prop(
            STRING,
            "The outer address; given out by the service when not given.",
            constraint="ip_addr",
            since="5.0.0",
        ),
        "floating_network": Prop(
            STRING,
            "The outer network, by name or id.",
            required=True,
            constraint="neutron.network",
            since="2014.2",
        ),
        "floating_network_id": Prop(
            STRING,
            "Use floating_network instead.",
            constraint="neutron.network",
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
        "floating_subnet": Prop(
            STRING,
            "Subnet to take the address from, by name or id.",
            constraint="neutron.subnet",
            since="9.0.0",
        ),
        "port_id": Prop(STRING, "The port, by id.", update_allowed=True, constraint="neutron.port"),
        "value_specs": Prop(
            MAP, "Further fields for the API call, passed on as they are.", default={}
        ),
    }
    attributes = {
        "fixed_ip_address": Attr(STRING, "The inner address.", cached=False),
        "floating_ip_address": Attr(STRING, "The outer address."),
        "floating_network_id": Attr(STRING, "Id of the outer network."),
        "port_id": Attr(STRING, "The port it points to.", cached=False),
        "router_id": Attr(STRING, "Id of the router that translates it."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (
        Replace(("floating_network",), value_path=("floating_network_id",)),
        Resolve(("floating_network",), "neutron.network"),
        Resolve(("floating_subnet",), "neutron.subnet"),
    )
    collection = Collection("network", "/v2.0/floatingips", body="floatingip")
    not_sent = frozenset({"floating_network_id"})
    renamed = {"floating_network": "floating_network_id", "floating_subnet": "subnet_id"}
    comes_after = (order.Routes(),)
    together = frozenset({"port_id", "fixed_ip_address"})


class FloatingIPAssociation(ResourceType):
    """Points a floating IP to a port. The physical id is FLOATINGIP:PORT."""

    type_name = "OS::Neutron::FloatingIPAssociation"
    properties = {
        "fixed_ip_address": Prop(
            STRING, "Which of the addresses of the port.", update_allowed=True, constraint="ip_addr"
        ),
        "floatingip_id": Prop(STRING, "Id of the floating IP.", required=True, update_allowed=True),
        "port_id": Prop(
            STRING,
            "The port, by id.",
            required=True,
            update_allowed=True,
            constraint="neutron.port",
        ),
    }
    service = "network"
    address: ClassVar[str] = "floatingip_id"  # the property that names the floating IP
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the address's only port; to set it again changes nothing"
    comes_after = (order.Routes(),)

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("associate", self.associate, self.find),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        moved = self.address in live.changed
        leave = (Step("leave", self.dissociate),) if moved and live.physical_id else ()
        return (*leave, Step("associate", self.associate))

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("dissociate", self.dissociate),) if live.physical_id else ()

    async def associate(self, live: Live) -> Made:
        """Point the address to the port; doing it again changes nothing."""
        fields = {"port_id": await self.port(live)}
        if live.given("fixed_ip_address"):
            fields["fixed_ip_address"] = live.given("fixed_ip_address")
        ident = live.properties[self.address]
        body = await point(live, ident, fields)
        return Made(physical_id=f"{ident}:{fields['port_id']}", body=body)

    async def port(self, live: Live) -> str:
        """Id of the port to point to."""
        return str(live.properties["port_id"])

    async def find(self, live: Live) -> Made | None:
        ident, port = live.properties[self.address], await self.port(live)
        now = await live.cloud.member("network", "/v2.0/floatingips", ident)
        return Made(f"{ident}:{port}", body=now) if now.get("port_id") == port else None

    async def dissociate(self, live: Live) -> Made | None:
        """Point the address nowhere, if it still points where we pointed it."""
        ident, _, port = live.physical.partition(":")
        try:
            now = await live.cloud.member("network", "/v2.0/floatingips", ident)
            if now.get("port_id") == port:
                await point(live, ident, {"port_id": None})
        except CloudFault as fault:
            if not fault.not_found:
                raise
        return None

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        ident = live.physical.partition(":")[0]
        return await live.cloud.member("network", "/v2.0/floatingips", ident)


class FloatingIPPortForward(Natural):
    """Sends what arrives at one port of a floating IP on to a port inside."""

    type_name = "OS::Neutron::FloatingIPPortForward"
    support = Support(version="19.0.0")
    properties = {
        "external_port": Prop(
            INTEGER,
            "Port of the floating IP, by number.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=1, max=65535),),
        ),
        "floating_ip": Prop(STRING, "The floating IP, by address or id.", required=True),
        "internal_ip_address": Prop(
            STRING,
            "Which of the addresses of the inner port.",
            required=True,
            update_allowed=True,
            constraint="ip_addr",
        ),
        "internal_port": Prop(
            STRING,
            "The inner port, by name or id.",
            required=True,
            update_allowed=True,
            constraint="neutron.port",
        ),
        "internal_port_number": Prop(
            INTEGER,
            "Port inside, by number; the same as outside when not given.",
            update_allowed=True,
            constraints=(Range(min=1, max=65535),),
        ),
        "protocol": Prop(
            STRING,
            "Protocol.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["tcp", "udp", "icmp", "icmp6", "sctp", "dccp"]),),
        ),
    }
    translation = (
        Resolve(("floating_ip",), "neutron.floating_ip"),
        Resolve(("internal_port",), "neutron.port"),
    )
    extension = "floating-ip-port-forwarding"
    collection = Collection(
        "network",
        "/v2.0/floatingips/{floating_ip}/port_forwardings",
        body="port_forwarding",
        key_field=None,
    )
    not_sent = frozenset({"floating_ip"})
    renamed = {"internal_port": "internal_port_id", "internal_port_number": "internal_port"}
    alike = ("external_port", "protocol")
    known_by = "floating IP, outer port and protocol: no two have all three in common"
    comes_after = (order.Routes(),)

    def fields_of(self, live: Live, values: Mapping[str, Any], names: frozenset[str]) -> Body:
        fields = super().fields_of(live, values, names)
        if names & {"internal_port_number", "external_port"}:
            fields["internal_port"] = values.get("internal_port_number") or values["external_port"]
        return fields


async def point(live: Live, ident: str, fields: Body) -> Body:
    """Update a floating IP."""
    answer = await live.cloud.request(
        "network",
        "PUT",
        f"/v2.0/floatingips/{ident}",
        json={"floatingip": fields},
        idempotent=True,
    )
    return answer.part("floatingip")
