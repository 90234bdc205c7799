"""OS::Heat::ResourceGroup: equal members, named by number.

Source: docs/spec/groups-and-nesting.md, section 3.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hearth.model.state import Action
from hearth.model.unknown import Unknown
from hearth.resources.base import Child, ResourceContext
from hearth.resources.heat.group import (
    MAX_BATCH_SIZE,
    MIN_IN_SERVICE,
    PAUSE_TIME,
    GroupType,
    Members,
    Pace,
    as_stored,
    by_member,
    checkable,
    demand_time,
    known_size,
    references,
    stage,
    template_of,
)
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Length,
    Prop,
    Range,
    Support,
)

REMOVED = "name_blacklist"  # private data; the key that Heat uses


class ResourceGroup(GroupType):
    """Creates a number of resources that differ only in their index."""

    type_name = "OS::Heat::ResourceGroup"
    member_property = "resource_def"
    support = Support(version="2014.1")
    properties = {
        "count": Prop(
            INTEGER,
            "Number of members.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "index_var": Prop(
            STRING,
            "Text that is replaced by the index of each member.",
            default="%index%",
            constraints=(Length(min=3),),
            since="2014.2",
        ),
        "removal_policies": Prop(
            LIST,
            "Members to remove first.",
            default=[],
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "resource_list": Prop(LIST, "Names or references of members.", default=[]),
                },
            ),
            since="2015.1",
        ),
        "removal_policies_mode": Prop(
            STRING,
            "append: names that were removed once are never used again; update: only the current "
            "removal policies count.",
            default="append",
            update_allowed=True,
            constraints=(AllowedValues(["append", "update"]),),
            since="10.0.0",
        ),
        "resource_def": Prop(
            MAP,
            "Definition of a member.",
            required=True,
            update_allowed=True,
            schema={
                "metadata": Prop(MAP, "Metadata of a member.", since="5.0.0"),
                "properties": Prop(MAP, "Properties of a member."),
                "type": Prop(STRING, "Type of a member.", required=True),
            },
        ),
    }
    attributes = {
        "attributes": Attr(MAP, "An attribute of every member, by name.", since="2014.2"),
        "refs": Attr(LIST, "References of the members."),
        "refs_map": Attr(MAP, "References of the members, by name.", since="7.0.0"),
        "removed_rsrc_list": Attr(
            LIST, "Names of removed members, which are not used again.", since="7.0.0"
        ),
    }
    update_policy = {
        "batch_create": Prop(
            MAP,
            "Create in batches.",
            schema={"max_batch_size": MAX_BATCH_SIZE, "pause_time": PAUSE_TIME},
            since="5.0.0",
        ),
        "rolling_update": Prop(
            MAP,
            "Update in batches.",
            schema={
                "max_batch_size": MAX_BATCH_SIZE,
                "min_in_service": MIN_IN_SERVICE,
                "pause_time": PAUSE_TIME,
            },
            since="5.0.0",
        ),
    }

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        """Return a template with one member as an example of all members, for validation.

        Returns None if the count is zero or the definition is not known yet.
        """
        return self.sample(properties) if self.nested_copies(properties) else None

    def sample(self, properties: Mapping[str, Any]) -> dict[str, Any] | None:
        definition = checkable(properties.get("resource_def"))
        if not definition:
            return None
        return template_of(member_definitions({**properties, "resource_def": definition}, 1))

    def nested_copies(self, properties: Mapping[str, Any]) -> int:
        return known_size(properties.get("count"))

    def child(self, ctx: ResourceContext) -> Child:
        return self._stage(ctx, removed_names(ctx))

    def next_child(self, ctx: ResourceContext) -> Child | None:
        child = self._stage(ctx, _removed_before(ctx), again=True)
        now = template_of(ctx.definitions, refs=_removes_by_name(ctx))
        unchanged = not child.has_next and child.template == now
        return None if unchanged else child

    def _stage(
        self, ctx: ResourceContext, excluded: Sequence[str], *, again: bool = False
    ) -> Child:
        """Return the nested stack for the next batch, without the members in `excluded`.

        `again` is true if a batch came before this one. Raises ValueError if the pauses exceed the
        timeout.
        """
        count = int(ctx.properties["count"])
        data = {REMOVED: json.dumps(excluded)}
        refs = _removes_by_name(ctx)
        pace = self._pace(ctx)
        if pace is None:
            every = member_definitions(ctx.properties, count, excluded)
            return stage(ctx, every, data, refs=refs)
        excluded_names = set(excluded)
        before = {
            name: definition
            for name, definition in ctx.definitions.items()
            if name not in excluded_names
        }
        size_max = max(count, len(before)) + min(pace.in_service, count) + pace.batch
        desired = as_stored(member_definitions(ctx.properties, size_max, excluded))
        aims = member_names(count, excluded)
        old = [name for name in aims if before.get(name) != desired[name]]
        course, renewed = pace.course(count), count - len(old)
        demand_time(ctx, pace, course, len(before), renewed, by_index=True)
        step = course.step(len(before), renewed)
        if step is None:
            return stage(ctx, {name: desired[name] for name in aims}, data, refs=refs)
        size, changes = step
        after = {name: before.get(name, desired[name]) for name in member_names(size, excluded)}
        changes -= len(after.keys() - before.keys())
        for name in [name for name in old if name in before][::-1][:changes]:
            after[name] = desired[name]
        outdated = sum(after.get(name) != desired[name] for name in aims)
        has_next = course.step(size, count - outdated) is not None
        pause_s = pace.pause_s if again else 0.0
        return stage(ctx, after, data, has_next=has_next, pause_s=pause_s, refs=refs)

    def _pace(self, ctx: ResourceContext) -> Pace | None:
        """Return the pace of the change, or None if all members change at once."""
        if ctx.at_once:
            return None
        if ctx.action is Action.CREATE:
            policy = ctx.update_policy.get("batch_create")
        else:
            changes = ctx.action is Action.UPDATE and "resource_def" in ctx.changed
            policy = ctx.update_policy.get("rolling_update") if changes else None
        if not policy:
            return None
        return Pace(policy["max_batch_size"], policy.get("min_in_service", 0), policy["pause_time"])

    def ordered(self, members: Members) -> list[str]:
        return sorted(members, key=_order)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        names = self.ordered(ctx.members)
        refs = references(ctx.members, names)
        return {
            "removed_rsrc_list": json.loads(ctx.data.get(REMOVED, "[]")),
            "refs": refs,
            "refs_map": dict(zip(names, refs, strict=True)),
            "attributes": by_member(ctx.members, names),
        }


def _removes_by_name(ctx: ResourceContext) -> bool:
    """Return whether the group has removal policies; clients then need the members' names."""
    return bool(ctx.given("removal_policies"))


