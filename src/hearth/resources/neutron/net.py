"""OS::Neutron::Net: a network."""

from collections.abc import Sequence
from typing import ClassVar

from hearth.resources.collection import Collection, Elsewhere
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.parts import Call, Members, Part
from hearth.resources.properties import ADMIN_STATE_UP, NAME, SHARED, TAGS, TENANT_ID, VALUE_SPECS
from hearth.schema import BOOLEAN, INTEGER, LIST, STRING, Attr, Prop, Resolve


class Net(NeutronResource):
    """A virtual isolated layer-2 broadcast domain."""

    type_name = "OS::Neutron::Net"
    properties = {
        "admin_state_up": ADMIN_STATE_UP,
        "availability_zone_hints": Prop(LIST, "Availability zones to prefer.", since="19.0.0"),
        "dhcp_agent_ids": Prop(
            LIST, "DHCP agents to serve it; for administrators.", update_allowed=True
        ),
        "dns_domain": Prop(
            STRING,
            "DNS domain of its records.",
            update_allowed=True,
            constraint="dns_domain",
            since="7.0.0",
        ),
        "name": NAME,
        "port_security_enabled": Prop(
            BOOLEAN,
            "true: port security is enabled.",
            update_allowed=True,
            since="5.0.0",
        ),
        "qos_policy": Prop(
            STRING,
            "QoS policy, by name or id.",
            update_allowed=True,
            constraint="neutron.qos_policy",
            since="6.0.0",
        ),
        "shared": SHARED,
        "tags": TAGS,
        "tenant_id": TENANT_ID,
        "value_specs": VALUE_SPECS,
    }
    attributes = {
        "admin_state_up": Attr(STRING, "true: it is enabled."),
        "l2_adjacency": Attr(
            BOOLEAN, "true: all of its segments are one broadcast domain.", since="9.0.0"
        ),
        "mtu": Attr(INTEGER, "Largest transmission unit, in bytes.", since="5.0.0"),
        "name": Attr(STRING, "Its name."),
        "port_security_enabled": Attr(BOOLEAN, "true: port security is enabled.", since="5.0.0"),
        "qos_policy_id": Attr(STRING, "Id of its QoS policy.", since="6.0.0"),
        "segments": Attr(LIST, "Its provider segments.", since="11.0.0"),
        "status": Attr(STRING, "Its status."),
        "subnets": Attr(LIST, "Ids of its subnets."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (Resolve(("qos_policy",), "neutron.qos_policy"),)
    ports_of = "network_id={id}"
    collection = Collection("network", "/v2.0/networks", body="network")
    renamed = {"qos_policy": "qos_policy_id"}
    parts: ClassVar[Sequence[Part]] = (
        Members(
            property="dhcp_agent_ids",
            listing="/v2.0/networks/{id}/dhcp-agents",
            add=Call("POST", "/v2.0/agents/{member}/dhcp-networks", {"network_id": "{id}"}),
            remove=Call("DELETE", "/v2.0/agents/{member}/dhcp-networks/{id}", again=False),
        ),
    )
    elsewhere = {"segments": Elsewhere("/v2.0/segments?network_id={id}")}
