"""OS::Heat::ResourceGroup: equal members, named by number. Source: groups-and-nesting.md, 3."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hearth.resources.base import Child, Live
from hearth.resources.heat.template_resource import NestedType, of_member
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    NUMBER,
    STRING,
    AllowedValues,
    Attr,
    Length,
    Prop,
    Range,
    Support,
)
from hearth.template import walk

VERSION = "2021-04-16"
REMOVED = "name_blacklist"  # private data; the key that Heat uses


class ResourceGroup(NestedType):
    """Makes a number of equal resources, differing in their index only."""

    type_name = "OS::Heat::ResourceGroup"
    member_property = "resource_def"
    support = Support(version="2014.1")
    properties = {
        "count": Prop(
            INTEGER,
            "How many members.",
            default=1,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "index_var": Prop(
            STRING,
            "Text that stands for the index of a member.",
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
            "Whether the removed names are kept or decided anew each time.",
            default="append",
            update_allowed=True,
            constraints=(AllowedValues(["append", "update"]),),
            since="10.0.0",
        ),
        "resource_def": Prop(
            MAP,
            "What each member is.",
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
        "removed_rsrc_list": Attr(LIST, "Names no longer used.", since="7.0.0"),
    }
    update_policy = {
        "batch_create": Prop(
            MAP,
            "Create in batches.",
            schema={
                "max_batch_size": Prop(
                    INTEGER, "Members at a time.", default=1, constraints=(Range(min=1),)
                ),
                "pause_time": Prop(
                    NUMBER, "Seconds between batches.", default=0, constraints=(Range(min=0),)
                ),
            },
            since="5.0.0",
        ),
        "rolling_update": Prop(
            MAP,
            "Update in batches.",
            schema={
                "max_batch_size": Prop(
                    INTEGER, "Members at a time.", default=1, constraints=(Range(min=1),)
                ),
                "min_in_service": Prop(
                    INTEGER,
                    "Members that stay as they are meanwhile.",
                    default=0,
                    constraints=(Range(min=0),),
                ),
                "pause_time": Prop(
                    NUMBER, "Seconds between batches.", default=0, constraints=(Range(min=0),)
                ),
            },
            since="5.0.0",
        ),
    }

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        """One member stands for all; none when the count is zero."""
        if properties.get("count") == 0 or not properties.get("resource_def"):
            return None
        return definition(properties, ["0"])

    def nested_copies(self, properties: Mapping[str, Any]) -> int:
        count = properties.get("count")
        return 1 if count is None else int(count)

    def child(self, live: Live) -> Child:
        removed = removed_names(live)
        names = member_names(int(live.properties["count"]), removed)
        return Child(
            template=definition(live.properties, names),
            data={REMOVED: json.dumps(removed)},
        )

    def recordable(self, live: Live) -> dict[str, Any]:
        members = dict(sorted(live.members.items(), key=lambda one: _order(one[0])))
        removed = json.loads(live.data.get(REMOVED, "[]"))
        shown: dict[str, Any] = {
            "removed_rsrc_list": removed,
            "refs": [one["reference"] for one in members.values()],
            "refs_map": {name: one["reference"] for name, one in members.items()},
            "attributes": {},
        }
        for name, one in members.items():
            for attribute, value in one["attributes"].items():
                shown["attributes"].setdefault(attribute, {})[name] = value
        return shown

    async def attribute(self, live: Live, name: str) -> Any:
        if name.startswith("resource."):
            return of_member(live.members, name)
        shown = self.recordable(live)
        if name in shown:
            return shown[name]
        names = sorted(live.members, key=_order)
        return [live.members[one]["attributes"].get(name) for one in names]

    def within(self, attribute: str, value: Any, path: Sequence[Any]) -> Any:
        """What stands at the path: with each member, where the attribute is theirs."""
        if attribute == "attributes":
            by_name, path = walk(value, path[:1]), path[1:]
            if not isinstance(by_name, Mapping):
                return None
            return {name: walk(one, path) for name, one in by_name.items()}
        if attribute in self.attributes or not isinstance(value, list):
            return walk(value, path)
        return [walk(one, path) for one in value]


def removed_names(live: Live) -> list[str]:
    """Names that are not to be used, after the policies of now."""
    kept = [str(name) for name in json.loads(live.data.get(REMOVED, "[]"))]
    wanted = [
        str(one)
        for policy in live.given("removal_policies") or []
        for one in policy.get("resource_list") or []
    ]
    if live.physical_id is not None:
        known = {**{name: name for name in kept}, **names_now(live, kept)}
        wanted = [known[one] for one in wanted if one in known]
    if live.given("removal_policies_mode") == "append":
        wanted = [*kept, *wanted]
    return sorted(dict.fromkeys(wanted), key=_order)


def names_now(live: Live, removed: Sequence[str]) -> dict[str, str]:
    """The members as they are, by name and by reference id: {either: name}."""
    found: dict[str, str] = {}
    for name, one in live.members.items():
        if one.get("reference"):
            found[str(one["reference"])] = name
    count = int(live.before.get("count", live.properties["count"]))
    names = list(live.members) or member_names(count, removed)
    return {**found, **{name: name for name in names}}


def member_names(count: int, removed: Iterable[str]) -> list[str]:
    """The first `count` numbers from 0 upwards that are not removed."""
    gone = set(removed)
    names: list[str] = []
    index = 0
    while len(names) < count:
        if str(index) not in gone:
            names.append(str(index))
        index += 1
    return names


def definition(properties: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The template of the child with the given members."""
    wanted = properties["resource_def"]
    mark = properties.get("index_var") or "%index%"
    given = {k: v for k, v in (wanted.get("properties") or {}).items() if v is not None}
    members: dict[str, Any] = {}
    for name in names:
        member: dict[str, Any] = {"type": wanted["type"]}
        if given:
            member["properties"] = indexed(given, mark, name)
        if wanted.get("metadata"):
            member["metadata"] = wanted["metadata"]
        members[name] = member
    return {"heat_template_version": VERSION, "resources": members}


def indexed(value: Any, mark: str, name: str) -> Any:
    """The value with the index variable replaced in every text; keys stay."""
    match value:
        case str():
            return value.replace(mark, name)
        case Mapping():
            return {key: indexed(inner, mark, name) for key, inner in value.items()}
        case list() | tuple():
            return [indexed(inner, mark, name) for inner in value]
        case _:
            return value


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdigit() else (1 << 62, name)
