"""AWS::CloudFormation::WaitCondition and its handles. Source: software-config.md, section 14."""

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import StackValidationFailed, rejection
from hearth.resources.base import ResourceContext, SignalResult
from hearth.resources.capabilities import ReplacedAlways, SecretReference
from hearth.resources.heat.signed_signal import SignedSignal
from hearth.resources.heat.wait_condition import CountsSignals
from hearth.schema import INTEGER, STRING, Attr, Prop, Range, Support

KEYS = ("Data", "Reason", "Status")
STATUSES = ("SUCCESS", "FAILURE")


class SignedHandle(SignedSignal, SecretReference):
    """Base class of handles that receive signals at a signed URL, which is the value of
    `get_resource`.
    """

    signed_for = "waitcondition"

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.data.get("ec2_signed_url", ctx.name)

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        if details is None:
            return SignalResult()
        if not isinstance(details, Mapping) or details.keys() != {*KEYS, "UniqueId"}:
            raise rejection(StackValidationFailed, "Metadata format invalid")
        if details["Status"] not in STATUSES:
            raise rejection(StackValidationFailed, "Metadata format invalid")
        entry = {name: details[name] for name in KEYS}
        reason = f"Signal: status:{entry['Status']} reason:{entry['Reason']}"
        return SignalResult({**ctx.metadata, str(details["UniqueId"]): entry}, reason=reason)


class WaitConditionHandle(SignedHandle):
    """Receives signals at a signed URL, which is the value of `get_resource`."""

    type_name = "AWS::CloudFormation::WaitConditionHandle"
    support = Support(version="2014.1")
    properties = {}


class UpdateWaitConditionHandle(SignedHandle, ReplacedAlways):
    """A handle that every update replaces, so that its wait conditions wait again."""

    type_name = "OS::Heat::UpdateWaitConditionHandle"
    support = Support(version="2014.1")
    properties = {}


class WaitCondition(CountsSignals):
    """Waits until its handle has received the given number of success signals, or fails."""

    type_name = "AWS::CloudFormation::WaitCondition"
    support = Support(version="2014.1")
    properties = {
        "Count": Prop(
            INTEGER,
            "Number of success signals to wait for.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
        "Handle": Prop(STRING, "Reference of the handle.", required=True),
        "Timeout": Prop(
            INTEGER, "Seconds to wait.", required=True, constraints=(Range(min=1, max=43200),)
        ),
    }
    attributes = {
        "Data": Attr(STRING, "Data of the signals by their id, as JSON text.", cached=False),
    }
    handle = "Handle"
    count = "Count"
    timeout = "Timeout"
    data = "Data"
