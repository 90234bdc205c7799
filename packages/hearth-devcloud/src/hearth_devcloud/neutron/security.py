"""The API of security groups and their rules."""

from __future__ import annotations

import ipaddress
from typing import Any

from hearth_devcloud import tables
from hearth_devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    boolean,
    nullable,
    one_of,
    text,
    uuid,
)
from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply
from hearth_devcloud.neutron.rest import Rest, owned, stamped
from hearth_devcloud.store import Resource

_PROTOCOLS = {
    "any": None,
    "ah": 51,
    "dccp": 33,
    "egp": 8,
    "esp": 50,
    "gre": 47,
    "hopopt": 0,
    "icmp": 1,
    "icmpv6": 58,
    "igmp": 2,
    "ip": 0,
    "ipip": 4,
    "ipv6-encap": 41,
    "ipv6-frag": 44,
    "ipv6-icmp": 58,
    "ipv6-nonxt": 59,
    "ipv6-opts": 60,
    "ipv6-route": 43,
    "ospf": 89,
    "pgm": 113,
    "rsvp": 46,
    "sctp": 132,
    "tcp": 6,
    "udp": 17,
    "udplite": 136,
    "vrrp": 112,
}
_WITH_PORTS = {_PROTOCOLS[name] for name in ("dccp", "sctp", "tcp", "udp", "udplite")}
_ICMP = {_PROTOCOLS[name] for name in ("icmp", "icmpv6")}
_IPV6_ONLY = {_PROTOCOLS[name] for name in _PROTOCOLS if "v6" in name}
_SAME = (
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
)


def _ethertype(value: Any) -> Any:
    match str(value).lower():
        case "ipv4":
            return "IPv4"
        case "ipv6":
            return "IPv6"
    text = f"Security group rule for ethertype '{value}' not supported."
    raise Refusal(400, "SecurityGroupRuleInvalidEtherType", text)


def _port(value: Any) -> int | None:
    if value is None or (str(value).isdecimal() and int(value) <= 65535):
        return None if value is None else int(value)
    raise Refusal(400, "SecurityGroupInvalidPortValue", f"Invalid value for port {value}")


def _prefix(value: Any) -> str | None:
    try:
        ipaddress.ip_network(value or "0.0.0.0/0", strict=False)
    except ValueError:
        text = f"Invalid CIDR {value} given as IP prefix."
        raise Refusal(400, "InvalidCIDR", text) from None
    return value or None


def _protocol(value: Any) -> str | None:
    name = "any" if value is None else str(value).lower()
    if name in _PROTOCOLS or (name.isdecimal() and int(name) < 256):
        return None if name == "any" else name
    text = f"Security group rule protocol {value} not supported."
    raise Refusal(400, "SecurityGroupRuleInvalidProtocol", text)


GROUPS = Collection(
    "network",
    "security_groups",
    "security_group",
    {
        "name": Field(text(), default=""),
        "description": Field(text(), default=""),
        "stateful": Field(boolean, default=True),
        "shared": READ_ONLY,
    },
    type_name="SecurityGroup",
    path="/v2.0/security-groups",
    quota="security_group",
)
RULES = Collection(
    "network",
    "security_group_rules",
    "security_group_rule",
    {
        "security_group_id": Field(text(), required=True),
        "direction": Field(one_of("ingress", "egress"), required=True),
        "ethertype": Field(_ethertype, default="IPv4"),
        "protocol": Field(_protocol),
        "port_range_min": Field(_port),
        "port_range_max": Field(_port),
        "remote_ip_prefix": Field(_prefix),
        "remote_group_id": Field(text(null=True)),
        "remote_address_group_id": Field(nullable(uuid)),
        "description": Field(text(null=True), default=""),
    },
    type_name="SecurityGroupRule",
    path="/v2.0/security-group-rules",
    quota="security_group_rule",
)


