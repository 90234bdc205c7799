"""AWS::EC2::SecurityGroup: rules for incoming and outgoing traffic."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.adapter import AdapterType
from hearth.resources.base import ResourceContext
from hearth.resources.ec2.not_implemented import not_implemented
from hearth.resources.neutron.security_group import SecurityGroup as NeutronGroup
from hearth.schema import LIST, MAP, STRING, Each, Fits, Prop, Resolve

DIRECTIONS = {"SecurityGroupIngress": "ingress", "SecurityGroupEgress": "egress"}
PORTS = ("FromPort", "ToPort")
ANY = "-1"
NUMBER = re.compile(r"^(-?\d{1,5})?$")
RULE = Prop(
    MAP,
    schema={
        "CidrIp": Prop(STRING, "Remote network, in CIDR notation."),
        "FromPort": Prop(STRING, "First port, or type of ICMP message; -1 is any."),
        "IpProtocol": Prop(STRING, "Protocol by name or number; -1 is any."),
        "SourceSecurityGroupId": Prop(STRING, "Remote security group, by id."),
        "SourceSecurityGroupName": Prop(STRING, "Remote security group, by name."),
        "SourceSecurityGroupOwnerId": not_implemented(STRING),
        "ToPort": Prop(STRING, "Last port, or code of ICMP message; -1 is any."),
    },
)


class SecurityGroup(AdapterType):
    """Rules for the traffic of a server.

    Without rules for outgoing traffic, all outgoing traffic is allowed.
    """

    type_name = "AWS::EC2::SecurityGroup"
    adapted = NeutronGroup()
    properties = {
        "GroupDescription": Prop(STRING, "Description.", required=True),
        "SecurityGroupEgress": Prop(
            LIST, "Rules for outgoing traffic.", update_allowed=True, schema=RULE
        ),
        "SecurityGroupIngress": Prop(
            LIST, "Rules for incoming traffic.", update_allowed=True, schema=RULE
        ),
        "VpcId": Prop(STRING, "Accepted for compatibility: a group applies to all networks."),
    }
    translation = tuple(
        Resolve((name, "SourceSecurityGroupName"), "neutron.security_group") for name in DIRECTIONS
    )
    relations = tuple(
        Each(name, *(Fits(port, NUMBER.match, "expected a number") for port in PORTS))
        for name in DIRECTIONS
    )

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "description": properties.get("GroupDescription"),
            "rules": list(rules(properties)),
        }


def rules(properties: Mapping[str, Any]) -> Iterator[Body]:
    """Yield the rules of both lists in the form of OS::Neutron::SecurityGroup."""
    for name, direction in DIRECTIONS.items():
        for rule in properties.get(name) or []:
            yield _rule(direction, rule)


def _rule(direction: str, properties: Mapping[str, Any]) -> Body:
    network = properties.get("CidrIp")
    group = properties.get("SourceSecurityGroupId") or properties.get("SourceSecurityGroupName")
    protocol = properties.get("IpProtocol")
    every = protocol in (None, ANY)
    return {
        "direction": direction,
        "ethertype": "IPv6" if ":" in (network or "") else "IPv4",
        "protocol": None if every else str(protocol).lower(),
        "port_range_min": None if every else _port(properties.get("FromPort")),
        "port_range_max": None if every else _port(properties.get("ToPort")),
        "remote_ip_prefix": network,
        "remote_group_id": group,
        "remote_mode": "remote_ip_prefix" if network or not group else "remote_group_id",
    }


def _port(text: str | None) -> int | None:
    number = int(text or ANY)
    return None if number < 0 else number
