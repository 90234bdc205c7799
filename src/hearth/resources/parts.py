"""Parts of an object that need separate API calls, declared as data: members, tags, entries of
maps.

Each part belongs to one property. A step that follows the create or update call sets the part; the
step can be repeated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from msgspec import Struct

from hearth.cloud.contract import Body
from hearth.cloud.fault import CloudFault, NotFound
from hearth.cloud.path import filled_path
from hearth.resources.context import Made, ResourceContext, Step


class Whole(Protocol):
    """The resource type whose object has the part. The methods of parts get it as `kind`."""

    service: str | None

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the current body of the object from the service."""

    def as_sent(self, name: str, value: Any) -> Any:
        """Return the value of a property in the form that the service expects."""


class Call(Struct, frozen=True):
    """A declared API call to the service of the type.

    Path and body may contain {id}, {property} and the names that the part adds. A text that
    consists of one such name is replaced by the value itself, of any type.
    """

    method: str
    path: str
    body: Any = None
    again: bool | None = None  # safe to repeat? None: unless it is a POST
    undoes: bool = False  # "not found" is success

    async def make(self, kind: Whole, ctx: ResourceContext, **extra: Any) -> None:
        """Send the call for the object of `ctx`; `extra` are the names that the part adds."""
        names = {**ctx.properties, "id": ctx.physical_id, **extra}
        assert kind.service is not None
        try:
            await ctx.cloud.request(
                kind.service,
                self.method,
                filled_path(self.path, names),
                json=None if self.body is None else filled(self.body, names),
                idempotent=self.method != "POST" if self.again is None else self.again,
            )
        except CloudFault as fault:
            if not (self.undoes and isinstance(fault, NotFound)):
                raise


class Part(Struct, frozen=True, kw_only=True):
    """A part of an object, such as its tags, which separate calls set to a property's value."""

    property: str
    in_create: bool = False  # the create call already sets the part
    unless: str | None = None  # if this property is set, the part is ignored
    emptied: bool = False  # empty the part before the object is deleted

    def at_create(self, ctx: ResourceContext) -> bool:
        """Return whether a create must make calls for this part."""
        return not self.in_create and bool(self.desired(ctx)) and not self._pointless(ctx)

    def at_update(self, ctx: ResourceContext) -> bool:
        """Return whether an update must make calls for this part."""
        return self.property in ctx.changed and not self._pointless(ctx)

    def desired(self, ctx: ResourceContext) -> Any:
        """Return the desired value of the part."""
        return ctx.given(self.property)

    async def settle(self, kind: Whole, ctx: ResourceContext) -> None:
        """Make the calls that set the part to its desired value."""
        raise NotImplementedError

    async def leave(self, kind: Whole, ctx: ResourceContext) -> None:
        """Make the calls that empty the part before the object is deleted."""
        raise NotImplementedError

    def _pointless(self, ctx: ResourceContext) -> bool:
        return self.unless is not None and bool(ctx.given(self.unless))


class Members(Part, frozen=True, kw_only=True):
    """A part whose members are the items of a list property; its calls contain {member}.

    The current members are read from the list call `listing` (the field `field` of each entry), or
    from the list `shown` in the object's body. Without either, the members before the update count
    as current, and all desired members are added again.
    """

    add: Call
    remove: Call
    listing: str | None = None
    field: str = "id"
    shown: str | None = None
    remove_first: bool = False
    others_stay: bool = False  # keep members that the template never named
    own_project: bool = False  # without a list, the stack's project is the member

    def desired(self, ctx: ResourceContext) -> list[str]:
        default = [ctx.stack.project_id] if self.own_project else []
        return list(ctx.given(self.property) or default)

    async def settle(self, kind: Whole, ctx: ResourceContext) -> None:
        desired, before = set(self.desired(ctx)), set(ctx.before.get(self.property) or [])
        before |= set(ctx.attempted.get(self.property) or [])
        now = await self._now(kind, ctx)
        lost = before - desired if now is None else now - desired
        if self.others_stay:
            lost &= before
        if self.remove_first:
            await self._remove(kind, ctx, lost)
        for member in sorted(desired - (now or set())):
            await self.add.make(kind, ctx, member=member)
        if not self.remove_first:
            await self._remove(kind, ctx, lost)

    async def leave(self, kind: Whole, ctx: ResourceContext) -> None:
        try:
            now = await self._now(kind, ctx)
        except NotFound:
            return
        if now is None:
            now = {*self.desired(ctx), *(ctx.attempted.get(self.property) or [])}
        await self._remove(kind, ctx, now)

    async def _now(self, kind: Whole, ctx: ResourceContext) -> set[str] | None:
        if self.shown is not None:
            return set((await kind.show(ctx) or {}).get(self.shown) or [])
        if self.listing is None:
            return None
        assert kind.service is not None
        path = filled_path(self.listing, {**ctx.properties, "id": ctx.physical})
        return {str(row[self.field]) for row in await ctx.cloud.listing(kind.service, path)}

    async def _remove(self, kind: Whole, ctx: ResourceContext, members: Iterable[str]) -> None:
        for member in sorted(members):
            await self.remove.make(kind, ctx, member=member)


