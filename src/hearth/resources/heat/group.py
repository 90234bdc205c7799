"""Common parts of all groups: members in a nested stack, and attributes over the members.

Source: docs/spec/groups-and-nesting.md, sections 3 to 6.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hearth.model.unknown import Unknown, unknown_in
from hearth.resources.base import Child, ResourceContext
from hearth.resources.capabilities import NestedType, of_member
from hearth.resources.heat.batches import Course, batches
from hearth.schema import INTEGER, NUMBER, Prop, Range
from hearth.template import walk
from hearth.template.members import MEMBER, full_attribute

VERSION = "2021-04-16"
TIMEOUT_MINS = 60  # of a stack that says nothing
NO_TIME = "The current update policy will result in stack update timeout."

COLLECTING: Mapping[str, type] = {"attributes": dict, "outputs": dict, "outputs_list": list}
"""The attributes that have an entry for each attribute of the members, and the entry's type."""

Definitions = Mapping[str, Mapping[str, Any]]
Members = Mapping[str, Mapping[str, Any]]

MAX_BATCH_SIZE = Prop(
    INTEGER, "Maximum number of members of a batch.", default=1, constraints=(Range(min=1),)
)
MIN_IN_SERVICE = Prop(
    INTEGER,
    "Minimum number of members that stay in service while others change.",
    default=0,
    constraints=(Range(min=0),),
)
PAUSE_TIME = Prop(NUMBER, "Seconds between batches.", default=0, constraints=(Range(min=0),))


class Pace(Struct, frozen=True):
    """How fast a group changes: members per batch, members that must stay in service, pause in
    seconds.
    """

    batch: int
    in_service: int = 0
    pause_s: float = 0.0

    def course(self, target: int) -> Course:
        """Return the course of a change to the size `target` at this pace."""
        return Course(target, self.batch, self.in_service)


class GroupType(NestedType):
    """Base class of groups: the resource's nested stack consists of members, which may change in
    batches.
    """

    regroups = True
    member_attributes = frozenset({"*"})  # status and reference id of every member

    def ordered(self, members: Members) -> list[str]:
        """Return the names of those members that appear in attributes, in the order in which they
        appear.
        """
        raise NotImplementedError

    def reference(self, ctx: ResourceContext) -> str:
        return ctx.physical_id or ctx.name

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name.startswith("resource."):
            return of_member(self.numbered(ctx.members), name)
        values = self.recordable(ctx)
        if name in values or name in self.attributes:
            return values.get(name)
        return [ctx.members[member]["attributes"].get(name) for member in self.ordered(ctx.members)]

    def sample(self, properties: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a template with one member as an example of all members, even if the group is
        empty; None if the definition of a member is not known.
        """
        return None

    def numbered(self, members: Members) -> Members:
        """Return the members under the names that templates use, for example by number."""
        return members

    def of_members(self, attribute_path: Sequence[Any]) -> str | None:
        """Return the name of the members' attribute that is needed to read an attribute of the
        group; None if none is needed.

        `attribute_path` is the name of the group's attribute and the steps of the path into it.
        """
        name, path = (
            full_attribute(str(attribute_path[0]), attribute_path[1:])
            if attribute_path
            else ("", ())
        )
        if name in COLLECTING:
            return str(path[0]) if path else None
        if name.startswith(MEMBER):
            inner = name.removeprefix(MEMBER).partition(".")[2]
            return inner if inner and not inner.startswith(MEMBER) else None
        return None if not name or name in self.attributes else name

    def within(self, attribute: str, value: Any, path: Sequence[Any]) -> Any:
        """Return the part of an attribute's value at a path.

        For an attribute that collects a value from each member, the path is applied to each value.
        Without members, every such value is empty.
        """
        if attribute in COLLECTING:
            if path and value == {}:
                return COLLECTING[attribute]()
            value, path = walk(value, path[:1]), path[1:]
        elif attribute in self.attributes or attribute.startswith("resource."):
            return walk(value, path)
        match value:
            case Mapping():
                return {name: walk(entry, path) for name, entry in value.items()}
            case list():
                return [walk(entry, path) for entry in value]
            case _:
                return walk(value, path)


def references(members: Members, names: Iterable[str]) -> list[Any]:
    """Return the reference ids of the members `names`, in this order."""
    return [members[name]["reference"] for name in names]


def by_member(members: Members, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the attributes of the members as {attribute: {member: value}}."""
    attributes: dict[str, dict[str, Any]] = {}
    for name in names:
        for attribute, value in members[name]["attributes"].items():
            attributes.setdefault(attribute, {})[name] = value
    return attributes


def known_size(size: Any, otherwise: int = 1) -> int:
    """Return a size as a number, or `otherwise` if it is missing, not known yet, or no number: that
    is the problem of another check.
    """
    try:
        return otherwise if isinstance(size, Unknown) else int(size)
    except (OverflowError, TypeError, ValueError):
        return otherwise


def checkable(member: Any) -> dict[str, Any] | None:
    """Return the part of a member's definition that can be validated.

    Return None if the definition or its type is not known yet.

    Properties and metadata may contain values that are not known yet. Other keys with such values
    are omitted.
    """
    if not isinstance(member, Mapping) or isinstance(member.get("type"), Unknown):
        return None
    within = ("properties", "metadata")
    return {k: v for k, v in member.items() if k in within or unknown_in(v) is None}


def template_of(definitions: Definitions, *, refs: bool = False) -> dict[str, Any]:
    """Return a template whose resources are `definitions`.

    If `refs` is true, the template has the output `refs_map`: {member name: reference id}. Clients
    use it to choose members to remove.
    """
    template: dict[str, Any] = {"heat_template_version": VERSION, "resources": dict(definitions)}
    if refs:
        refs_by_name = {name: {"get_resource": name} for name in definitions}
        template["outputs"] = {"refs_map": {"value": refs_by_name}}
    return template


def as_stored(definition: Any) -> Any:
    """Return a definition as it is after storing it as JSON and loading it again."""
    return json.loads(json.dumps(definition))


def demand_time(
    ctx: ResourceContext, pace: Pace, course: Course, size: int, renewed: int, *, by_index: bool
) -> None:
    """Raise ValueError if the pauses between the batches alone take as long as the stack's timeout.

    The arguments are those of `batches`; `pace` contains the length of a pause.
    """
    if not pace.pause_s:
        return
    remaining = sum(1 for _ in batches(course, size, renewed, by_index=by_index))
    limit_s = 60.0 * (ctx.stack.timeout_mins or TIMEOUT_MINS)
    if (remaining - 1) * pace.pause_s >= limit_s:
        raise ValueError(NO_TIME)


def changed_by(before: Definitions, after: Definitions) -> frozenset[str]:
    """Return the names of the members in `before` that `after` changes or removes."""
    return frozenset(name for name, definition in before.items() if after.get(name) != definition)


def stage(
    ctx: ResourceContext,
    after: Definitions,
    data: Mapping[str, str | None],
    *,
    has_next: bool = False,
    pause_s: float = 0.0,
    refs: bool = False,
) -> Child:
    """Return the nested stack for the next batch, whose members are `after`.

    `data` goes to the record's private data. `has_next` means that another batch follows. `pause_s`
    is the pause before this batch. If `refs` is true, the template has an output with the members'
    reference ids.
    """
    touched = changed_by(ctx.definitions, after)
    return Child(
        template_of(after, refs=refs),
        data=data,
        has_next=has_next,
        pause_s=pause_s,
        touched=touched,
    )
