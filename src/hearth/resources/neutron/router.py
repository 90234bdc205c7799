"""OS::Neutron::Router: forwards packets between subnets and to external networks."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hearth.resources.collection import Collection
from hearth.resources.neutron import order
from hearth.resources.neutron.base import USUAL, NeutronResource
from hearth.resources.parts import Call, Members
from hearth.resources.properties import ADMIN_STATE_UP, NAME, TAGS, VALUE_SPECS
from hearth.schema import (
    BOOLEAN,
    LIST,
    MAP,
    STRING,
    Add,
    Attr,
    Delete,
    Fits,
    Prop,
    Resolve,
    Support,
    SupportStatus,
    Unless,
    Where,
    Without,
)


def _is_single(agents: Sequence[str]) -> bool:
    return len(agents) <= 1


class Router(NeutronResource):
    """Forwards packets between subnets, and through its gateway to an external network."""

    type_name = "OS::Neutron::Router"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "availability_zone_hints": Prop(
            LIST, "Availability zones to prefer.", update_allowed=True, since="19.0.0"
        ),
        "distributed": Prop(
            BOOLEAN,
            "true: routing is distributed over the compute hosts; for administrators.",
            since="2015.1",
        ),
        "external_gateway_info": Prop(
            MAP,
            "External gateway.",
            update_allowed=True,
            schema={
                "enable_snat": Prop(
                    BOOLEAN,
                    "true: the source addresses of outgoing traffic are translated.",
                    update_allowed=True,
                ),
                "external_fixed_ips": Prop(
                    LIST,
                    "Addresses on the external network.",
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
            BOOLEAN, "true: the router is highly available; for administrators.", since="2015.1"
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
            empty_is_none=True,
        ),
        "l3_agent_ids": Prop(
            LIST,
            "Agents to run it; for administrators.",
            update_allowed=True,
            schema=Prop(STRING),
            since="2015.1",
        ),
        "name": NAME,
        "tags": TAGS,
        "tenant_id": Prop(
            STRING,
            "The project it belongs to; only administrators may choose another project.",
            since="24.0.0",
        ),
        "value_specs": VALUE_SPECS,
    }
    attributes = {
        "admin_state_up": Attr(STRING, "true: it is enabled."),
        "external_gateway_info": Attr(MAP, "External gateway."),
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
        Add(("l3_agent_ids",), value_path=("l3_agent_id",)),
        Delete(("l3_agent_id",)),
    )
    ports_of = "device_id={id}"
    collection = Collection("network", "/v2.0/routers", body="router")
    comes_after = (order.Subnets(("external_gateway_info.network",)),)
    renamed = {
        "external_gateway_info.network": "network_id",
        "external_gateway_info.external_fixed_ips.subnet": "subnet_id",
    }
    cleared: ClassVar[Mapping[str, Any]] = {**USUAL, "external_gateway_info": {}}
    relations = (
        Where("distributed", (True,), Without("l3_agent_ids")),
        Unless(
            "ha",
            (True,),
            Fits("l3_agent_ids", _is_single, "only a highly available router can have several"),
        ),
    )
    parts = (
        Members(
            property="l3_agent_ids",
            listing="/v2.0/routers/{id}/l3-agents",
            add=Call("POST", "/v2.0/agents/{member}/l3-routers", {"router_id": "{id}"}),
            remove=Call("DELETE", "/v2.0/agents/{member}/l3-routers/{id}", again=False),
            remove_first=True,
        ),
    )
