"""Base class of types that set a field of an existing object to the id of another object."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey, Observable


class Pointer(Observable):
    """Base class of types whose resource is a field of one object that refers to another object.

    The physical id is OBJECT:TARGET.
    """

    service = "network"
    identified_by = IntentKey.NATURAL_KEY
    objects: ClassVar[str]  # path of the collection of objects
    body: ClassVar[str]  # root key of an object in requests
    holder: ClassVar[str]  # the property that names the object
    target: ClassVar[str] = ""  # the property that names the target
    field: ClassVar[str]
    inner: ClassVar[str | None] = None  # if the field is a map: its key that contains the id
    along: ClassVar[tuple[str, ...]] = ()  # further properties in the same call
    known_again: ClassVar[bool] = False  # if true, an equal field that exists already is ours

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("point", self.point, self.find if self.known_again else None),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        moved = self.holder in ctx.changed
        leave = (Step("leave", self.leave),) if moved and ctx.physical_id else ()
        return (*leave, Step("point", self.point))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("leave", self.leave),) if ctx.physical_id else ()

    async def holder_id(self, ctx: ResourceContext) -> str:
        """Return the id of the object whose field is set."""
        return str(ctx.properties[self.holder])

    async def aim(self, ctx: ResourceContext) -> str:
        """Return the id of the object to which the field refers."""
        return str(ctx.properties[self.target])

    async def point(self, ctx: ResourceContext) -> Made:
        """Set the field to the id of the target. The call can be repeated."""
        ident, aim = await self.holder_id(ctx), await self.aim(ctx)
        fields = {self.field: {self.inner: aim} if self.inner else aim}
        fields |= {name: ctx.given(name) for name in self.along if ctx.given(name)}
        return Made(physical_id=f"{ident}:{aim}", body=await self.put(ctx, ident, fields))

    async def find(self, ctx: ResourceContext) -> Made | None:
        ident, aim = await self.holder_id(ctx), await self.aim(ctx)
        now = await ctx.cloud.member("network", self.objects, ident)
        return Made(f"{ident}:{aim}", body=now) if self.pointed(now) == aim else None

    async def leave(self, ctx: ResourceContext) -> Made | None:
        """Clear the field, unless it now refers to another object."""
        ident, _, aim = ctx.physical.partition(":")
        try:
            now = await ctx.cloud.member("network", self.objects, ident)
            if self.pointed(now) == aim:
                await self.put(ctx, ident, {self.field: {} if self.inner else None})
        except NotFound:
            pass
        return None

    def pointed(self, body: Mapping[str, Any]) -> Any:
        """Return the id in the field of the object whose body is `body`, or None."""
        value = body.get(self.field)
        return (value or {}).get(self.inner) if self.inner else value

    async def put(self, ctx: ResourceContext, ident: str, fields: Body) -> Body:
        """Send an update of the object `ident` with these fields, and return its body."""
        path = f"{self.objects}/{segment(ident)}"
        answer = await ctx.cloud.request(
            "network", "PUT", path, json={self.body: fields}, idempotent=True
        )
        return answer.part(self.body)

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current target; None if the field is empty, or refers to something else and
        no property names the target.
        """
        body, (_, _, aim) = await self.show(ctx) or {}, ctx.physical.partition(":")
        now = self.pointed(body)
        if not now or (not self.target and now != aim):
            return None
        names = {self.target, *self.along} & self.properties.keys()
        values = {n: v for n, v in self.observed(ctx, body).items() if n in names}
        if self.target:
            values[self.target] = ctx.given(self.target) if now == aim else now
            values[self.holder] = ctx.given(self.holder)  # its field was read
        return values

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await ctx.cloud.member("network", self.objects, ctx.physical.partition(":")[0])
