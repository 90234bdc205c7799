"""What clusters and cluster templates have in common: bodies without a root key, JSON patches."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Made, ResourceContext
from hearth.resources.collection import Collection, CollectionResource

SERVICE = "container-infra"
MICROVERSION = "1.1"  # every cluster service has it, and it shows `stack_id`


def listed(plural: str, **more: Any) -> Collection:
    """Return the declaration of a collection of the service."""
    return Collection(
        SERVICE,
        f"/{plural}",
        body="",
        id_field="uuid",
        key_field=None,
        microversion=MICROVERSION,
        **more,
    )


class MagnumResource(CollectionResource):
    """An object of the cluster service; updates are JSON patches."""

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
        """Return the object by a call of its own: lists of the service are short."""
        answer = await ctx.cloud.request(
            SERVICE, "GET", self.url(ctx, ctx.physical), microversion=MICROVERSION
        )
        found: Body = answer.body
        return found
