"""Service function chains: traffic that passes through a series of machines before it goes on."""

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    NotAbove,
    OnlyFor,
    Prop,
    Range,
    Resolve,
    Support,
    SupportStatus,
)

PORT_NUMBERS = (Range(min=1, max=65535),)


def limit_of_range(text: str) -> Prop:
    """Declare the lowest or the highest number of a range of ports."""
    return Prop(INTEGER, text, constraints=PORT_NUMBERS)


class FlowClassifier(NeutronResource):
    """Selects the traffic that a port chain handles."""

    type_name = "OS::Neutron::FlowClassifier"
    support = Support(SupportStatus.UNSUPPORTED, version="8.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "destination_ip_prefix": Prop(
            STRING, "Destination of the traffic, in CIDR notation.", constraint="net_cidr"
        ),
        "destination_port_range_max": limit_of_range("Highest destination port."),
        "destination_port_range_min": limit_of_range("Lowest destination port."),
        "ethertype": Prop(
            STRING,
            "IPv4 or IPv6.",
            default="IPv4",
            constraints=(AllowedValues(["IPv4", "IPv6"]),),
        ),
        "l7_parameters": Prop(
            MAP,
            "Parameters of the application layer; no service knows any.",
            support=Support(SupportStatus.UNSUPPORTED),
        ),
        "logical_destination_port": Prop(
            STRING, "Port that receives the traffic, by name or id.", constraint="neutron.port"
        ),
        "logical_source_port": Prop(
            STRING, "Port that sends the traffic, by name or id.", constraint="neutron.port"
        ),
        "name": NAME,
        "protocol": Prop(
            STRING,
            "Protocol of the traffic; all protocols when not given.",
            constraints=(AllowedValues(["tcp", "udp", "icmp"]),),
        ),
        "source_ip_prefix": Prop(
            STRING, "Source of the traffic, in CIDR notation.", constraint="net_cidr"
        ),
        "source_port_range_max": limit_of_range("Highest source port."),
        "source_port_range_min": limit_of_range("Lowest source port."),
    }
    translation = (
        Resolve(("logical_source_port",), "neutron.port"),
        Resolve(("logical_destination_port",), "neutron.port"),
    )
    extension = "flow_classifier"
    collection = Collection("network", "/v2.0/sfc/flow_classifiers", body="flow_classifier")
    relations = (
        NotAbove("source_port_range_min", "source_port_range_max"),
        NotAbove("destination_port_range_min", "destination_port_range_max"),
        OnlyFor("source_port_range_min", "protocol", "tcp", "udp"),
        OnlyFor("source_port_range_max", "protocol", "tcp", "udp"),
        OnlyFor("destination_port_range_min", "protocol", "tcp", "udp"),
        OnlyFor("destination_port_range_max", "protocol", "tcp", "udp"),
    )


class PortPair(NeutronResource):
    """The ports by which traffic enters and leaves a machine of a port chain."""

    type_name = "OS::Neutron::PortPair"
    support = Support(SupportStatus.UNSUPPORTED, version="7.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "egress": Prop(
            STRING,
            "Port by which the traffic leaves, by name or id.",
            required=True,
            constraint="neutron.port",
        ),
        "ingress": Prop(
            STRING,
            "Port by which the traffic enters, by name or id.",
            required=True,
            constraint="neutron.port",
        ),
        "name": NAME,
        "service_function_parameters": Prop(
            MAP,
            "Parameters of the machine: correlation (mpls, nsh or null) and weight.",
            default={"correlation": None},
        ),
    }
    translation = (
        Resolve(("ingress",), "neutron.port"),
        Resolve(("egress",), "neutron.port"),
    )
    extension = "sfc"
    collection = Collection("network", "/v2.0/sfc/port_pairs", body="port_pair")


class PortPairGroup(NeutronResource):
    """Port pairs of equal machines, which share the traffic of a port chain."""

    type_name = "OS::Neutron::PortPairGroup"
    support = Support(SupportStatus.UNSUPPORTED, version="8.0.0")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "port_pairs": Prop(
            LIST,
            "The port pairs, by name or id.",
            required=True,
            update_allowed=True,
            schema=Prop(STRING, constraint="neutron.port_pair"),
        ),
    }
    translation = (Resolve(("port_pairs",), "neutron.port_pair"),)
    extension = "sfc"
    collection = Collection("network", "/v2.0/sfc/port_pair_groups", body="port_pair_group")


class PortChain(NeutronResource):
    """The way of traffic: one machine of each port pair group, in the order of the groups."""

    type_name = "OS::Neutron::PortChain"
    support = Support(SupportStatus.UNSUPPORTED, version="8.0.0")
    properties = {
        "chain_parameters": Prop(
            MAP,
            "Parameters of the chain: correlation (mpls or nsh) and symmetric.",
            default={"correlation": "mpls"},
        ),
        "description": OPTIONAL_DESCRIPTION,
        "flow_classifiers": Prop(
            LIST,
            "Flow classifiers, by name or id, that select the traffic.",
            default=[],
            update_allowed=True,
            schema=Prop(STRING, constraint="neutron.flow_classifier"),
        ),
        "name": NAME,
        "port_pair_groups": Prop(
            LIST,
            "The port pair groups, by name or id, in the order of the traffic.",
            required=True,
            update_allowed=True,
            schema=Prop(STRING, constraint="neutron.port_pair_group"),
        ),
    }
    translation = (
        Resolve(("port_pair_groups",), "neutron.port_pair_group"),
        Resolve(("flow_classifiers",), "neutron.flow_classifier"),
    )
    extension = "sfc"
    collection = Collection("network", "/v2.0/sfc/port_chains", body="port_chain")
    open_ended = frozenset({"chain_parameters"})
