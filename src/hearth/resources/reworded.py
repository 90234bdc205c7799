"""Types that are another type in other words: properties told anew, the work is that one's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from hearth.cloud.fault import CloudFault
from hearth.model.state import Action
from hearth.resources.base import Live, ResourceType, Step

T = TypeVar("T")
TAKEN_OVER = (
    "service",
    "identified_by",
    "known_by",
    "visibility_delay_s",
    "has_show",
    "undescribed",
)


class Reworded(ResourceType):
    """A type whose resources are those of `other`, with properties and attributes of its own.

    What a subclass adds to the steps sees its own properties.
    """

    other: ClassVar[ResourceType]

    def __init_subclass__(cls, **more: Any) -> None:
        for name in TAKEN_OVER if "other" in vars(cls) else ():
            if name not in vars(cls):
                setattr(cls, name, getattr(cls.other, name))
        super().__init_subclass__(**more)

    def words(self, live: Live, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """The properties of the other type; null ones count as not given."""
        raise NotImplementedError(self.type_name)

    def shown(self, live: Live, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The attributes that a body gives."""
        return {}

    def told(self, live: Live) -> Live:
        """The resource as the other type sees it."""
        after = self._complete(live, live.properties)
        before = self._complete(live, live.before) if live.before else {}
        names = {*after, *before} if live.before else ()
        changed = frozenset(name for name in names if after.get(name) != before.get(name))
        return replace(live, kind=self.other, properties=after, before=before, changed=changed)

    def _complete(self, live: Live, properties: Mapping[str, Any]) -> dict[str, Any]:
        usual = {n: p.default for n, p in self.other.properties.items() if p.has_default}
        given = self.words(live, properties)
        return {**usual, **{name: value for name, value in given.items() if value is not None}}

    async def seen(self, live: Live) -> Live:
        """The same for a call, with what only the cloud can tell."""
        return self.told(live)

    def through(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Steps of the other type as steps of this one."""
        return tuple(
            Step(
                step.name,
                self._bound(step.do),
                step.find and self._bound(step.find),
                step.poll and self._bound(step.poll),
            )
            for step in steps
        )

    def _bound(self, act: Callable[[Live], Awaitable[T]]) -> Callable[[Live], Awaitable[T]]:
        async def bound(live: Live) -> T:
            return await act(await self.seen(live))

        return bound

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return self.through(self.other.create_steps(self.told(live)))

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return self.through(self.other.update_steps(self.told(live)))

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return self.through(self.other.delete_steps(self.told(live)))

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return self.through(self.other.check_steps(self.told(live)))

    def suspend_steps(self, live: Live) -> tuple[Step, ...]:
        return self.through(self.other.suspend_steps(self.told(live)))

    def resume_steps(self, live: Live) -> tuple[Step, ...]:
        return self.through(self.other.resume_steps(self.told(live)))

    def handles(self, action: Action) -> bool:
        method = f"{action.value.lower()}_steps"
        own = getattr(type(self), method, None)
        if own is not getattr(Reworded, method, None):
            return True
        return method in vars(Reworded) and self.other.handles(action)

    async def busy(self, live: Live, fault: CloudFault) -> bool:
        return await self.other.busy(self.told(live), fault)

    async def replace_failed(self, live: Live) -> bool:
        return await self.other.replace_failed(self.told(live))

    async def observe(self, live: Live) -> Mapping[str, Any] | None:
        """Only whether it is still there: the world does not speak in these words."""
        return None if await self.other.observe(await self.seen(live)) is None else {}

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        return await self.other.show(await self.seen(live))

    async def attribute(self, live: Live, name: str) -> Any:
        if name == "show":
            return await self.other.attribute(await self.seen(live), name)
        return self.shown(live, live.body or await self.show(live) or {}).get(name)

    def recordable(self, live: Live) -> dict[str, Any]:
        return dict(self.shown(live, live.body)) if live.body else {}

    def location(self, live: Live) -> tuple[str, str, str | None]:
        return self.other.location(self.told(live))

    def key_in_words(self) -> str:
        return self.known_by or self.other.key_in_words()

    async def strays(self, live: Live) -> Sequence[str]:
        return await self.other.strays(await self.seen(live))

    async def drop_stray(self, live: Live, physical_id: str) -> None:
        await self.other.drop_stray(await self.seen(live), physical_id)
