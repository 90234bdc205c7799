"""A simulated resource type: a resource must release its name before a replacement can use that
name.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from hearth.cloud.fault import NotFound
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import GivesWay, SnapshotAtDelete
from hearth.schema import Replace
from hearth.schema.prop import STRING, Attr, Prop
from tests.simulator.types import Thing

LAST = ":last"  # ends the key of a copy that outlives its original


class Claim(Thing, GivesWay, SnapshotAtDelete):
    """A thing with an exclusive name, comparable to a port with its addresses. Its create has two
    steps.

    The property `w` is an older name of the property `u`. Reading the attribute `seen` needs a
    call. The deletion policy Snapshot is allowed.
    """

    type_name = "Test::Claim"
    properties = {
        **Thing.properties,
        "u": Prop(STRING, "A change updates the thing in place.", update_allowed=True),
        "w": Prop(STRING, "Another name of u.", update_allowed=True),
    }
    attributes = {
        **Thing.attributes,
        "seen": Attr(STRING, "The thing that holds the name now.", cached=False),
    }
    translation = (Replace(("u",), value_path=("w",)),)

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        label = Step("label", self._label, self._labelled, self._poll)
        return (*super().create_steps(ctx), label)

    def replaced_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        if not ctx.physical_id:
            return ()
        return (Step("note", self._note), Step("release", self._release))

    def taken_back_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("take", self._take, self._taken),) if "released" in ctx.data else ()

    def snapshot_delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("keep", self._keep, self._kept), *self.delete_steps(ctx))

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        if ctx.physical_id is None:
            return True
        try:
            shown = await self.show(ctx)
        except NotFound:
            return True
        return shown["fate"] != "ok" or not shown["labelled"]

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        shown = await self.show(ctx)
        return {"u": shown.get("u") or None, "r": shown.get("r"), "l": shown.get("l")}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "seen":
            return str((await self.show(ctx))["holds"])
        return await super().attribute(ctx, name)

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any]:
        answer = await ctx.cloud.request("test", "GET", f"/things/{ctx.physical_id}")
        body: Mapping[str, Any] = answer.body
        return body

    async def _create(self, ctx: ResourceContext) -> Made:
        made = await super()._create(ctx)
        return replace(made, metadata={**ctx.metadata, "born": made.physical_id})

    def body_of(self, ctx: ResourceContext) -> dict[str, Any]:
        return {**super().body_of(ctx), "claims": True}

    async def _label(self, ctx: ResourceContext) -> Made:
        path = f"/things/{ctx.physical_id}/label"
        answer = await ctx.cloud.request("test", "POST", path)
        return Made(body=answer.body)

    async def _labelled(self, ctx: ResourceContext) -> Made | None:
        shown = await self.show(ctx)
        return Made(body=shown) if shown["labelled"] else None

    async def _note(self, ctx: ResourceContext) -> Made:
        return Made(data={"released": "yes"})

    async def _release(self, ctx: ResourceContext) -> None:
        with suppress(NotFound):
            await ctx.cloud.request("test", "POST", f"/things/{ctx.physical_id}/release")

    async def _take(self, ctx: ResourceContext) -> Made:
        await ctx.cloud.request("test", "POST", f"/things/{ctx.physical_id}/take")
        return Made(data={"released": None})

    async def _taken(self, ctx: ResourceContext) -> Made | None:
        return Made(data={"released": None}) if (await self.show(ctx))["holds"] else None

    async def _keep(self, ctx: ResourceContext) -> Made:
        path = f"/things/{ctx.physical_id}/copy"
        with suppress(NotFound):
            await ctx.cloud.request("test", "POST", path, json={"key": ctx.key + LAST})
        return Made()

    async def _kept(self, ctx: ResourceContext) -> Made | None:
        copies = await ctx.cloud.listing("test", "/copies")
        return Made() if any(copy["key"] == ctx.key + LAST for copy in copies) else None
