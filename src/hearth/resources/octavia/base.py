"""Common parts of the types of the load-balancer service, which accepts one change at a time.

While a load balancer has a pending change, the service refuses calls to it and its parts. The
engine repeats such a call later.
"""

import re
from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import segment
from hearth.model.state import Action
from hearth.resources.base import ResourceContext
from hearth.resources.collection import Collection, CollectionResource
from hearth.resources.mark import mark

SERVICE = "load-balancer"
BALANCERS = "/v2/lbaas/loadbalancers"
PENDING = re.compile(r"immutable|invalid state", re.IGNORECASE)
BALANCER_ID = re.compile(r"load balancer ([0-9a-f-]{36})", re.IGNORECASE)


def lbaas(plural: str, body: str) -> Collection:
    """Declare a collection of the service; `plural` is the last part of the path."""
    return Collection(
        SERVICE,
        f"/v2/lbaas/{plural}",
        body=body,
        key_field=None,
        status="provisioning_status",
        staying=frozenset({"ERROR"}),
    )


PARENTS = ("listener", "loadbalancer", "pool")


class OctaviaResource(CollectionResource):
    """Base class of load balancers and their parts; a tag contains the intent key."""

    service = SERVICE
    known_by = "a tag, which stays"

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        """Return whether the service refused a call because of a pending change.

        A delete that is refused because the object is in use counts too. A pending change of a load
        balancer that is gone or in an error state does not count, because it never ends.
        """
        if not fault.conflict:
            return False
        if not PENDING.search(fault.message):
            return ctx.action is Action.DELETE
        balancer = BALANCER_ID.search(fault.message)
        return balancer is None or not await _broken(ctx, balancer[1])

    def fields(self, ctx: ResourceContext) -> Body:
        return {**super().fields(ctx), "tags": _tags(ctx)}

    def changed_fields(self, ctx: ResourceContext) -> Body:
        fields = super().changed_fields(ctx)
        if "tags" in fields:
            fields["tags"] = _tags(ctx)
        if "description" in fields:
            fields["description"] = fields["description"] or ""
        return fields

    def observed(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the current values. The service shows the parent as a list of its id."""
        parents = {f"{parent}_id": body.get(f"{parent}s") or [] for parent in PARENTS}
        ids = {name: rows[0]["id"] for name, rows in parents.items() if len(rows) == 1}
        return super().observed(ctx, {**ids, **body})

    async def ours(self, ctx: ResourceContext) -> list[Body]:
        return await self.tagged(ctx, mark(ctx))

    async def tagged(self, ctx: ResourceContext, tag: str) -> list[Body]:
        """Return all objects that have the tag; empty if the parent object is gone."""
        try:
            members = await ctx.cloud.listing(SERVICE, f"{self.path(ctx)}?tags={segment(tag)}")
        except NotFound:  # the parent object is gone
            return []
        return [member for member in members if tag in (member.get("tags") or [])]


def _tags(ctx: ResourceContext) -> list[str]:
    return [*(ctx.given("tags") or []), mark(ctx)]


async def _broken(ctx: ResourceContext, balancer_id: str) -> bool:
    """Return whether a load balancer is gone or in an error state, so that its change never
    completes.
    """
    try:
        body = await ctx.cloud.member(SERVICE, BALANCERS, balancer_id)
    except CloudFault as fault:
        return isinstance(fault, NotFound)
    return body.get("provisioning_status") == "ERROR"
