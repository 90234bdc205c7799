"""Types that translate their properties and delegate the work to another type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault
from hearth.model.span import Span
from hearth.model.state import Action
from hearth.resources.base import ResourceContext, ResourceType, Step
from hearth.schema import Findings, coerce_all

T = TypeVar("T")
TAKEN_OVER = (
    "service",
    "identified_by",
    "known_by",
    "visibility_delay_s",
    "has_show",
    "holds_data",
    "undescribed",
    "strays",
)


class AdapterType(ResourceType):
    """A resource type that delegates all its work to another type, the class attribute `other`.

    A subclass has its own properties and attributes and translates them (`words`, `shown`). Steps
    that it adds itself get a context with its own properties, not with the translated ones.
    """

    other: ClassVar[ResourceType]
    # properties whose values have another form in `other`, with what turns these back
    turned_back: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def __init_subclass__(cls, **more: Any) -> None:
        for name in TAKEN_OVER if "other" in vars(cls) else ():
            if name not in vars(cls):
                setattr(cls, name, getattr(cls.other, name))
        super().__init_subclass__(**more)

    def words(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """Translate this type's properties into properties of the type `other`.

        Entries whose value is null are ignored.
        """
        raise NotImplementedError(self.type_name)

    def shown(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return this type's attributes as {name: value}, computed from a response body of the
        service.
        """
        return {}

    def other_context(self, ctx: ResourceContext) -> ResourceContext:
        """Return a copy of `ctx` for the type `other`, with the translated properties and their
        changes.
        """
        after = self._complete(ctx, ctx.properties)
        before = self._complete(ctx, self._valid(ctx.before)) if ctx.before else {}
        tried = self._complete(ctx, self._valid(ctx.attempted)) if ctx.attempted else {}
        names = {*after, *before} if ctx.before else ()
        changed = {name for name in names if after.get(name) != before.get(name)}
        if ctx.changed:  # the values may be the same, and the object has others
            determined = self._determined(ctx)
            for name in ctx.changed:
                theirs = determined.get(name, set())
                changed |= set() if theirs & changed else theirs
        return replace(
            ctx, kind=self.other, properties=after, before=before, attempted=tried,
            changed=frozenset(changed),
        )  # fmt: skip

    def _complete(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> dict[str, Any]:
        usual = {n: p.default for n, p in self.other.properties.items() if p.has_default}
        given = self.words(ctx, properties)
        return {**usual, **{name: value for name, value in given.items() if value is not None}}

    def _valid(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties with null for values that are not valid: `observe` may have found
        them.
        """
        found = {}
        for name, value in properties.items():
            if name not in self.properties:
                continue
            findings = Findings()
            coerce_all({name: self.properties[name]}, {name: value}, Span(), findings)
            found[name] = None if findings.problems else value
        return found

    async def seen(self, ctx: ResourceContext) -> ResourceContext:
        """Return the context that is passed to a step of the type `other`.

        A subclass may override this method to add property values that it reads from the cloud.
        """
        return self.other_context(ctx)

    def through(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Wrap steps of the type `other` so that they accept a context of this type."""
        return tuple(
            Step(
                step.name,
                self._bound(step.do),
                step.find and self._bound(step.find),
                step.poll and self._bound(step.poll),
            )
            for step in steps
        )

    def _bound(
        self, act: Callable[[ResourceContext], Awaitable[T]]
    ) -> Callable[[ResourceContext], Awaitable[T]]:
        async def bound(ctx: ResourceContext) -> T:
            return await act(await self.seen(ctx))

        return bound

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.other.create_steps(self.other_context(ctx)))

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.other.update_steps(self.other_context(ctx)))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.other.delete_steps(self.other_context(ctx)))

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.other.check_steps(self.other_context(ctx)))

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.other.suspend_steps(self.other_context(ctx)))

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.other.resume_steps(self.other_context(ctx)))

    def handles(self, action: Action) -> bool:
        method = f"{action.value.lower()}_steps"
        own = getattr(type(self), method, None)
        if own is not getattr(AdapterType, method, None):
            return True
        return method in vars(AdapterType) and self.other.handles(action)

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        return await self.other.busy(self.other_context(ctx), fault)

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        return await self.other.replace_failed(self.other_context(ctx))

    async def may_go_first(self, ctx: ResourceContext) -> bool:
        return await self.other.may_go_first(self.other_context(ctx))

    async def used_by(self, ctx: ResourceContext) -> Sequence[str]:
        return await self.other.used_by(self.other_context(ctx))

    def at_rest(self, body: Mapping[str, Any]) -> bool:
        return self.other.at_rest(body)

    def is_dead(self, body: Mapping[str, Any]) -> bool:
        return self.other.is_dead(body)

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current values of those properties that determine properties of the type
        `other` alone; None if the object is gone.

        The value of a property that differs is in the words of the type `other`, if `turned_back`
        does not have the property.
        """
        inner = await self.seen(ctx)
        there = await self.other.observe(inner)
        if there is None:
            return None
        found = {}
        for name, theirs in self._determined(ctx).items():
            if theirs and theirs <= there.keys():
                changed = {n: there[n] for n in theirs if there[n] != inner.properties.get(n)}
                whole = next(iter(changed.values())) if len(changed) == 1 else changed
                own = self.turned_back.get(name, _unchanged)(whole)
                found[name] = own if changed else ctx.properties[name]
        return found

    def _determined(self, ctx: ResourceContext) -> dict[str, set[str]]:
        """Return for each property which properties of the type `other` it determines alone.

        A property that shares one with another property has none.
        """
        given = {n: v for n, v in ctx.properties.items() if v is not None}
        whole = self._complete(ctx, given)
        found: dict[str, set[str]] = {}
        for name in given:
            less = self._complete(ctx, {**given, name: None})
            names = whole.keys() | less.keys()
            found[name] = {one for one in names if whole.get(one) != less.get(one)}
        counts = Counter(one for names in found.values() for one in names)
        return {
            name: names if all(counts[one] == 1 for one in names) else set()
            for name, names in found.items()
        }

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await self.other.show(await self.seen(ctx))

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "show":
            return await self.other.attribute(await self.seen(ctx), name)
        return self.shown(ctx, ctx.body or await self.show(ctx) or {}).get(name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return dict(self.shown(ctx, ctx.body)) if ctx.body else {}

    def location(self, ctx: ResourceContext) -> tuple[str, str, str | None]:
        return self.other.location(self.other_context(ctx))

    def key_in_words(self) -> str:
        return self.known_by or self.other.key_in_words()

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        return await self.other.orphans(await self.seen(ctx))

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        await self.other.delete_orphan(await self.seen(ctx), physical_id)


def _unchanged(value: Any) -> Any:
    return value
