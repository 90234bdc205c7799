"""Common parts of clusters and cluster templates: bodies have no root key, updates are JSON
patches.
"""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Made, ResourceContext
from hearth.resources.collection import Collection, CollectionResource

SERVICE = "container-infra"
MICROVERSION = "1.1"  # every cluster service has it, and it shows `stack_id`


def collection_of(plural: str, **options: Any) -> Collection:
    """Declare a collection of the service; `plural` is the last part of the path."""
    return Collection(
        SERVICE,
        f"/{plural}",
        body="",
        id_field="uuid",
        key_field=None,
        microversion=MICROVERSION,
        **options,
    )


class MagnumResource(CollectionResource):
    """Base class of the types of the cluster service; an update is a JSON patch."""

    service = SERVICE

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        patch = [
            {"op": "remove", "path": "/" + name}
            if value is None
            else {"op": "replace", "path": "/" + name, "value": value}
            for name, value in fields.items()
        ]
        await ctx.cloud.request(
            SERVICE,
            "PATCH",
            self.url(ctx, ctx.physical),
            json=patch,
            microversion=MICROVERSION,
            idempotent=True,
        )
        return Made(body=await self.show(ctx))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Fetch the object and return its body. A list of objects does not contain all fields."""
        answer = await ctx.cloud.request(
            SERVICE, "GET", self.url(ctx, ctx.physical), microversion=MICROVERSION
        )
        body: Body = answer.body
        return body
