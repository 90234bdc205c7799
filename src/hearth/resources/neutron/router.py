"""OS::Neutron::Router: forwards between subnets, and to the outside."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import Collection
from hearth.resources.neutron import order
from hearth.resources.neutron.base import NeutronResource, addresses
from hearth.schema import BOOLEAN, LIST, MAP, STRING, Attr, Prop, Resolve, Support, SupportStatus


class Router(NeutronResource):
    """Forwards packets between subnets and through its gateway to the outside."""

    type_name = "OS::Neutron::Router"
    properties = {
        "admin_state_up": Prop(
            BOOLEAN, "Whether it is switched on.", default=True, update_allowed=True
        ),
        "availability_zone_hints": Prop(
            LIST, "Availability zones to prefer.", update_allowed=True, since="19.0.0"
        ),
        "distributed": Prop(
            BOOLEAN,
            "Whether routing is spread over the compute hosts; for administrators.",
            since="2015.1",
        ),
        "external_gateway_info": Prop(
            MAP,
            "The way out.",
            update_allowed=True,
            schema={
                "enable_snat": Prop(
                    BOOLEAN, "Whether addresses are translated on the way out.", update_allowed=True
                ),
                "external_fixed_ips": Prop(
                    LIST,
                    "Addresses on the outer network.",
                    update_allowed=True,
                    schema=Prop(
                        MAP,
                        schema={
                            "ip_address": Prop(STRING, "IP address.", constraint="ip_addr"),
                            "subnet": Prop(
                                STRING, "The subnet, by name or id.", constraint="neutron.subnet"
                            ),
                        },
                    ),
                    since="6.0.0",
                ),
                "network": Prop(
                    STRING, "The network, by name or id.", required=True, update_allowed=True
                ),
            },
        ),
        "ha": Prop(
            BOOLEAN, "Whether it survives the loss of a host; for administrators.", since="2015.1"
        ),
        "l3_agent_id": Prop(
            STRING,
            "Use l3_agent_ids instead.",
            update_allowed=True,
            support=Support(
                SupportStatus.HIDDEN,
                "6.0.0",
                previous=Support(
                    SupportStatus.DEPRECATED,
                    "2015.1",
                    previous=Support(SupportStatus.SUPPORTED, "2014.1"),
                ),
            ),
        ),
        "l3_agent_ids": Prop(
            LIST,
            "Agents to run it; for administrators.",
            update_allowed=True,
            schema=Prop(STRING),
            since="2015.1",
        ),
        "name": Prop(STRING, "Its name; generated when not given.", update_allowed=True),
        "tags": Prop(
            LIST,
            "Tags, free words to find it by.",
            update_allowed=True,
            schema=Prop(STRING),
            since="9.0.0",
        ),
        "tenant_id": Prop(
            STRING,
            "The project it belongs to; only administrators may choose another than their own.",
            since="24.0.0",
        ),
        "value_specs": Prop(
            MAP,
            "Further fields for the API call, passed on as they are.",
            default={},
            update_allowed=True,
        ),
    }
    attributes = {
        "admin_state_up": Attr(STRING, "Whether it is switched on."),
        "external_gateway_info": Attr(MAP, "The way out."),
        "name": Attr(STRING, "Its name."),
        "status": Attr(STRING, "Its status."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (
        Resolve(
            (
                "external_gateway_info",
                "network",
            ),
            "neutron.network",
        ),
        Resolve(
            (
                "external_gateway_info",
                "external_fixed_ips",
                "subnet",
            ),
            "neutron.subnet",
        ),
    )
    collection = Collection("network", "/v2.0/routers", body="router")
    not_sent = frozenset({"tags", "l3_agent_id", "l3_agent_ids"})
    comes_after = (order.Subnets(("external_gateway_info.network",)),)

    def fields_of(self, live: Live, values: Mapping[str, Any], names: frozenset[str]) -> Body:
        fields = super().fields_of(live, values, names)
        if fields.get("external_gateway_info"):
            fields["external_gateway_info"] = gateway(fields["external_gateway_info"])
        return fields

    def changed_fields(self, live: Live) -> Body:
        fields = super().changed_fields(live)
        if "external_gateway_info" in fields and fields["external_gateway_info"] is None:
            fields["external_gateway_info"] = {}
        return fields

    def after_create(self, live: Live) -> tuple[Step, ...]:
        return (*super().after_create(live), *self.agents(live, bool(wanted_agents(live))))

    def after_update(self, live: Live) -> tuple[Step, ...]:
        moved = bool(live.changed & {"l3_agent_id", "l3_agent_ids"})
        return (*super().after_update(live), *self.agents(live, moved))

    def agents(self, live: Live, needed: bool) -> tuple[Step, ...]:
        """The step that places the router, where one is needed."""
        return (Step("agents", self.place),) if needed else ()

    async def place(self, live: Live) -> Made | None:
        """Have exactly the wanted agents run the router."""
        path = f"/v2.0/routers/{live.physical}/l3-agents"
        now = {agent["id"] for agent in await live.cloud.listing("network", path)}
        wanted = wanted_agents(live)
        for agent in sorted(now - wanted):
            await live.cloud.request(
                "network",
                "DELETE",
                f"/v2.0/agents/{agent}/l3-routers/{live.physical}",
                idempotent=True,
            )
        for agent in sorted(wanted - now):
            await live.cloud.request(
                "network",
                "POST",
                f"/v2.0/agents/{agent}/l3-routers",
                json={"router_id": live.physical},
            )
        return None


def wanted_agents(live: Live) -> set[str]:
    """The agents asked for, in the newer form or the older one."""
    one = live.given("l3_agent_id")
    return set(live.given("l3_agent_ids") or []) | ({str(one)} if one else set())


def gateway(info: Mapping[str, Any]) -> Body:
    """The gateway as the service takes it."""
    fields: Body = {"network_id": info["network"]}
    if info.get("enable_snat") is not None:
        fields["enable_snat"] = info["enable_snat"]
    if info.get("external_fixed_ips"):
        fields["external_fixed_ips"] = addresses(info["external_fixed_ips"])
    return fields
