"""Types that translate their properties and delegate the work to another type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from hearth.cloud.fault import CloudFault
from hearth.model.span import Span
from hearth.resources.base import ResourceContext, Step
from hearth.resources.capabilities import Observable
from hearth.schema import Findings, coerce_all

T = TypeVar("T")
TAKEN_OVER = (
    "service",
    "identified_by",
    "known_by",
    "visibility_delay_s",
    "holds_data",
    "undescribed",
    "orphan_prefixes",
)


class AdapterType(Observable):
    """A resource type that delegates all its work to another type, the class attribute `adapted`.

    A subclass has its own properties and attributes and translates them (`translate`,
    `attributes_of`). Steps that it adds itself get a context with its own properties, not with the
    translated ones.
    """

    adapted: ClassVar[Observable]
    # properties whose values have another form in `adapted`, with what turns these back
    turned_back: ClassVar[Mapping[str, Callable[[Any], Any]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        for name in TAKEN_OVER if "adapted" in vars(cls) else ():
            if name not in vars(cls):
                setattr(cls, name, getattr(cls.adapted, name))
        super().__init_subclass__(**options)

    def translate(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> Mapping[str, Any]:
        """Translate this type's properties into properties of the type `adapted`.

        Entries whose value is null are ignored.
        """
        raise NotImplementedError(self.type_name)

    def attributes_of(self, ctx: ResourceContext, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return this type's attributes as {name: value}, computed from a response body of the
        service.
        """
        return {}

    def adapted_context(self, ctx: ResourceContext) -> ResourceContext:
        """Return a copy of `ctx` for the type `adapted`, with the translated properties and their
        changes.
        """
        after = self._complete(ctx, ctx.properties)
        before = self._complete(ctx, self._valid(ctx.before)) if ctx.before else {}
        tried = self._complete(ctx, self._valid(ctx.attempted)) if ctx.attempted else {}
        names = {*after, *before} if ctx.before else ()
        differing = {name for name in names if after.get(name) != before.get(name)}
        if ctx.changed:  # the values may be the same, and the object has others
            determined = self._determined(ctx)
            for name in ctx.changed:
                theirs = determined.get(name, set())
                differing |= set() if theirs & differing else theirs
        return replace(
            ctx, kind=self.adapted, properties=after, before=before, attempted=tried,
            changed=frozenset(differing),
        )  # fmt: skip

    def _complete(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> dict[str, Any]:
        usual = {n: p.default for n, p in self.adapted.properties.items() if p.has_default}
        translated = self.translate(ctx, properties)
        return {**usual, **{name: value for name, value in translated.items() if value is not None}}

    def _valid(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Return the properties with null for values that are not valid: `observe` may have found
        them.
        """
        values = {}
        for name, value in properties.items():
            if name not in self.properties:
                continue
            findings = Findings()
            coerce_all({name: self.properties[name]}, {name: value}, Span(), findings)
            values[name] = None if findings.problems else value
        return values

    async def inner_context(self, ctx: ResourceContext) -> ResourceContext:
        """Return the context that is passed to a step of the type `adapted`.

        A subclass may override this method to add property values that it reads from the cloud.
        """
        return self.adapted_context(ctx)

    def through(self, steps: Sequence[Step]) -> tuple[Step, ...]:
        """Wrap steps of the type `adapted` so that they accept a context of this type."""
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
            return await act(await self.inner_context(ctx))

        return bound

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.create_steps(self.adapted_context(ctx)))

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.update_steps(self.adapted_context(ctx)))

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.delete_steps(self.adapted_context(ctx)))

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self.through(self.adapted.check_steps(self.adapted_context(ctx)))

    async def busy(self, ctx: ResourceContext, fault: CloudFault) -> bool:
        return await self.adapted.busy(self.adapted_context(ctx), fault)

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        return await self.adapted.replace_failed(self.adapted_context(ctx))

    async def used_by(self, ctx: ResourceContext) -> Sequence[str]:
        return await self.adapted.used_by(self.adapted_context(ctx))

    def at_rest(self, body: Mapping[str, Any]) -> bool:
        return self.adapted.at_rest(body)

    def is_dead(self, body: Mapping[str, Any]) -> bool:
        return self.adapted.is_dead(body)

    async def observe(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current values of those properties that determine properties of the type
        `adapted` alone; None if the object is gone.

        The value of a property that differs is in the words of the type `adapted`, if `turned_back`
        does not have the property.
        """
        inner = await self.inner_context(ctx)
        current = await self.adapted.observe(inner)
        if current is None:
            return None
        values = {}
        for name, theirs in self._determined(ctx).items():
            if theirs and theirs <= current.keys():
                differing = {n: current[n] for n in theirs if current[n] != inner.properties.get(n)}
                new_value = next(iter(differing.values())) if len(differing) == 1 else differing
                value = self.turned_back.get(name, _unchanged)(new_value)
                values[name] = value if differing else ctx.properties[name]
        return values

    def _determined(self, ctx: ResourceContext) -> dict[str, set[str]]:
        """Return for each property which properties of the type `adapted` it determines alone.

        A property that shares one with another property has none.
        """
        properties = {n: v for n, v in ctx.properties.items() if v is not None}
        complete = self._complete(ctx, properties)
        determined: dict[str, set[str]] = {}
        for name in properties:
            less = self._complete(ctx, {**properties, name: None})
            names = complete.keys() | less.keys()
            determined[name] = {inner for inner in names if complete.get(inner) != less.get(inner)}
        counts = Counter(inner for names in determined.values() for inner in names)
        return {
            name: names if all(counts[inner] == 1 for inner in names) else set()
            for name, names in determined.items()
        }

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await self.adapted.show(await self.inner_context(ctx))

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "show":
            return await self.adapted.attribute(await self.inner_context(ctx), name)
        return self.attributes_of(ctx, ctx.body or await self.show(ctx) or {}).get(name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return dict(self.attributes_of(ctx, ctx.body)) if ctx.body else {}

    def key_in_words(self) -> str:
        return self.known_by or self.adapted.key_in_words()

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        return await self.adapted.orphans(await self.inner_context(ctx))

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        await self.adapted.delete_orphan(await self.inner_context(ctx), physical_id)


def _unchanged(value: Any) -> Any:
    return value
