"""OS::Heat::HARestarter: a signal replaces another resource of the stack."""

from collections.abc import Mapping
from typing import Any

from hearth.resources.base import ResourceContext, SignalResult
from hearth.resources.heat.scaling_policy import signal_text
from hearth.resources.heat.signed_signal import SignedSignal
from hearth.resources.revived.base import Revived
from hearth.schema import STRING, Attr, Prop

ALARM = "alarm"


class HARestarter(Revived, SignedSignal):
    """Replaces a resource of the stack when it receives a signal.

    A signal with a state other than alarm only leaves an event. The URL stays the same when the
    resource is replaced.
    """

    type_name = "OS::Heat::HARestarter"
    signed_for = "signal"
    properties = {
        "InstanceId": Prop(
            STRING,
            "The resource to replace, with all that refers to it: its reference id.",
            required=True,
            update_allowed=True,
        ),
    }
    attributes = {
        "AlarmUrl": Attr(STRING, "A signed URL that takes signals.", cached=False, secret=True),
    }

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"AlarmUrl": ctx.data.get("ec2_signed_url")}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return self.recordable(ctx).get(name)

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        state = details.get("state", ALARM) if isinstance(details, Mapping) else ALARM
        if str(state).lower() != ALARM:
            return SignalResult(reason=signal_text(details))
        return SignalResult(reason=signal_text(details), replaces=str(ctx.properties["InstanceId"]))
