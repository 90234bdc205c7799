"""OS::Neutron::SecurityGroup and OS::Neutron::SecurityGroupRule."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.collection import Collection, forgiving
from hearth.resources.neutron.base import FixedAtCreate, NeutronResource, shape
from hearth.resources.neutron.protocols import PROTOCOLS
from hearth.resources.properties import NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtMostOne,
    Fits,
    NotAbove,
    Prop,
    Range,
    Resolve,
    Support,
    Unless,
)

RULES = "/v2.0/security-group-rules"
SHAPE = (
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
)
EXISTS = "SecurityGroupRuleExists"  # the type of the error for an equal rule in another notation
ICMP = ("icmp", "icmpv6", "ipv6-icmp", "1", "58")  # the port range is type and code
EVERYTHING_OUT = ({"direction": "egress", "ethertype": version} for version in ("IPv4", "IPv6"))
DEFAULTS: tuple[Body, ...] = tuple(EVERYTHING_OUT)


class SecurityGroup(NeutronResource):
    """Rules for the traffic of a port. Traffic that no rule allows is blocked.

    Without rules for outgoing traffic, all outgoing traffic is allowed.
    """

    type_name = "OS::Neutron::SecurityGroup"
    support = Support(version="2014.1")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "name": NAME,
        "rules": Prop(
            LIST,
            "All rules of the group.",
            default=[],
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "description": Prop(STRING, "Description.", since="27.0.0"),
                    "direction": Prop(
                        STRING,
                        "Direction of the traffic.",
                        default="ingress",
                        constraints=(AllowedValues(["ingress", "egress"]),),
                    ),
                    "ethertype": Prop(
                        STRING,
                        "Version of the Internet protocol.",
                        default="IPv4",
                        constraints=(AllowedValues(["IPv4", "IPv6"]),),
                    ),
                    "port_range_max": Prop(
                        INTEGER, "Last port.", constraints=(Range(min=0, max=65535),)
                    ),
                    "port_range_min": Prop(
                        INTEGER,
                        "First port, or type of ICMP message.",
                        constraints=(Range(min=0, max=65535),),
                    ),
                    "protocol": Prop(
                        STRING,
                        "Protocol by name or number; all when not given.",
                        constraints=(AllowedValues(PROTOCOLS),),
                    ),
                    "remote_group_id": Prop(
                        STRING,
                        "Remote security group, by name or id, for remote_mode remote_group_id; "
                        "this group when not given.",
                        constraint="neutron.security_group",
                    ),
                    "remote_ip_prefix": Prop(STRING, "Remote network.", constraint="net_cidr"),
                    "remote_mode": Prop(
                        STRING,
                        "What defines the remote side: a network or a security group.",
                        default="remote_ip_prefix",
                        constraints=(AllowedValues(["remote_ip_prefix", "remote_group_id"]),),
                    ),
                },
            ),
        ),
        "stateful": Prop(
            BOOLEAN,
            "true: responses to allowed traffic are allowed.",
            update_allowed=True,
            since="27.0.0",
        ),
    }
    translation = (Resolve(("rules", "remote_group_id"), "neutron.security_group"),)
    relations = (Fits("name", "default".__ne__, 'a security group cannot be named "default"'),)
    ports_of = "security_groups={id}"
    collection = Collection("network", "/v2.0/security-groups", body="security_group")
    not_sent = frozenset({"rules"})

    def after_create(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("rules", self.settle),) if ctx.given("rules") else ()

    def after_update(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("rules", self.settle),) if "rules" in ctx.changed else ()

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the current values; the rules only if the property `rules` contains any.

        Without them, the rules of the group may be resources of their own.
        """
        values = super().observed(ctx, body)
        rules, own_rules = body.get("security_group_rules"), ctx.given("rules")
        if rules is None or not own_rules:
            return values
        desired = {shape(rule, SHAPE) for rule in self.desired_rules(ctx)}
        if desired == {shape(rule, SHAPE) for rule in rules}:
            return {**values, "rules": own_rules}
        current = [{n: rule[n] for n in SHAPE if rule.get(n) is not None} for rule in rules]
        return {**values, "rules": current}

    async def settle(self, ctx: ResourceContext) -> Made | None:
        """Create missing rules of the group and delete those that are not desired. Can be
        repeated.
        """
        group = ctx.physical
        desired = {shape(rule, SHAPE): rule for rule in self.desired_rules(ctx)}
        path = f"{RULES}?security_group_id={group}"
        for rule in await ctx.cloud.listing("network", path):
            if desired.pop(shape(rule, SHAPE), None) is None:
                await forgiving(
                    ctx.cloud.request(
                        "network", "DELETE", f"{RULES}/{segment(rule['id'])}", idempotent=True
                    )
                )
        for rule in desired.values():
            try:
                await ctx.cloud.request(
                    "network",
                    "POST",
                    RULES,
                    json={"security_group_rule": {**rule, "security_group_id": group}},
                )
            except CloudFault as fault:
                if fault.type != EXISTS:
                    raise
        return Made(body=await self.show(ctx))

    def desired_rules(self, ctx: ResourceContext) -> list[Body]:
        """Return the desired rules: those in the property `rules`, and the default egress rules if
        the property contains no egress rule.
        """
        rules = [self.rule(ctx, entry) for entry in ctx.given("rules") or []]
        if not any(rule["direction"] == "egress" for rule in rules):
            rules += [dict(rule) for rule in DEFAULTS]
        return rules

    def rule(self, ctx: ResourceContext, entry: Mapping[str, Any]) -> Body:
        """Convert an item of the property `rules` to the format of the service."""
        fields = {name: entry[name] for name in SHAPE if entry.get(name) is not None}
        if entry.get("description"):
            fields["description"] = entry["description"]
        if entry.get("remote_mode") == "remote_group_id":
            fields.pop("remote_ip_prefix", None)
            fields.setdefault("remote_group_id", ctx.physical)
        else:
            fields.pop("remote_group_id", None)
        return fields