def default_group(cloud: Cloud, project_id: str) -> Resource:
    """Return the security group `default` of a project; create it if it does not exist."""
    security_groups = cloud.store.where(
        tables.SECURITY_GROUPS, name="default", project_id=project_id
    )
    if security_groups:
        return security_groups[0]
    values = {"name": "default", "description": "Default security group", "stateful": True}
    group = _new_group(cloud, project_id, values, implicit=True)
    for ethertype in ("IPv4", "IPv6"):
        attributes = {"direction": "ingress", "ethertype": ethertype, "remote_group_id": group.id}
        _new_rule(cloud, group, attributes, implicit=True)
    return group


def _new_group(cloud: Cloud, project_id: str, values: Body, *, implicit: bool = False) -> Resource:
    group_id = cloud.store.new_id()
    body = {"id": group_id, **values, "shared": False, **owned(project_id), **stamped(cloud, 1)}
    group = Resource(group_id, tables.SECURITY_GROUPS, project_id, body)
    cloud.store.insert(group, implicit=implicit)
    for ethertype in ("IPv4", "IPv6"):
        attributes = {"direction": "egress", "ethertype": ethertype, "description": None}
        _new_rule(cloud, group, attributes, implicit=True)
    return group


def _new_rule(
    cloud: Cloud, group: Resource, attributes: Body, *, implicit: bool = False
) -> Resource:
    rule_id = cloud.store.new_id()
    prefix = attributes.get("remote_ip_prefix")
    body = {
        "id": rule_id,
        "security_group_id": group.id,
        **{key: attributes.get(key) for key in (*_SAME, "remote_address_group_id")},
        "normalized_cidr": str(ipaddress.ip_network(prefix, strict=False)) if prefix else None,
        "belongs_to_default_sg": None if group.body["name"] == "default" else False,
        "description": attributes.get("description"),
        **owned(group.project_id),
        **stamped(cloud, 0),
    }
    body.pop("tags")
    serial = {"standard_attr_id": cloud.store.new_serial()}
    return cloud.store.insert(
        Resource(rule_id, tables.SECURITY_GROUP_RULES, group.project_id, body, serial),
        implicit=implicit,
    )


class _Groups(Rest):
    def ready(self, call: Call) -> None:
        if call.caller.project_id:
            default_group(call.cloud, call.caller.project_id)

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        default_group(call.cloud, project_id)
        self._not_default(values)
        values.pop("shared")
        return _new_group(call.cloud, project_id, values)

    @staticmethod
    def _not_default(values: Body) -> None:
        if values.get("name", "").lower() == "default":
            text = "Default security group already exists."
            raise Refusal(409, "SecurityGroupDefaultAlreadyExists", text)

    def view(self, call: Call, resource: Resource, *, created: bool = False) -> Body:
        view = dict(resource.body)
        view["security_group_rules"] = [
            {**rule.body, **rule.hidden, "tags": []}
            for rule in call.cloud.store.where(
                tables.SECURITY_GROUP_RULES, security_group_id=resource.id
            )
        ]
        return view

    def change(self, call: Call, resource: Resource, changes: Body) -> None:
        if resource.body["name"] == "default" and "name" in changes:
            text = "Updating default security group not allowed."
            raise Refusal(409, "SecurityGroupCannotUpdateDefault", text)
        self._not_default(changes)
        super().change(call, resource, changes)

    def gone(self, call: Call, resource: Resource) -> None:
        store = call.cloud.store
        if resource.body["name"] == "default" and not call.caller.is_admin:
            text = "Insufficient rights for removing default security group."
            raise Refusal(409, "SecurityGroupCannotRemoveDefault", text)
        for port in store.table(tables.PORTS).values():
            if resource.id in port.body["security_groups"]:
                raise Refusal(409, "SecurityGroupInUse", f"Security Group {resource.id} in use.")
        for rule in store.where(tables.SECURITY_GROUP_RULES, security_group_id=resource.id):
            store.remove(rule)


class _Rules(Rest):
    def ready(self, call: Call) -> None:
        groups.ready(call)

    def make(self, call: Call, project_id: str, values: Body) -> Resource:
        group = groups.find(call, values["security_group_id"])
        _check_protocol(values)
        _check_remote(call, values)
        selector = _selects(values)
        for rule in call.cloud.store.where(tables.SECURITY_GROUP_RULES, security_group_id=group.id):
            if _selects(rule.body) == selector:
                text = f"Security group rule already exists. Rule id is {rule.id}."
                raise Refusal(409, "SecurityGroupRuleExists", text)
        return _new_rule(call.cloud, group, values)

    def update(self, call: Call) -> Reply:
        raise Refusal(400, "HTTPBadRequest", "Cannot update a security group rule")


