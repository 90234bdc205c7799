"""OS::Neutron::Subnet: a block of addresses on a network."""

from ipaddress import ip_address

from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.properties import NAME, TAGS, TENANT_ID, VALUE_SPECS
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    AtMostOne,
    Attr,
    Fits,
    OnlyFor,
    Prop,
    Range,
    Replace,
    Resolve,
    Same,
    Support,
    SupportStatus,
)


def _is_gateway(text: str) -> bool:
    if text in ("", "~"):
        return True
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


class Subnet(NeutronResource):
    """A block of addresses in a network, with its DHCP options."""

    type_name = "OS::Neutron::Subnet"
    properties = {
        "allocation_pools": Prop(
            LIST,
            "Ranges of addresses to allocate.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "end": Prop(
                        STRING, "Last address of the range.", required=True, constraint="ip_addr"
                    ),
                    "start": Prop(
                        STRING, "First address of the range.", required=True, constraint="ip_addr"
                    ),
                },
            ),
        ),
        "cidr": Prop(STRING, "The addresses, in CIDR notation.", constraint="net_cidr"),
        "dns_nameservers": Prop(
            LIST, "Addresses of name servers.", default=[], update_allowed=True
        ),
        "enable_dhcp": Prop(BOOLEAN, "true: DHCP is enabled.", default=True, update_allowed=True),
        "gateway_ip": Prop(
            STRING, "Address of the gateway; empty or null for none.", update_allowed=True
        ),
        "host_routes": Prop(
            LIST,
            "Routes that hosts receive by DHCP.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "destination": Prop(
                        STRING,
                        "Destination of the route, in CIDR notation.",
                        required=True,
                        constraint="net_cidr",
                    ),
                    "nexthop": Prop(
                        STRING, "Address of the next hop.", required=True, constraint="ip_addr"
                    ),
                },
            ),
        ),
        "ip_version": Prop(
            INTEGER,
            "Version of the Internet protocol: 4 or 6.",
            default=4,
            constraints=(AllowedValues([4, 6]),),
        ),
        "ipv6_address_mode": Prop(
            STRING,
            "Mode in which hosts get an IPv6 address.",
            constraints=(AllowedValues(["dhcpv6-stateful", "dhcpv6-stateless", "slaac"]),),
            since="2015.1",
        ),
        "ipv6_ra_mode": Prop(
            STRING,
            "Mode of the IPv6 router advertisements.",
            constraints=(AllowedValues(["dhcpv6-stateful", "dhcpv6-stateless", "slaac"]),),
            since="2015.1",
        ),
        "name": NAME,
        "network": Prop(
            STRING,
            "The network, by name or id.",
            required=True,
            constraint="neutron.network",
            since="2014.2",
        ),
        "network_id": Prop(
            STRING,
            "Use network instead.",
            constraint="neutron.network",
            support=Support(
                SupportStatus.HIDDEN, "5.0.0", previous=Support(SupportStatus.DEPRECATED, "2014.2")
            ),
        ),
        "prefixlen": Prop(
            INTEGER,
            "Prefix length of the subnet, if it is allocated from a subnet pool.",
            constraints=(Range(min=0),),
            since="6.0.0",
        ),
        "segment": Prop(
            STRING,
            "The segment it belongs to, by name or id.",
            update_allowed=True,
            constraint="neutron.segment",
            support=Support(
                SupportStatus.SUPPORTED,
                "11.0.0",
                previous=Support(SupportStatus.SUPPORTED, "9.0.0"),
            ),
        ),
        "subnetpool": Prop(
            STRING,
            "Subnet pool from which the addresses are allocated, by name or id.",
            constraint="neutron.subnetpool",
            since="6.0.0",
        ),
        "tags": TAGS,
        "tenant_id": TENANT_ID,
        "value_specs": VALUE_SPECS,
    }
    attributes = {
        "allocation_pools": Attr(LIST, "Ranges of addresses to allocate."),
        "cidr": Attr(STRING, "The addresses, in CIDR notation."),
        "dns_nameservers": Attr(LIST, "Addresses of name servers."),
        "enable_dhcp": Attr(STRING, "true: DHCP is enabled."),
        "gateway_ip": Attr(STRING, "Address of the gateway; empty or null for none."),
        "host_routes": Attr(LIST, "Routes that hosts receive by DHCP."),
        "ip_version": Attr(STRING, "Version of the Internet protocol: 4 or 6."),
        "name": Attr(STRING, "Its name."),
        "network_id": Attr(STRING, "Id of its network."),
        "tenant_id": Attr(STRING, "The project it belongs to."),
    }
    translation = (
        Replace(("network",), value_path=("network_id",)),
        Resolve(("network",), "neutron.network"),
        Resolve(("subnetpool",), "neutron.subnetpool"),
        Resolve(("segment",), "neutron.segment"),
    )
    ports_of = "fixed_ips=subnet_id%3D{id}"
    collection = Collection("network", "/v2.0/subnets", body="subnet")
    not_sent = frozenset({"tags", "network_id"})
    renamed = {"network": "network_id", "subnetpool": "subnetpool_id", "segment": "segment_id"}
    relations = (
        AtLeastOne("subnetpool", "cidr"),
        AtMostOne("subnetpool", "cidr"),
        AtMostOne("prefixlen", "cidr"),
        Fits("gateway_ip", _is_gateway, "expected an IP address, or an empty text for no gateway"),
        OnlyFor("ipv6_ra_mode", "ip_version", 6),
        OnlyFor("ipv6_address_mode", "ip_version", 6),
        Same("ipv6_ra_mode", "ipv6_address_mode"),
    )
    null_for = {"gateway_ip": ""}
