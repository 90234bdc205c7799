"""Resource types of the simulator that wait for signals."""

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Rejected
from hearth.resources.base import (
    Failed,
    IntentKey,
    Later,
    Live,
    Made,
    Progress,
    Ready,
    ResourceType,
    SignalResult,
    Step,
)
from hearth.resources.capabilities import CollectsSignals
from hearth.schema.prop import STRING, Attr, Prop

PATIENCE_S = 90.0


class Mailbox(CollectsSignals):
    """Keeps what it is told in its metadata. Letters to a `fetched` one lie in the cloud."""

    type_name = "Test::Mailbox"
    properties = {"how": Prop(STRING, "told or fetched.", default="told")}
    pure = True
    has_show = False

    def signal(self, live: Live, details: Any) -> SignalResult:
        if live.properties.get("how") == "fetched":
            raise Rejected([self.no_signal(live)])
        return SignalResult(metadata={**live.metadata, "word": details}, reason=f"said: {details}")

    async def collect(self, live: Live) -> SignalResult | None:
        if live.properties.get("how") != "fetched":
            return None
        letters = await live.cloud.listing("test", f"/letters/{live.key}")
        read = f"{len(letters)} at {live.key}"  # one that was adopted has a new address
        if not letters or live.data.get("read") == read:
            return None
        word = letters[-1]["word"]
        return SignalResult(
            metadata={**live.metadata, "word": word},
            data={"read": read},
            reason=f"said: {word}",
        )


class Wait(ResourceType):
    """Complete as soon as its mailbox has a word."""

    type_name = "Test::Wait"
    properties = {"mailbox": Prop(STRING, "The mailbox's reference.", required=True)}
    attributes = {"word": Attr(STRING, "What was said.")}
    identified_by = IntentKey.OWN_ID
    has_show = False

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("wait", self._begin, poll=self._heard),)

    def recordable(self, live: Live) -> dict[str, Any]:
        return {"word": (live.body or {}).get("word")}

    async def _begin(self, live: Live) -> Made:
        return Made(live.record_id)

    async def _heard(self, live: Live) -> Progress:
        assert live.read_metadata is not None
        told: Mapping[str, Any] = await live.read_metadata(live.properties["mailbox"])
        if "word" in told:
            return Ready({"word": told["word"]})
        if live.now - live.started_at > PATIENCE_S:
            return Failed("nobody has said a word", "WaitTimeout")
        return Later(5.0)


class Tally(Mailbox):
    """Keeps each word that it receives, under the next number."""

    type_name = "Test::Tally"

    def signal(self, live: Live, details: Any) -> SignalResult:
        number = str(len(live.metadata) + 1)
        return SignalResult(metadata={**live.metadata, number: details}, reason=f"said: {details}")


class Quorum(Wait):
    """Complete as soon as its tally has two words."""

    type_name = "Test::Quorum"

    async def _heard(self, live: Live) -> Progress:
        assert live.read_metadata is not None
        told: Mapping[str, Any] = await live.read_metadata(live.properties["mailbox"])
        if len(told) > 1:
            return Ready({"word": " ".join(str(told[n]) for n in sorted(told))})
        return Later(5.0)
