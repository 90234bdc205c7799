"""Base classes of groups that can be scaled: members have random names and are ordered by age.

Source: docs/spec/groups-and-nesting.md, sections 5 and 6.
"""

import base64
import hashlib
import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, ClassVar

from msgspec import Struct, structs

from hearth.model.state import Action, Status
from hearth.resources.base import Child, ResourceContext
from hearth.resources.heat.adjustment import Bounds
from hearth.resources.heat.group import (
    GroupType,
    Members,
    Pace,
    as_stored,
    demand_time,
    stage,
    template_of,
)
from hearth.schema import NotAbove, Relation

MEMBER = "member"  # private data: what a new member is made of, as JSON
SIZE = "size"  # private data: the desired number of members
NAME_CHARACTERS = 12
PENDING = "scaling"  # private data: a scaling under way
COOLDOWN = "cooldown_end"  # in the metadata: {time: what it was for}


class ScalingGroup(GroupType):
    """Base class of groups of equal members which themselves choose the members to remove."""

    def member(self, ctx: ResourceContext) -> Mapping[str, Any]:
        """Return the desired definition of a member. Raises ValueError if the properties are
        invalid.
        """
        raise NotImplementedError

    def bounds(self, properties: Mapping[str, Any]) -> Bounds:
        """Return the smallest and the largest size of the group."""
        raise NotImplementedError

    def wanted_size(self, properties: Mapping[str, Any], now: int | None) -> int:
        """Return the group's size after a create or update; `now` is the current size, None in a
        create.
        """
        raise NotImplementedError

    def pace(self, ctx: ResourceContext) -> Pace | None:
        """Return the pace at which an update replaces the members, or None to leave them
        unchanged.
        """
        raise NotImplementedError

    def child(self, ctx: ResourceContext) -> Child:
        member = as_stored(self.member(ctx))
        before = ctx.definitions
        now = None
        if ctx.action is not Action.CREATE:
            now = int(ctx.data.get(SIZE, len(before)))
        size = self.wanted_size(ctx.properties, now)
        if ctx.action is Action.ADOPT:  # all that is there is taken in; the next update may differ
            size = len(before)
        data: dict[str, str | None] = {MEMBER: json.dumps(member), SIZE: str(size)}
        if PENDING in ctx.data:  # whatever scales it now is taken over
            data[PENDING] = None
        pace = self.pace(ctx) if ctx.action is Action.UPDATE else None
        if pace is None:
            return stage(ctx, resized(ctx, size, member), data)
        if ctx.at_once:
            return stage(ctx, dict.fromkeys(resized(ctx, size, member), member), data)
        course = pace.course(min(size, len(before)))
        renewed = sum(definition == member for definition in before.values())
        demand_time(ctx, pace, course, len(before), renewed, by_index=False)
        step = course.step(len(before), renewed)
        if step is None:  # all members have the desired definition; only the size may change
            return stage(ctx, resized(ctx, size, member), data, pause_s=pace.pause_s)
        between, changes = step
        after = resized(ctx, between, member)
        changes -= len(after.keys() - before.keys())
        for name in [name for name in after if after[name] != member][:changes]:
            after[name] = member
        renewed = sum(definition == member for definition in after.values())
        has_next = pace.course(min(size, between)).step(between, renewed) is not None
        return stage(ctx, after, data, has_next=has_next or between != size, pause_s=pace.pause_s)

    def next_child(self, ctx: ResourceContext) -> Child | None:
        child = self.child(ctx)
        unchanged = not child.has_next and child.template == template_of(ctx.definitions)
        return None if unchanged else child

    def ordered(self, members: Members) -> list[str]:
        """Return the names of the members that have not failed, oldest first."""
        well = [name for name, member in members.items() if member["status"] != Status.FAILED]
        return sorted(well, key=lambda name: (members[name]["created_at"], name))


class Scaled(Struct, frozen=True):
    """A scaling operation in progress: the size before it, and what to do when it is complete.

    `cooldown_s` and `reason` are for the cooldown, `told` for the notification. `traversal` is the
    traversal of the nested stack.
    """

    before: int
    cooldown_s: float | None
    reason: str
    told: Mapping[str, Any]
    traversal: str

    def text(self) -> str:
        """Return this object as JSON text, for private data."""
        return json.dumps(structs.asdict(self))


