"""Types that make nothing of their own: they tie together what is there already."""

from typing import ClassVar

from hearth.resources.base import IntentKey, Live, Made, ResourceType, Step
from hearth.resources.parts import Part


class Tie(ResourceType):
    """A part without an object around it, that can be settled again without harm."""

    part: ClassVar[Part]
    yields: ClassVar[bool] = False  # what is tied can be so once: a replacement needs it
    identified_by = IntentKey.NATURAL_KEY

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("tie", self.tie),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("tie", self.tie),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("untie", self.untie),) if live.physical_id else ()

    def replaced_steps(self, live: Live) -> tuple[Step, ...]:
        return self.delete_steps(live) if self.yields else ()

    def taken_back_steps(self, live: Live) -> tuple[Step, ...]:
        return self.create_steps(live) if self.yields else ()

    async def tie(self, live: Live) -> Made:
        """Tie what is wanted, untie what was before and is not."""
        await self.part.settle(self, live)
        return Made(physical_id=live.physical_id or live.physical_name)

    async def untie(self, live: Live) -> Made | None:
        """Untie it all."""
        await self.part.leave(self, live)
        return None
