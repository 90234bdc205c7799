"""Common parts of the types of the bare metal service: Hearth chooses the UUID of an object,
updates are JSON patches.
"""

from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault, NotFound
from hearth.resources.base import Made, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource

SERVICE = "baremetal"
MICROVERSION = "1.53"  # the first one with all fields of the types


def collection_of(plural: str, **options: Any) -> Collection:
    """Declare a collection of the service; `plural` is the last part of the path."""
    return Collection(
        SERVICE,
        f"/v1/{plural}",
        body="",
        id_field="uuid",
        key_field=None,
        microversion=MICROVERSION,
        **options,
    )


class IronicResource(CollectionResource):
    """Base class of the types of the bare metal service."""

    service = SERVICE
    identified_by = IntentKey.OWN_ID
    known_by = "its UUID, which is the intent key"

    def fields(self, ctx: ResourceContext) -> Body:
        return {**super().fields(ctx), "uuid": ctx.key}

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        """Return the object whose UUID is the record's intent key, if it exists."""
        try:
            url = self.url(ctx, ctx.key)
            answer = await ctx.cloud.request(SERVICE, "GET", url, microversion=MICROVERSION)
        except NotFound:
            return []
        return [answer.body]

    async def change(self, ctx: ResourceContext, fields: Body) -> Made | None:
        """Send a JSON patch; a field without a value gets the default of the service."""
        patch = [
            {"op": "remove", "path": "/" + name}
            if value is None
            else {"op": "replace", "path": "/" + name, "value": value}
            for name, value in fields.items()
        ]
        answer = await ctx.request("PATCH", json=patch, idempotent=True)
        return Made(body=answer.body)

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a call because it works on the node."""
        return fault.conflict and "is locked by host" in fault.message