def pending(data: Mapping[str, str]) -> Scaled | None:
    """Return the scaling operation in progress that a group's private data contains, or None."""
    return Scaled(**json.loads(data[PENDING])) if PENDING in data else None


class Scalable(ScalingGroup):
    """Base class of groups that scaling policies resize between a minimum and a maximum.

    Subclasses define the names of the properties.
    """

    scalable = True
    min_size: ClassVar[str]
    max_size: ClassVar[str]
    desired: ClassVar[str]
    cooldown: ClassVar[str]

    def bounds(self, properties: Mapping[str, Any]) -> Bounds:
        return Bounds(int(properties[self.min_size]), int(properties[self.max_size]))

    def wanted_size(self, properties: Mapping[str, Any], now: int | None) -> int:
        desired = properties.get(self.desired)
        if now is None:
            return int(desired or properties[self.min_size])
        return self.bounds(properties).within(now if desired is None else int(desired))

    def after_scaling(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        """Return the metadata after the scaling in `ctx.data`; None if the size or metadata is
        unchanged.
        """
        note = pending(ctx.data)
        if note is None or len(self.ordered(ctx.members)) == note.before:
            return None
        rest_s = ctx.given(self.cooldown) if note.cooldown_s is None else note.cooldown_s
        return self.cooled(ctx, rest_s, note.reason)

    def metadata_after(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        size = int(ctx.data.get(SIZE, 0))
        return self.cooled(ctx, ctx.given(self.cooldown), f"ExactCapacity : {size}")

    def cooled(
        self, ctx: ResourceContext, cooldown_s: float | None, reason: str
    ) -> Mapping[str, Any] | None:
        """Return the metadata with the end of a cooldown that starts now, and with its reason.

        Return None if there is no cooldown.
        """
        if not cooldown_s:
            return None
        ends = max(ctx.now + float(cooldown_s), cooldown_end(ctx.metadata))
        until = datetime.fromtimestamp(ends, UTC).isoformat()
        return {**ctx.metadata, COOLDOWN: {until: reason}}

    def scaled(self, ctx: ResourceContext, size: int) -> Child:
        """Return the nested stack with `size` members. It needs only stored data, not the
        properties.
        """
        after = resized(ctx, size, json.loads(ctx.data[MEMBER]))
        return stage(ctx, after, {SIZE: str(size)})


def sizes_in_order(min_size: str, desired: str, max_size: str) -> tuple[Relation, ...]:
    """Return the rules for the sizes of a group, from the names of their properties."""
    ordered = ((0, min_size), (min_size, max_size), (min_size, desired), (desired, max_size))
    return tuple(NotAbove(low, high) for low, high in ordered)


def cooldown_end(metadata: Mapping[str, Any]) -> float:
    """Return the time when the cooldown ends, in seconds since 1970; 0 if there is none."""
    cooldown = metadata.get(COOLDOWN)
    if not isinstance(cooldown, Mapping):
        return 0.0
    ends = [0.0]
    for until in cooldown:
        with suppress(ValueError):
            at = datetime.fromisoformat(str(until))
            ends.append((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())
    return max(ends)


def resized(
    ctx: ResourceContext, size: int, member: Mapping[str, Any]
) -> dict[str, Mapping[str, Any]]:
    """Return the members' definitions after a change to `size`: add members, or remove surplus
    ones.

    Failed members are removed first, then those without the desired definition, then the oldest.
    """

    def staying(name: str) -> tuple[bool, bool, float, str]:
        state = ctx.members.get(name, {})
        well = bool(state) and state["status"] != Status.FAILED
        return well, ctx.definitions[name] == member, state.get("created_at", 0.0), name

    names = sorted(ctx.definitions, key=staying)
    names = names[max(0, len(names) - size) :]
    after = {name: ctx.definitions[name] for name in names}
    while len(after) < size:
        after[new_name(ctx, after)] = member
    return after


def new_name(ctx: ResourceContext, used_names: Collection[str]) -> str:
    """Return a random name that is not in `used_names`."""
    while True:
        digest = hashlib.sha256(ctx.new_id().encode()).digest()
        name = base64.b32encode(digest).decode().lower()[:NAME_CHARACTERS]
        if name not in used_names and name not in ctx.definitions:
            return name
