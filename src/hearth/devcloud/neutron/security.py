"""Security groups and their rules."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from hearth.devcloud.collection import (
    READ_ONLY,
    Collection,
    Field,
    anything,
    boolean,
    integer,
    one_of,
    text,
)
from hearth.devcloud.http import Body, Call, Refusal, Reply
from hearth.devcloud.neutron.rest import Rest, bad_input, owned, stamped
from hearth.devcloud.store import Thing

if TYPE_CHECKING:
    from hearth.devcloud.cloud import DevCloud

_GROUPS = "network.security_groups"
_RULES = "network.security_group_rules"
_PROTOCOLS = frozenset(
    [
        "ah",
        "dccp",
        "egp",
        "esp",
        "gre",
        "icmp",
        "icmpv6",
        "igmp",
        "ipip",
        "ipv6-encap",
        "ipv6-frag",
        "ipv6-icmp",
        "ipv6-nonxt",
        "ipv6-opts",
        "ipv6-route",
        "ospf",
        "pgm",
        "rsvp",
        "sctp",
        "tcp",
        "udp",
        "udplite",
        "vrrp",
    ]
)
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
    raise ValueError(f"{value!r} is not an ethertype")


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
        "security_group_id": Field(text(36), required=True),
        "direction": Field(one_of("ingress", "egress"), required=True),
        "ethertype": Field(_ethertype, default="IPv4"),
        "protocol": Field(anything),
        "port_range_min": Field(integer(0, 65535, null=True)),
        "port_range_max": Field(integer(0, 65535, null=True)),
        "remote_ip_prefix": Field(text(null=True)),
        "remote_group_id": Field(text(36, null=True)),
        "remote_address_group_id": Field(text(36, null=True)),
        "description": Field(text(null=True), default=""),
    },
    type_name="SecurityGroupRule",
    path="/v2.0/security-group-rules",
    quota="security_group_rule",
)


def default_group(cloud: DevCloud, project_id: str) -> Thing:
    """The group `default` of a project, made on first use."""
    found = cloud.store.where(_GROUPS, name="default", project_id=project_id)
    if found:
        return found[0]
    values = {"name": "default", "description": "Default security group", "stateful": True}
    group = _new_group(cloud, project_id, values, implicit=True)
    for ethertype in ("IPv4", "IPv6"):
        given = {"direction": "ingress", "ethertype": ethertype, "remote_group_id": group.id}
        _new_rule(cloud, group, given, implicit=True)
    return group


def _new_group(cloud: DevCloud, project_id: str, values: Body, *, implicit: bool = False) -> Thing:
    group_id = cloud.store.new_id()
    body = {"id": group_id, **values, "shared": False, **owned(project_id), **stamped(cloud, 1)}
    thing = Thing(group_id, _GROUPS, project_id, body)
    cloud.store.insert(thing, implicit=implicit)
    for ethertype in ("IPv4", "IPv6"):
        given = {"direction": "egress", "ethertype": ethertype, "description": None}
        _new_rule(cloud, thing, given, implicit=True)
    return thing


def _new_rule(cloud: DevCloud, group: Thing, given: Body, *, implicit: bool = False) -> Thing:
    rule_id = cloud.store.new_id()
    prefix = given.get("remote_ip_prefix")
    body = {
        "id": rule_id,
        "security_group_id": group.id,
        **{key: given.get(key) for key in (*_SAME, "remote_address_group_id")},
        "normalized_cidr": str(ipaddress.ip_network(prefix, strict=False)) if prefix else None,
        "belongs_to_default_sg": None if group.body["name"] == "default" else False,
        "description": given.get("description"),
        **owned(group.project_id),
        **stamped(cloud, 0),
    }
    body.pop("tags")
    serial = {"standard_attr_id": cloud.store.new_serial()}
    return cloud.store.insert(
        Thing(rule_id, _RULES, group.project_id, body, serial), implicit=implicit
    )


class _Groups(Rest):
    def ready(self, call: Call) -> None:
        if call.caller.project_id:
            default_group(call.cloud, call.caller.project_id)

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        default_group(call.cloud, project_id)
        if values["name"] == "default":
            text = "Default security group already exists."
            raise Refusal(409, "SecurityGroupDefaultAlreadyExists", text)
        values.pop("shared")
        return _new_group(call.cloud, project_id, values)

    def view(self, call: Call, thing: Thing, *, created: bool = False) -> Body:
        view = dict(thing.body)
        view["security_group_rules"] = [
            {**rule.body, **rule.hidden, "tags": []}
            for rule in call.cloud.store.where(_RULES, security_group_id=thing.id)
        ]
        return view

    def change(self, call: Call, thing: Thing, changes: Body) -> None:
        if thing.body["name"] == "default" and "name" in changes:
            text = "Updating default security group not allowed."
            raise Refusal(409, "SecurityGroupCannotUpdateDefault", text)
        super().change(call, thing, changes)

    def gone(self, call: Call, thing: Thing) -> None:
        store = call.cloud.store
        if thing.body["name"] == "default" and not call.caller.is_admin:
            text = "Insufficient rights for removing default security group."
            raise Refusal(409, "SecurityGroupCannotRemoveDefault", text)
        for port in store.table("network.ports").values():
            if thing.id in port.body["security_groups"]:
                raise Refusal(409, "SecurityGroupInUse", f"Security Group {thing.id} in use.")
        for rule in store.where(_RULES, security_group_id=thing.id):
            store.remove(rule)


class _Rules(Rest):
    def ready(self, call: Call) -> None:
        groups.ready(call)

    def make(self, call: Call, project_id: str, values: Body) -> Thing:
        group = groups.find(call, values["security_group_id"])
        values["protocol"] = _protocol(values["protocol"])
        low, high = values["port_range_min"], values["port_range_max"]
        icmp = values["protocol"] in ("icmp", "icmpv6", "ipv6-icmp", "1", "58")
        if not icmp and low is not None and high is not None and low > high:
            raise Refusal(400, "SecurityGroupInvalidPortRange", "The port range is reversed")
        if values["remote_ip_prefix"] and values["remote_group_id"]:
            text = "Only remote_ip_prefix or remote_group_id may be provided."
            raise Refusal(400, "SecurityGroupMultipleRemoteEntites", text)
        if values["remote_ip_prefix"]:
            try:
                ipaddress.ip_network(values["remote_ip_prefix"], strict=False)
            except ValueError:
                raise bad_input(f"{values['remote_ip_prefix']} is no valid prefix") from None
        if values["remote_group_id"]:
            groups.find(call, values["remote_group_id"])
        same = {key: values[key] for key in _SAME}
        if twins := call.cloud.store.where(_RULES, security_group_id=group.id, **same):
            text = f"Security group rule already exists. Rule id is {twins[0].id}."
            raise Refusal(409, "SecurityGroupRuleExists", text)
        return _new_rule(call.cloud, group, values)

    def update(self, call: Call) -> Reply:
        raise Refusal(400, "HTTPBadRequest", "Cannot update a security group rule")


def _protocol(value: Any) -> str | None:
    if value is None or str(value).lower() in ("any", "-1"):
        return None
    name = str(value).lower()
    if name in _PROTOCOLS or (name.isdigit() and int(name) < 256):
        return name
    text = f"Security group rule protocol {value} not supported."
    raise Refusal(400, "SecurityGroupRuleInvalidProtocol", text)


groups = _Groups(GROUPS)
rules = _Rules(RULES)
ROUTES = [*groups.routes, *rules.routes]
