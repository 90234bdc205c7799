"""AWS::AutoScaling::ScalingPolicy: a scaling policy whose reference is a signed URL.

Source: docs/spec/groups-and-nesting.md, section 6.4.
"""

from typing import Any

from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import SecretReference
from hearth.resources.heat.adjustment import AdjustmentType
from hearth.resources.heat.scaling_policy import Policy
from hearth.schema import INTEGER, STRING, AllowedValues, Attr, OnlyFor, Prop, Range, Support

KINDS = {name: kind for kind, name in Policy.type_names.items()}


class ScalingPolicy(Policy, SecretReference):
    """Changes the size of a group when it receives a signal."""

    type_name = "AWS::AutoScaling::ScalingPolicy"
    support = Support()
    kinds = KINDS
    group, amount, type = "AutoScalingGroupName", "ScalingAdjustment", "AdjustmentType"
    min_step, cooldown = "MinAdjustmentStep", "Cooldown"
    properties = {
        "AdjustmentType": Prop(
            STRING,
            "How ScalingAdjustment changes the size.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(list(KINDS)),),
        ),
        "AutoScalingGroupName": Prop(STRING, "Reference of the group.", required=True),
        "Cooldown": Prop(
            INTEGER, "Cool-down after a scaling action, in seconds.", update_allowed=True
        ),
        "MinAdjustmentStep": Prop(
            INTEGER,
            "Minimum number of members that a percentage adds or removes.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "ScalingAdjustment": Prop(
            INTEGER, "The new size, or the change of the size.", required=True, update_allowed=True
        ),
    }
    relations = (
        OnlyFor("MinAdjustmentStep", "AdjustmentType", Policy.type_names[AdjustmentType.PERCENT]),
    )
    attributes = {
        "AlarmUrl": Attr(STRING, "A signed URL that takes signals.", cached=False, secret=True)
    }

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.data.get("ec2_signed_url", ctx.name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"AlarmUrl": ctx.data.get("ec2_signed_url")}
