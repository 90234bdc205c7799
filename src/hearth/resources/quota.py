"""Quotas of a project in a service. All limits are set, and reset, together."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.resources.base import (
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.schema import INTEGER, STRING, AtLeastOne, Prop, Range, Relation, Resolve, Rule, Support

PROJECT = Prop(STRING, "The project, by name or id.", required=True, constraint="keystone.project")


class Limits(Struct, frozen=True):
    """The API of a service for the limits of a project.

    `path` is the path of the limits without the project, and `body` the root key of their body.
    `usual` is the last part of the path of the default limits; if it is None, the service resets a
    limit that is null. `usage` is the query for the current usage; if it is set, Hearth refuses a
    limit below the usage.
    """

    path: str
    body: str
    usual: str | None
    usage: str | None = None


class QuotaSet(Observable):
    """Base class of quotas. A limit that the template omits stays unchanged; -1 means no limit."""

    limits: ClassVar[Limits] = Limits("/os-quota-sets", "quota_set", usual="defaults")
    translation: Sequence[Rule] = (Resolve(("project",), "keystone.project"),)
    identified_by = IntentKey.NATURAL_KEY
    natural_key = frozenset({"project"})
    known_by = "the only quota set of the project; setting it again has no effect"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        rule: Relation = AtLeastOne(*sorted(cls.properties.keys() - {"project"}))
        cls.relations = (rule,)

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("limit", self.limit),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("limit", self.limit),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("reset", self.reset),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def limit(self, ctx: ResourceContext) -> Made:
        """Set the limits; a limit that is no longer in the template returns to its default."""
        limits = limits_of(ctx.properties)
        if lost := limits_of(ctx.before).keys() - limits.keys():
            usual: Body = dict.fromkeys(lost)
            if self.limits.usual is not None:
                usual = await self.call(ctx, "GET", f"/{self.limits.usual}")
            limits = {**{name: usual[name] for name in lost if name in usual}, **limits}
        if self.limits.usage is not None:
            await self.compare(ctx, limits, self.limits.usage)
        answer = await self.call(ctx, "PUT", json={self.limits.body: limits})
        return Made(physical_id=ctx.physical_id or ctx.physical_name, body=answer)

    async def compare(self, ctx: ResourceContext, limits: Body, query: str) -> None:
        """Raise CloudFault if a limit in `limits` is below the current usage, which is the answer
        to `query`.
        """
        used = await self.call(ctx, "GET", query)
        for name, limit in sorted(limits.items()):
            in_use = used.get(name, {}).get("in_use", 0)
            if 0 <= limit < in_use:
                message = f"{name}: the limit {limit} is below the current usage, {in_use}"
                raise CloudFault(str(self.service), 400, "badRequest", message)

    async def reset(self, ctx: ResourceContext) -> Made | None:
        """Reset all limits of the project to the defaults."""
        await forgiving(self.call(ctx, "DELETE"))
        return None

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def checked(self, ctx: ResourceContext) -> Progress:
        return Ready(await self.show(ctx))

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await self.call(ctx, "GET")

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        now = await self.show(ctx) or {}
        values = {name: now[name] for name in limits_of(ctx.properties) if name in now}
        return {**values, "project": ctx.given("project")}

    async def call(
        self, ctx: ResourceContext, method: str, suffix: str = "", json: Any = None
    ) -> Body:
        """Send a request to the URL of the project's limits, extended by `suffix`, a further path
        or a query. Return the limits in the answer.
        """
        assert self.service is not None
        path = f"{self.limits.path}/{segment(ctx.properties['project'])}{suffix}"
        answer = await ctx.cloud.request(self.service, method, path, json=json, idempotent=True)
        return answer.part(self.limits.body)


def limits_of(properties: Mapping[str, Any]) -> Body:
    """Return the limits in the properties, without null values and without the project."""
    return {k: v for k, v in properties.items() if k != "project" and v is not None}


def limit(description: str, *, since: str | None = None, support: Support | None = None) -> Prop:
    """Declare a property that is a limit: an integer, at least -1, that can be updated.

    `description` describes it, `since` the first release with it.
    """
    bounds = (Range(min=-1),)
    return Prop(
        INTEGER, description, update_allowed=True, constraints=bounds, since=since, support=support
    )
