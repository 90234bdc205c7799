"""Resource types of the simulator that receive signals or wait for them."""

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Rejected
from hearth.resources.base import (
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    SignalResult,
    Step,
)
from hearth.resources.capabilities import CollectsSignals, Immediate, IntentKey, MakesObject
from hearth.schema.prop import STRING, Attr, Prop

PATIENCE_S = 90.0


class Mailbox(CollectsSignals, Immediate, has_show=False):
    """A resource that stores the latest signal in its metadata.

    If the property `how` is "fetched", Hearth fetches the signals from the cloud.
    """

    type_name = "Test::Mailbox"
    properties = {
        "how": Prop(
            STRING,
            "Whether clients send signals (told) or Hearth reads them from the cloud (fetched).",
            default="told",
        )
    }

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        if ctx.properties.get("how") == "fetched":
            raise Rejected([self.no_signal(ctx)])
        return SignalResult(metadata={**ctx.metadata, "word": details}, reason=f"said: {details}")

    async def collect(self, ctx: ResourceContext) -> SignalResult | None:
        if ctx.properties.get("how") != "fetched":
            return None
        letters = await ctx.cloud.listing("test", f"/letters/{ctx.key}")
        read = f"{len(letters)} at {ctx.key}"  # one that was adopted has a new address
        if not letters or ctx.data.get("read") == read:
            return None
        word = letters[-1]["word"]
        return SignalResult(
            metadata={**ctx.metadata, "word": word},
            data={"read": read},
            reason=f"said: {word}",
        )


class Wait(MakesObject, has_show=False):
    """A resource whose create is complete as soon as a Mailbox has received a signal.

    The property `mailbox` refers to that Mailbox. After 90 seconds without a signal the create
    fails.
    """

    type_name = "Test::Wait"
    properties = {"mailbox": Prop(STRING, "The mailbox's reference.", required=True)}
    attributes = {"word": Attr(STRING, "The content of the signal.")}
    identified_by = IntentKey.OWN_ID

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("wait", self._begin, poll=self._heard),)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"word": (ctx.body or {}).get("word")}

    async def _begin(self, ctx: ResourceContext) -> Made:
        return Made(ctx.record_id)

    async def _heard(self, ctx: ResourceContext) -> Progress:
        assert ctx.read_metadata is not None
        told: Mapping[str, Any] = await ctx.read_metadata(ctx.properties["mailbox"])
        if "word" in told:
            return Ready({"word": told["word"]})
        if ctx.now - ctx.started_at > PATIENCE_S:
            return Failed("no signal has arrived", "WaitTimeout")
        return Later(5.0)


class Tally(Mailbox):
    """A mailbox that stores all signals in its metadata, not only the latest one.

    The keys of the metadata are the numbers of the signals, from 1.
    """

    type_name = "Test::Tally"

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        number = str(len(ctx.metadata) + 1)
        return SignalResult(metadata={**ctx.metadata, number: details}, reason=f"said: {details}")


class Quorum(Wait):
    """A resource whose create is complete as soon as a Tally has received two signals.

    The property `mailbox` refers to that Tally. The create waits for them without a time limit.
    """

    type_name = "Test::Quorum"

    async def _heard(self, ctx: ResourceContext) -> Progress:
        assert ctx.read_metadata is not None
        told: Mapping[str, Any] = await ctx.read_metadata(ctx.properties["mailbox"])
        if len(told) > 1:
            return Ready({"word": " ".join(str(told[n]) for n in sorted(told))})
        return Later(5.0)
