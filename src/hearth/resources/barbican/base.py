"""Common parts of the types of the key-manager service; physical ids are URLs.

The service can change only the payload of a secret. Therefore an object keeps the name with which
it was created, and Hearth finds it again by this name.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body, Cloud
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.resources.base import Failed, Made, Progress, ResourceContext
from hearth.resources.capabilities import IntentKey
from hearth.resources.collection import Collection, CollectionResource, id_in

SERVICE = "key-manager"
PAGE = 100


def collection_of(plural: str) -> Collection:
    """Declare a collection of the service: where its objects are and what its bodies look like.

    `plural` is the last part of the path. The list call asks for large pages.
    """
    singular = plural.removesuffix("s")
    return Collection(
        SERVICE,
        f"/v1/{plural}",
        body=singular,
        detail=f"/v1/{plural}?limit={PAGE}",
        id_field=f"{singular}_ref",
        key_field=None,
    )


class BarbicanResource(CollectionResource):
    """Base class of the key-manager types; none of their properties can be updated."""

    service = SERVICE
    identified_by = IntentKey.OWN_NAME
    known_by = "the generated name, which the object keeps"
    keyless_with = frozenset({"name"})
    word: ClassVar[str]

    async def create(self, ctx: ResourceContext) -> Made:
        answer = await ctx.cloud.request(
            SERVICE, "POST", self.collection.path, json=self.fields(ctx)
        )
        return Made(physical_id=id_in(answer.body, self.collection.id_field))

    def progress(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Progress:
        if body.get("status") == "ERROR":
            reason = f"{body.get('error_status_code')} - {body.get('error_reason')}"
            return Failed(f"{self.word} '{ctx.wanted_name}' failed: {reason}", "Error")
        return super().progress(ctx, body)

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        url = self.url(ctx, ctx.physical)
        body: Body = (await ctx.cloud.request(SERVICE, "GET", url)).body
        return body

    def in_url(self, ctx: ResourceContext, physical_id: str) -> str:
        return id_of(physical_id)


def id_of(ref: str) -> str:
    """Return the last segment of a URL, which is the object's id."""
    return ref.rstrip("/").rpartition("/")[2]


async def payload(cloud: Cloud, ref: str) -> Any:
    """Return the payload of a secret as text, or None if it has no payload yet."""
    path = f"/v1/secrets/{segment(id_of(ref))}"
    secret = (await cloud.request(SERVICE, "GET", path)).body
    kind = (secret.get("content_types") or {}).get("default")
    if kind is None:
        return None
    try:
        accept = {"Accept": kind}
        return (await cloud.request(SERVICE, "GET", f"{path}/payload", headers=accept)).body
    except NotFound:
        return None
