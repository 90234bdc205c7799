"""Scaling policies: a signal changes the size of a group.

Source: docs/spec/groups-and-nesting.md, section 6.4.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.resources.base import ResourceContext, Scaling, SignalResult
from hearth.resources.heat.adjustment import Adjustment, AdjustmentType
from hearth.resources.heat.signed_signal import SignedSignal
from hearth.resources.heat.signed_url import native_url
from hearth.schema import (
    INTEGER,
    NUMBER,
    STRING,
    AllowedValues,
    Attr,
    OnlyFor,
    Prop,
    Range,
    Support,
)


class Policy(SignedSignal):
    """Base class of scaling policies: a signal, whatever it contains, changes the size of a
    group.
    """

    group: ClassVar[str]
    amount: ClassVar[str]
    type: ClassVar[str]
    min_step: ClassVar[str]
    cooldown: ClassVar[str]
    kinds: ClassVar[Mapping[str, AdjustmentType]]
    type_names: ClassVar[Mapping[AdjustmentType, str]] = {
        AdjustmentType.CHANGE: "ChangeInCapacity",
        AdjustmentType.EXACT: "ExactCapacity",
        AdjustmentType.PERCENT: "PercentChangeInCapacity",
    }

    signed_for = "signal"

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return self.recordable(ctx).get(name)

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        properties = ctx.properties
        kind = self.kinds[properties[self.type]]
        amount, step = float(properties[self.amount]), properties.get(self.min_step)
        cooldown = properties.get(self.cooldown)
        return SignalResult(
            reason=signal_text(details),
            scaling=Scaling(
                group=str(properties[self.group]),
                adjustment=Adjustment(amount, kind, None if step is None else int(step)),
                cooldown_s=None if cooldown is None else float(cooldown),
                type=self.type_names[kind],
            ),
        )


class ScalingPolicy(Policy):
    """Changes the size of a group when it receives a signal."""

    type_name = "OS::Heat::ScalingPolicy"
    support = Support()
    kinds = {str(kind): kind for kind in AdjustmentType}
    group, amount, type = "auto_scaling_group_id", "scaling_adjustment", "adjustment_type"
    min_step, cooldown = "min_adjustment_step", "cooldown"
    properties = {
        "adjustment_type": Prop(
            STRING,
            "How scaling_adjustment changes the size of the group.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues([str(kind) for kind in AdjustmentType]),),
        ),
        "auto_scaling_group_id": Prop(STRING, "Reference of the group.", required=True),
        "cooldown": Prop(
            NUMBER, "Cool-down after a scaling action, in seconds.", update_allowed=True
        ),
        "min_adjustment_step": Prop(
            INTEGER,
            "Minimum number of members that a percentage adds or removes.",
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "scaling_adjustment": Prop(
            NUMBER,
            "The new size of the group, or the change of its size.",
            required=True,
            update_allowed=True,
        ),
    }
    relations = (OnlyFor("min_adjustment_step", "adjustment_type", str(AdjustmentType.PERCENT)),)
    attributes = {
        "alarm_url": Attr(STRING, "A signed URL that takes signals.", cached=False, secret=True),
        "signal_url": Attr(STRING, "A URL that takes signals with a token.", since="5.0.0"),
    }

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        url = ctx.data.get("ec2_signed_url")
        return {"alarm_url": url, "signal_url": native_url(ctx, own_project=True) if url else None}


def signal_text(details: Any) -> str:
    """Return the event text for a signal with these `details`. Source: docs/spec/engine.md, section
    28.
    """
    if details is None or details == {}:
        return "No signal details provided"
    if isinstance(details, str):
        return details
    if isinstance(details, Mapping):
        if {"previous", "current", "reason"} <= details.keys():
            change = f"{details['previous']} to {details['current']}"
            return f"alarm state changed from {change} ({details['reason']})"
        if "state" in details:
            return f"alarm state changed to {details['state']}"
    return "Unknown"
