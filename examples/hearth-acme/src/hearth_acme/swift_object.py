"""Acme::Swift::Object: a text in a Swift container."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from hearth.resources import (
    IntentKey,
    Made,
    Observable,
    Progress,
    Ready,
    ResourceContext,
    Step,
    forgiving,
)
from hearth.schema import STRING, Attr, Length, Prop

SERVICE = "object-store"


class SwiftObject(Observable):
    """A text in a Swift container."""

    type_name = "Acme::Swift::Object"
    service = SERVICE  # a cloud without it cannot have the type, and says so
    properties = {
        "container": Prop(STRING, "Name of the container.", required=True),
        "content": Prop(
            STRING,
            "The text.",
            required=True,
            update_allowed=True,
            constraints=(Length(max=65536),),
        ),
        "content_type": Prop(
            STRING, "Media type of the text.", default="text/plain", update_allowed=True
        ),
        "name": Prop(STRING, "Name of the object.", required=True),
    }
    attributes = {
        "etag": Attr(STRING, "Checksum of the text.", cached=False),
        "url": Attr(STRING, "Where it is."),
    }
    # Container and name say what it is, so a create whose answer got lost is simply made again.
    identified_by = IntentKey.NATURAL_KEY
    known_by = "container and name"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("put", self.put),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("put", self.put),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.remove),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.there),)

    async def put(self, ctx: ResourceContext) -> Made:
        """Write the text; the physical id is the path."""
        path = f"{ctx.given('container')}/{ctx.given('name')}"
        await ctx.cloud.request(
            SERVICE,
            "PUT",
            f"/{quote(path)}",
            data=str(ctx.given("content")),
            headers={"Content-Type": str(ctx.given("content_type"))},
            idempotent=True,
        )
        return Made(physical_id=path)

    async def remove(self, ctx: ResourceContext) -> Made | None:
        """Delete it; what is gone already is fine."""
        path = f"/{quote(ctx.physical)}"
        await forgiving(ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True))
        return None

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def there(self, ctx: ResourceContext) -> Progress:
        """Ready when the service has it; its "not found" fails the check."""
        return Ready(await self.show(ctx))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any]:
        answer = await ctx.cloud.request(SERVICE, "HEAD", f"/{quote(ctx.physical)}")
        return dict(answer.headers)

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        match name:
            case "url":
                return f"{await ctx.cloud.endpoint(SERVICE)}/{quote(ctx.physical)}"
            case "etag":
                return (await self.show(ctx))["etag"]
            case _:
                return await self.show(ctx)
