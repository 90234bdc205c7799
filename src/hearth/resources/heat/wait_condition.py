"""OS::Heat::WaitCondition: waits for signals. Source: docs/spec/software-config.md, section 14."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.resources.base import (
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.schema import INTEGER, NUMBER, STRING, Attr, Prop, Range, Support

LOOK_AGAIN_S = 1.0
SILENT = "silent"  # key of private data: the handle takes no signals


class CountsSignals(ResourceType):
    """Base class of wait conditions: wait until the metadata of a handle contains enough signals.

    Subclasses define the property names. The keys of a signal may have upper or lower case.
    """

    handle: ClassVar[str] = "handle"
    count: ClassVar[str] = "count"
    timeout: ClassVar[str] = "timeout"
    data: ClassVar[str] = "data"  # the attribute

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("wait", self.begin, poll=self.wait),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.create_steps(ctx) if self.count in ctx.changed else ()

    async def begin(self, ctx: ResourceContext) -> Made:
        """Set the physical id; record in private data whether the handle accepts no signals."""
        reference = str(ctx.properties[self.handle])
        handle = None if ctx.read_properties is None else ctx.properties_of(reference)
        silent = (handle or {}).get("signal_transport") == "NO_SIGNAL"
        return Made(
            physical_id=ctx.physical_id or ctx.physical_name,
            data={SILENT: "yes"} if silent else {},
        )

    async def wait(self, ctx: ResourceContext) -> Progress:
        """Report ready after enough signals; fail after a failure signal or the timeout."""
        signals = await self.signals(ctx)
        count, timeout_s = int(ctx.given(self.count) or 1), float(ctx.properties[self.timeout])
        left_s = ctx.started_at + timeout_s - ctx.now
        if left_s < 0:
            return Failed(too_late(signals, count), "WaitConditionTimeout")
        failures = [str(signal.get("reason")) for signal in of_status(signals, "FAILURE")]
        if failures:
            return Failed(";".join(failures), "WaitConditionFailure")
        if len(signals) >= count:
            return Ready(dict(signals))
        return Later(min(LOOK_AGAIN_S, left_s + 0.01))

    async def signals(self, ctx: ResourceContext) -> Mapping[str, Mapping[str, Any]]:
        """Return the handle's signals by id, with lower-case keys.

        If the handle accepts no signals (NO_SIGNAL), return the required number of signals without
        data.
        """
        if SILENT in ctx.data:
            count = int(ctx.given(self.count) or 1)
            return {str(number): {"data": None} for number in range(1, count + 1)}
        metadata = await ctx.metadata_of(str(ctx.properties[self.handle]))
        return {
            ident: {name.lower(): value for name, value in signal.items()}
            for ident, signal in metadata.items()
        }

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return data_of(await self.signals(ctx)) if name == self.data else None

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {} if ctx.body is None else {self.data: data_of(ctx.body)}


class WaitCondition(CountsSignals):
    """Waits until its handle has received the given number of success signals, or fails."""

    type_name = "OS::Heat::WaitCondition"
    support = Support(version="2014.2")
    properties = {
        "count": Prop(
            INTEGER,
            "Number of success signals to wait for.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=1),),
        ),
        "handle": Prop(STRING, "Reference of the handle.", required=True),
        "timeout": Prop(
            NUMBER, "Seconds to wait.", required=True, constraints=(Range(min=1, max=43200),)
        ),
    }
    attributes = {
        "data": Attr(STRING, "Data of the signals by their id, as JSON text.", cached=False),
    }


def data_of(signals: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the signals' data as JSON text, by signal id."""
    return json.dumps({ident: signal.get("data") for ident, signal in signals.items()})


def of_status(signals: Mapping[str, Any], status: str) -> list[Mapping[str, Any]]:
    """Return the signals with this status."""
    return [signal for signal in signals.values() if signal.get("status") == status]


def too_late(signals: Mapping[str, Any], count: int) -> str:
    """Return the error message of a timeout: how many signals arrived, and their reasons."""
    reasons = ";".join(str(signal.get("reason")) for signal in of_status(signals, "SUCCESS"))
    text = f"{len(signals)} of {count} received"
    return f"{text} - {reasons}" if reasons else text
