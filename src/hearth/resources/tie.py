"""Base class of types that create no object but connect existing objects."""

from typing import ClassVar

from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import GivesWay, IntentKey, MakesObject
from hearth.resources.parts import Part


class Tie(MakesObject, GivesWay):
    """A relation between existing objects; the calls that set it can be repeated."""

    part: ClassVar[Part]
    yields: ClassVar[bool] = False  # a replacement must disconnect first
    identified_by = IntentKey.NATURAL_KEY

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("tie", self.tie),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("tie", self.tie),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("untie", self.untie),) if ctx.physical_id else ()

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.delete_steps(ctx) if self.yields else ()

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.create_steps(ctx) if self.yields else ()

    async def tie(self, ctx: ResourceContext) -> Made:
        """Connect the desired objects, and disconnect those that are no longer desired."""
        await self.part.settle(self, ctx)
        return Made(physical_id=ctx.physical_id or ctx.physical_name)

    async def untie(self, ctx: ResourceContext) -> Made | None:
        """Disconnect all objects."""
        await self.part.leave(self, ctx)
        return None
