"""OS::Heat::ResourceChain: resources of several types, created one after another.

Source: docs/spec/groups-and-nesting.md, section 4.
"""

from collections.abc import Mapping
from typing import Any

from hearth.model.unknown import Unknown
from hearth.resources.base import Child, ResourceContext
from hearth.resources.heat.group import (
    GroupType,
    Members,
    by_member,
    checkable,
    references,
    template_of,
)
from hearth.schema import BOOLEAN, LIST, MAP, Attr, Prop, Support


class ResourceChain(GroupType):
    """Creates one resource of each given type, all with the same properties."""

    type_name = "OS::Heat::ResourceChain"
    support = Support(version="6.0.0")
    properties = {
        "concurrent": Prop(
            BOOLEAN, "true: the members are created at the same time.", default=False
        ),
        "resource_properties": Prop(MAP, "Properties of each member."),
        "resources": Prop(
            LIST, "Types of the members.", required=True, nullable=True, update_allowed=True
        ),
    }
    attributes = {
        "attributes": Attr(MAP, "Values of an attribute: a map from member names to values."),
        "refs": Attr(LIST, "References of the members."),
    }

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        """Return a template of the members whose types are known, for validation.

        Returns None if the list of types is empty or not known yet.
        """
        types = properties.get("resources")
        if not types or isinstance(types, Unknown):
            return None
        members = _members(properties)
        checked = {
            name: member for name, member in members.items() if checkable(member) is not None
        }
        for member in checked.values():
            member["depends_on"] = [
                name for name in member.get("depends_on", ()) if name in checked
            ]
        return template_of(checked)

    def child(self, ctx: ResourceContext) -> Child:
        return Child(template_of(_members(ctx.properties)))

    def ordered(self, members: Members) -> list[str]:
        return sorted(members, key=int)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        names = self.ordered(ctx.members)
        return {
            "attributes": by_member(ctx.members, names),
            "refs": references(ctx.members, names),
        }


def _members(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members by number; each depends on the previous one unless `concurrent` is set."""
    shared = properties.get("resource_properties")
    members: dict[str, Any] = {}
    for i, kind in enumerate(properties["resources"]):
        member: dict[str, Any] = {"type": kind}
        if shared:
            member["properties"] = shared
        if i and not properties.get("concurrent"):
            member["depends_on"] = [str(i - 1)]
        members[str(i)] = member
    return members