class SecurityGroupRule(FixedAtCreate):
    """A rule of an existing security group."""

    type_name = "OS::Neutron::SecurityGroupRule"
    support = Support(version="7.0.0")
    properties = {
        "description": Prop(STRING, "Description."),
        "direction": Prop(
            STRING,
            "Direction of the traffic.",
            default="ingress",
            constraints=(AllowedValues(["ingress", "egress"]),),
        ),
        "ethertype": Prop(
            STRING,
            "Version of the Internet protocol.",
            default="IPv4",
            constraints=(AllowedValues(["IPv4", "IPv6"]),),
        ),
        "port_range_max": Prop(INTEGER, "Last port.", constraints=(Range(min=0, max=65535),)),
        "port_range_min": Prop(
            INTEGER, "First port, or type of ICMP message.", constraints=(Range(min=0, max=65535),)
        ),
        "protocol": Prop(
            STRING,
            "Protocol by name or number; all when not given.",
            default="tcp",
            constraints=(AllowedValues(PROTOCOLS),),
        ),
        "remote_group": Prop(
            STRING,
            "Remote security group, by name or id.",
            constraint="neutron.security_group",
        ),
        "remote_ip_prefix": Prop(STRING, "Remote network.", constraint="net_cidr"),
        "security_group": Prop(
            STRING,
            "The security group, by name or id.",
            required=True,
            constraint="neutron.security_group",
        ),
    }
    translation = (
        Resolve(("security_group",), "neutron.security_group"),
        Resolve(("remote_group",), "neutron.security_group"),
    )
    collection = Collection("network", RULES, body="security_group_rule")
    known_by = (
        "the description; if the user supplies one, the rule itself, which is unique in a group"
    )
    renamed = {"remote_group": "remote_group_id", "security_group": "security_group_id"}
    relations = (
        AtMostOne("remote_group", "remote_ip_prefix"),
        Unless("protocol", ICMP, NotAbove("port_range_min", "port_range_max")),
    )
    keyless_with = frozenset()
    alike = ("security_group_id", *SHAPE)
