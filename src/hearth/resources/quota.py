"""What a project may have of a service whose limits stand at /os-quota-sets/PROJECT."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault
from hearth.resources.base import IntentKey, Live, Made, Progress, Ready, ResourceType, Step
from hearth.resources.collection import forgiving
from hearth.schema import INTEGER, STRING, Prop, Range, Support

PROJECT = Prop(STRING, "The project, by name or id.", required=True, constraint="keystone.project")


class QuotaSet(ResourceType):
    """Limits of a project; those that are not named stay as they are. -1 stands for no limit."""

    checks_usage: ClassVar[bool] = False  # what is below the usage is refused here
    identified_by = IntentKey.NATURAL_KEY
    known_by = "the project's only set of limits; to set it again changes nothing"

    def check_properties(self, properties: Mapping[str, Any]) -> Iterable[str]:
        names = sorted(self.properties.keys() - {"project"})
        if not properties.keys() & names:
            yield f"one of these properties is needed: {', '.join(names)}"

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("limit", self.limit),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("limit", self.limit),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("reset", self.reset),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.nothing, poll=self.checked),)

    async def limit(self, live: Live) -> Made:
        """Set the limits; those taken away from the template get the default again."""
        wanted = limits(live.properties)
        if lost := limits(live.before).keys() - wanted.keys():
            defaults = (await self.call(live, "GET", "/defaults")).items()
            wanted = {**{name: value for name, value in defaults if name in lost}, **wanted}
        if self.checks_usage:
            await self.compare(live, wanted)
        shown = await self.call(live, "PUT", json={"quota_set": wanted})
        return Made(physical_id=live.physical_id or live.physical_name, body=shown)

    async def compare(self, live: Live, wanted: Body) -> None:
        """Refuse limits below what there is already."""
        used = await self.call(live, "GET", "?usage=True")
        for name, limit in sorted(wanted.items()):
            there = used.get(name, {}).get("in_use", 0)
            if 0 <= limit < there:
                words = f"{name}: {limit} is below the {there} in use"
                raise CloudFault(str(self.service), 400, "badRequest", words)

    async def reset(self, live: Live) -> Made | None:
        """Give the project the defaults again, for all limits."""
        await forgiving(self.call(live, "DELETE"))
        return None

    async def nothing(self, live: Live) -> Made | None:
        return None

    async def checked(self, live: Live) -> Progress:
        return Ready(await self.show(live))

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        return await self.call(live, "GET")

    async def observe(self, live: Live) -> Mapping[str, Any] | None:
        now = await self.show(live) or {}
        return {name: now[name] for name in limits(live.properties) if name in now}

    async def call(self, live: Live, method: str, suffix: str = "", json: Any = None) -> Body:
        """A call to the project's set of limits."""
        assert self.service is not None
        path = f"/os-quota-sets/{live.properties['project']}{suffix}"
        answer = await live.cloud.request(self.service, method, path, json=json, idempotent=True)
        return answer.part("quota_set")


def limits(properties: Mapping[str, Any]) -> Body:
    """The limits among the properties."""
    return {k: v for k, v in properties.items() if k != "project" and v is not None}


def limit(words: str, *, since: str | None = None, support: Support | None = None) -> Prop:
    """A property that is a limit."""
    bounds = (Range(min=-1),)
    return Prop(
        INTEGER, words, update_allowed=True, constraints=bounds, since=since, support=support
    )