def _removed_before(ctx: ResourceContext) -> list[str]:
    return [str(name) for name in json.loads(ctx.data.get(REMOVED, "[]"))]


def removed_names(ctx: ResourceContext) -> list[str]:
    """Return the member names that the removal policies exclude, sorted."""
    excluded = _removed_before(ctx)
    names = [
        str(name)
        for policy in ctx.given("removal_policies") or []
        for name in policy.get("resource_list") or []
    ]
    if ctx.physical_id is not None:
        members_by_name = {**{name: name for name in excluded}, **names_now(ctx, excluded)}
        names = [members_by_name[name] for name in names if name in members_by_name]
    if ctx.given("removal_policies_mode") == "append":
        names = [*excluded, *names]
    return sorted(dict.fromkeys(names), key=_order)


def names_now(ctx: ResourceContext, excluded: Sequence[str]) -> dict[str, str]:
    """Return a map from each member's name, and from its reference id, to the member's name.

    `excluded` contains the names that were removed earlier and are not used again.
    """
    by_reference: dict[str, str] = {}
    for name, member in ctx.members.items():
        if member.get("reference"):
            by_reference[str(member["reference"])] = name
    count = int(ctx.before.get("count", ctx.properties["count"]))
    names = list(ctx.members) or member_names(count, excluded)
    return {**by_reference, **{name: name for name in names}}


def member_names(count: int, excluded: Iterable[str]) -> list[str]:
    """Return the first `count` member names ("0", "1", …) that are not in `excluded`."""
    excluded_names = set(excluded)
    names: list[str] = []
    index = 0
    while len(names) < count:
        if str(index) not in excluded_names:
            names.append(str(index))
        index += 1
    return names


def member_definitions(
    properties: Mapping[str, Any], count: int, excluded: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the desired definitions of the first `count` members that are not in `excluded`, by
    name.
    """
    definition = properties["resource_def"]
    mark = properties.get("index_var") or "%index%"
    member_properties = definition.get("properties")
    if isinstance(member_properties, Mapping):
        member_properties = {k: v for k, v in member_properties.items() if v is not None}
    members: dict[str, Any] = {}
    for name in member_names(count, excluded):
        member: dict[str, Any] = {"type": definition["type"]}
        if member_properties:
            member["properties"] = indexed(member_properties, mark, name)
        if definition.get("metadata"):
            member["metadata"] = definition["metadata"]
        members[name] = member
    return members


def indexed(value: Any, mark: str | Unknown, name: str) -> Any:
    """Return `value` with the index variable `mark` replaced by `name` in every text; keys are
    unchanged.

    If the variable is not known yet, each text becomes Unknown.
    """
    match value:
        case str():
            return mark if isinstance(mark, Unknown) else value.replace(mark, name)
        case Mapping():
            return {key: indexed(inner, mark, name) for key, inner in value.items()}
        case list() | tuple():
            return [indexed(inner, mark, name) for inner in value]
        case _:
            return value


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (1 << 62, name)
