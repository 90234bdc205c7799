"""Rules of QoS policies: bandwidth limits, DSCP marks, guaranteed rates."""

from typing import ClassVar

from hearth.cloud.contract import Body
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection
from hearth.resources.neutron.base import NeutronResource
from hearth.resources.properties import TENANT_ID
from hearth.schema import INTEGER, STRING, AllowedValues, Prop, Range, Resolve, Support


def rules(kind: str) -> Collection:
    """Declare the collection for one kind of rule; the path contains the id of the policy."""
    return Collection(
        "network", f"/v2.0/qos/policies/{{policy}}/{kind}s", body=kind, key_field=None
    )


class QoSRule(NeutronResource):
    """A rule of a QoS policy. A policy has at most one rule of a kind and direction."""

    identified_by = IntentKey.NATURAL_KEY
    known_by = "the policy, which has at most one rule of a type and direction"
    extension: ClassVar[str | None] = "qos"
    not_sent: ClassVar[frozenset[str]] = frozenset({"policy", "tenant_id"})

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        fields = self.fields(ctx)
        members = await self.members(ctx)
        return [member for member in members if fields.items() <= member.items()]


class QoSBandwidthLimitRule(QoSRule):
    """A limit of the bandwidth."""

    type_name = "OS::Neutron::QoSBandwidthLimitRule"
    support = Support(version="6.0.0")
    properties = {
        "direction": Prop(
            STRING,
            "Direction of the traffic.",
            default="egress",
            update_allowed=True,
            constraints=(AllowedValues(["egress", "ingress"]),),
            since="13.0.0",
        ),
        "max_burst_kbps": Prop(
            INTEGER,
            "Maximum burst, in kilobits.",
            default=0,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "max_kbps": Prop(
            INTEGER,
            "Rate in kilobits per second.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "policy": Prop(
            STRING, "The policy, by name or id.", required=True, constraint="neutron.qos_policy"
        ),
        "tenant_id": TENANT_ID,
    }
    translation = (Resolve(("policy",), "neutron.qos_policy"),)
    collection = rules("bandwidth_limit_rule")


class QoSDscpMarkingRule(QoSRule):
    """The DSCP mark of outgoing packets."""

    type_name = "OS::Neutron::QoSDscpMarkingRule"
    support = Support(version="7.0.0")
    properties = {
        "dscp_mark": Prop(
            INTEGER,
            "DSCP mark.",
            required=True,
            update_allowed=True,
            constraints=(
                AllowedValues(
                    [
                        0,
                        8,
                        10,
                        12,
                        14,
                        16,
                        18,
                        20,
                        22,
                        24,
                        26,
                        28,
                        30,
                        32,
                        34,
                        36,
                        38,
                        40,
                        46,
                        48,
                        56,
                    ]
                ),
            ),
        ),
        "policy": Prop(
            STRING, "The policy, by name or id.", required=True, constraint="neutron.qos_policy"
        ),
        "tenant_id": TENANT_ID,
    }
    translation = (Resolve(("policy",), "neutron.qos_policy"),)
    collection = rules("dscp_marking_rule")


class QoSMinimumBandwidthRule(QoSRule):
    """A guaranteed bandwidth."""

    type_name = "OS::Neutron::QoSMinimumBandwidthRule"
    support = Support(version="14.0.0")
    properties = {
        "direction": Prop(
            STRING,
            "Direction of the traffic.",
            default="egress",
            update_allowed=True,
            constraints=(AllowedValues(["egress", "ingress"]),),
        ),
        "min_kbps": Prop(
            INTEGER,
            "Rate in kilobits per second.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "policy": Prop(
            STRING, "The policy, by name or id.", required=True, constraint="neutron.qos_policy"
        ),
        "tenant_id": TENANT_ID,
    }
    translation = (Resolve(("policy",), "neutron.qos_policy"),)
    extension = "qos-bw-minimum-ingress"
    collection = rules("minimum_bandwidth_rule")


class QoSMinimumPacketRateRule(QoSRule):
    """A guaranteed packet rate."""

    type_name = "OS::Neutron::QoSMinimumPacketRateRule"
    support = Support(version="19.0.0")
    properties = {
        "direction": Prop(
            STRING,
            "Direction of the traffic.",
            default="egress",
            update_allowed=True,
            constraints=(AllowedValues(["any", "egress", "ingress"]),),
        ),
        "min_kpps": Prop(
            INTEGER,
            "Rate in thousands of packets per second.",
            required=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "policy": Prop(
            STRING, "The policy, by name or id.", required=True, constraint="neutron.qos_policy"
        ),
        "tenant_id": TENANT_ID,
    }
    translation = (Resolve(("policy",), "neutron.qos_policy"),)
    extension = "qos-pps-minimum"
    collection = rules("minimum_packet_rate_rule")