def _number(rule: Body) -> int | None:
    """Return the IP protocol number of a rule, or None for any protocol.

    ICMP has different numbers for IPv4 and IPv6.
    """
    name = rule["protocol"]
    number = int(name) if name and name.isdecimal() else _PROTOCOLS[name or "any"]
    return _PROTOCOLS["icmpv6"] if number == 1 and rule["ethertype"] == "IPv6" else number


def _selects(rule: Body) -> Body:
    """Return a map that is equal for two rules if they select the same packets."""
    prefix = rule["remote_ip_prefix"]
    if prefix in ("0.0.0.0/0", "::/0"):
        prefix = None
    elif prefix and "/" not in prefix:
        prefix = str(ipaddress.ip_network(prefix))
    return {key: rule[key] for key in _SAME} | {
        "protocol": _number(rule),
        "remote_ip_prefix": prefix,
    }


def _check_protocol(rule: Body) -> None:
    """Raise Refusal 400 if protocol, ethertype and ports of a rule cannot be combined."""
    number, low, high = _number(rule), rule["port_range_min"], rule["port_range_max"]
    if number in _IPV6_ONLY and rule["ethertype"] == "IPv4":
        text = f"Invalid ethertype IPv4 for protocol {rule['protocol']}."
        raise Refusal(400, "SecurityGroupEthertypeConflictWithProtocol", text)
    if low is None and high is None:
        return
    if number is None:
        text = "Must also specify protocol if port range is given."
        raise Refusal(400, "SecurityGroupProtocolRequiredWithPorts", text)
    if number in _ICMP:
        _check_icmp(low, high)
    elif number not in _WITH_PORTS:
        text = f"Ports cannot be specified for protocol {number}."
        raise Refusal(400, "SecurityGroupInvalidProtocolForPort", text)
    elif 0 in (low, high):
        raise Refusal(400, "SecurityGroupInvalidPortValue", "Invalid value for port 0")
    elif low is None or high is None or low > high:
        text = "For TCP/UDP protocols, port_range_min must be <= port_range_max"
        raise Refusal(400, "SecurityGroupInvalidPortRange", text)


def _check_icmp(type_: int | None, code: int | None) -> None:
    for field, value in (("type", type_), ("code", code)):
        if value is not None and value > 255:
            text = f"Invalid value for ICMP {field} {value}. It must be 0 to 255."
            raise Refusal(400, "SecurityGroupInvalidIcmpValue", text)
    if type_ is None:
        text = f"ICMP code {code} is provided but ICMP type is missing."
        raise Refusal(400, "SecurityGroupMissingIcmpType", text)


def _check_remote(call: Call, rule: Body) -> None:
    """Raise Refusal if the remote prefix or remote group of a rule is invalid.

    A rule can have only one of them, and the prefix must fit the ethertype.
    """
    prefix, group_id = rule["remote_ip_prefix"], rule["remote_group_id"]
    if prefix and group_id:
        text = "Only remote_ip_prefix or remote_group_id may be provided."
        raise Refusal(400, "SecurityGroupMultipleRemoteEntites", text)
    version = ipaddress.ip_network(prefix, strict=False).version if prefix else None
    if version and rule["ethertype"] != f"IPv{version}":
        text = f"Conflicting value ethertype {rule['ethertype']} for CIDR {prefix}"
        raise Refusal(400, "SecurityGroupRuleParameterConflict", text)
    if group_id:
        groups.find(call, group_id)
    several = rule["remote_address_group_id"]
    if several and call.cloud.store.get("network.address_groups", several) is None:
        text = f"Address group {several} could not be found."
        raise Refusal(404, "AddressGroupNotFound", text)


groups = _Groups(GROUPS)
rules = _Rules(RULES)
ROUTES = [*groups.routes, *rules.routes]
