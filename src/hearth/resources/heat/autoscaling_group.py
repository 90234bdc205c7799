"""OS::Heat::AutoScalingGroup: members of any type, between a minimum and a maximum size.

Source: docs/spec/groups-and-nesting.md, section 6.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.resources.base import ResourceContext
from hearth.resources.heat.group import (
    COLLECTING,
    MAX_BATCH_SIZE,
    MIN_IN_SERVICE,
    PAUSE_TIME,
    Members,
    Pace,
    by_member,
    checkable,
    known_size,
    references,
    template_of,
)
from hearth.resources.heat.scaling_group import Scalable, sizes_in_order
from hearth.schema import INTEGER, LIST, MAP, Attr, Prop, Range, Support
from hearth.template.members import MEMBER

MEMBER_KEYS = frozenset(
    {"type", "properties", "metadata", "description", "deletion_policy", "update_policy"}
)
"""The keys of a member's definition that have an effect; as in Heat, others are ignored."""


class AutoScalingGroup(Scalable):
    """A group of equal resources whose size is changed by scaling policies."""

    type_name = "OS::Heat::AutoScalingGroup"
    support = Support(version="2014.1")
    member_property = "resource"
    member_keys = MEMBER_KEYS
    min_size, max_size, desired, cooldown = "min_size", "max_size", "desired_capacity", "cooldown"
    properties = {
        "cooldown": Prop(
            INTEGER, "Cool-down after a scaling action, in seconds.", update_allowed=True
        ),
        "desired_capacity": Prop(
            INTEGER,
            "Number of members after the create and after each update.",
            update_allowed=True,
        ),
        "max_size": Prop(
            INTEGER,
            "Maximum number of members.",
            required=True,
            nullable=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "min_size": Prop(
            INTEGER,
            "Minimum number of members.",
            required=True,
            nullable=True,
            update_allowed=True,
            constraints=(Range(min=0),),
        ),
        "resource": Prop(
            MAP, "Definition of a member, as in a template.", required=True, update_allowed=True
        ),
        "rolling_updates": Prop(
            MAP,
            "Policy for changes of members.",
            default={"max_batch_size": 1, "min_in_service": 0, "pause_time": 0},
            update_allowed=True,
            schema={
                "max_batch_size": MAX_BATCH_SIZE,
                "min_in_service": MIN_IN_SERVICE,
                "pause_time": PAUSE_TIME,
            },
        ),
    }
    relations = sizes_in_order("min_size", "desired_capacity", "max_size")
    attributes = {
        "current_size": Attr(INTEGER, "Number of members without a failure.", since="2015.1"),
        "outputs": Attr(MAP, "An attribute of every member, by name.", since="2014.2"),
        "outputs_list": Attr(LIST, "An attribute of every member.", since="2014.2"),
        "refs": Attr(LIST, "References of the members.", since="7.0.0"),
        "refs_map": Attr(MAP, "References of the members, by name.", since="7.0.0"),
    }

    def member(self, ctx: ResourceContext) -> Mapping[str, Any]:
        return effective(ctx.properties["resource"])

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        """Return a template with one member as an example of all members, for validation.

        Returns None if the group is empty or its definition is not known yet.
        """
        return self.sample(properties) if self.nested_copies(properties) else None

    def sample(self, properties: Mapping[str, Any]) -> dict[str, Any] | None:
        member = checkable(properties.get("resource"))
        return None if member is None else template_of({"0": effective(member)})

    def nested_copies(self, properties: Mapping[str, Any]) -> int:
        return known_size(properties.get("desired_capacity") or properties.get("min_size"))

    def pace(self, ctx: ResourceContext) -> Pace | None:
        if "resource" not in ctx.changed:
            return None
        policy = ctx.properties["rolling_updates"]
        return Pace(policy["max_batch_size"], policy["min_in_service"], policy["pause_time"])

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        names = self.ordered(ctx.members)
        outputs = by_member(ctx.members, names)
        refs = references(ctx.members, names)
        return {
            "current_size": len(names),
            "outputs": outputs,
            "outputs_list": {name: list(values.values()) for name, values in outputs.items()},
            "refs": refs,
            "refs_map": dict(zip(names, refs, strict=True)),
        }

    def of_members(self, attribute_path: Sequence[Any]) -> str | None:
        """Return the needed attribute of the members; an unknown attribute of the group is null."""
        is_collected = (
            str(attribute_path[0]).startswith(MEMBER) or attribute_path[0] in COLLECTING
            if attribute_path
            else False
        )
        return super().of_members(attribute_path) if is_collected else None

    def numbered(self, members: Members) -> Members:
        return {str(i): members[name] for i, name in enumerate(self.ordered(members))}


def effective(member: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a member's definition that has an effect."""
    return {key: value for key, value in member.items() if key in MEMBER_KEYS}