class Rows(Part, frozen=True, kw_only=True):
    """A part whose members are the maps in a list property, each with a unique `key`.

    The current members are read from the list `shown` in the object's body, or from the list call
    `listing`, which returns only keys. The calls contain {member}. If `at_once` is true, one call
    adds or removes all members: {members} is the list of maps, {keys} the list of maps {key:
    value}.
    """

    key: str
    add: Call
    remove: Call
    listing: str | None = None
    shown: str | None = None
    at_once: bool = False

    async def settle(self, kind: Whole, ctx: ResourceContext) -> None:
        desired, before = self._rows(kind, ctx.properties), self._rows(kind, ctx.before)
        now = await self._now(kind, ctx, before)
        unchanged = {key for key, row in desired.items() if self._says(now.get(key), row)}
        lost = [row for key, row in now.items() if key not in unchanged]
        await self._make(self.remove, kind, ctx, lost)
        fresh = [row for key, row in desired.items() if key not in unchanged]
        try:
            await self._make(self.add, kind, ctx, fresh)
        except CloudFault as fault:  # an earlier attempt may have added some members
            keys = self.listing is not None and await self._keys(kind, ctx)
            if not (fault.conflict and keys and keys >= {row[self.key] for row in fresh}):
                raise

    async def leave(self, kind: Whole, ctx: ResourceContext) -> None:
        now = await self._now(kind, ctx, self._rows(kind, ctx.properties))
        await self._make(self.remove, kind, ctx, list(now.values()))

    def _rows(self, kind: Whole, properties: Mapping[str, Any]) -> dict[str, Body]:
        rows = kind.as_sent(self.property, properties.get(self.property) or [])
        return {str(row[self.key]): row for row in rows}

    async def _now(
        self, kind: Whole, ctx: ResourceContext, before: Mapping[str, Body]
    ) -> dict[str, Body]:
        """Return the current members by key.

        If the type has no list `shown`, return only current members that the template contains now
        or contained before, also in an update that failed.
        """
        if self.shown is not None:
            rows = (await kind.show(ctx) or {}).get(self.shown) or []
            return {str(row[self.key]): row for row in rows}
        candidates = {
            **self._rows(kind, ctx.properties),
            **self._rows(kind, ctx.attempted),
            **before,
        }
        keys = await self._keys(kind, ctx)
        return {key: row for key, row in candidates.items() if key in keys}

    async def _keys(self, kind: Whole, ctx: ResourceContext) -> set[str]:
        assert self.listing is not None
        assert kind.service is not None
        path = filled_path(self.listing, {**ctx.properties, "id": ctx.physical})
        return {str(row[self.key]) for row in await ctx.cloud.listing(kind.service, path)}

    def _says(self, row: Body | None, desired: Body) -> bool:
        """Return whether the current member `row` has the desired fields; other fields are
        ignored.
        """
        if row is None or self.shown is None:
            return row == desired
        return desired.items() <= row.items()

    async def _make(self, call: Call, kind: Whole, ctx: ResourceContext, rows: list[Body]) -> None:
        if self.at_once and rows:
            keys = [{self.key: row[self.key]} for row in rows]
            await call.make(kind, ctx, members=rows, keys=keys)
        elif not self.at_once:
            for row in rows:
                await call.make(kind, ctx, member=row)


class Entries(Part, frozen=True, kw_only=True):
    """A part that consists of the entries of a map property.

    The call `put` contains {entries} and leaves other entries unchanged. The call `remove` contains
    {entry} and deletes one entry; if there is no such call, `put` sets a removed entry to null.
    """

    put: Call
    remove: Call | None = None

    async def settle(self, kind: Whole, ctx: ResourceContext) -> None:
        desired = {str(k): str(v) for k, v in (ctx.given(self.property) or {}).items()}
        before = {
            **(ctx.attempted.get(self.property) or {}),
            **(ctx.before.get(self.property) or {}),
        }
        obsolete = sorted(before.keys() - desired.keys())
        if self.remove is None:
            entries = {**dict.fromkeys(obsolete), **desired}
        else:
            for entry in obsolete:
                await self.remove.make(kind, ctx, entry=entry)
            entries = dict(desired)
        if entries:
            await self.put.make(kind, ctx, entries=entries)


def steps(kind: Whole, parts: Iterable[Part]) -> Iterator[Step]:
    """Yield a step for each part, which sets the part to its desired value."""
    for part in parts:
        yield Step(part.property.replace("_", "-"), _bound(part.settle, kind))


def leaving(kind: Whole, parts: Iterable[Part]) -> Iterator[Step]:
    """Yield the steps that empty those parts which would prevent the delete of the object."""
    for part in parts:
        if part.emptied:
            yield Step(f"leave-{part.property.replace('_', '-')}", _bound(part.leave, kind))


def calling(kind: Whole, calls: Iterable[Call]) -> Iterator[Step]:
    """Yield a step for each call. The calls must be safe to repeat."""
    for number, call in enumerate(calls, 1):
        yield Step(f"prepare-{number}", _bound(call.make, kind))


def filled(value: Any, names: Mapping[str, Any]) -> Any:
    """Replace each {name} in `value`, at any depth, by its value in `names`."""
    match value:
        case str():
            name = value[1:-1] if value.startswith("{") and value.endswith("}") else ""
            return names[name] if name in names else value.format_map(names)
        case Mapping():
            return {filled(key, names): filled(entry, names) for key, entry in value.items()}
        case list():
            return [filled(entry, names) for entry in value]
    return value


def _bound(
    act: Callable[..., Awaitable[None]], kind: Whole
) -> Callable[[ResourceContext], Awaitable[Made | None]]:
    async def do(ctx: ResourceContext) -> Made | None:
        await act(kind, ctx)
        return None

    return do
