"""OS::Keystone::UserRoleAssignment and OS::Keystone::GroupRoleAssignment, and roles of users."""

from collections.abc import Mapping
from typing import Any

from hearth.cloud.path import filled_path, segment
from hearth.resources.base import ResourceContext
from hearth.resources.parts import Call, Part, Whole
from hearth.resources.tie import Tie
from hearth.schema import (
    LIST,
    MAP,
    STRING,
    AtLeastOne,
    AtMostOne,
    Each,
    Prop,
    Resolve,
    Support,
)

ROLES = Prop(
    LIST,
    "Roles of the user or the group.",
    update_allowed=True,
    schema=Prop(
        MAP,
        schema={
            "domain": Prop(STRING, "The domain, by name or id.", constraint="keystone.domain"),
            "project": Prop(STRING, "The project, by name or id.", constraint="keystone.project"),
            "role": Prop(
                STRING, "The role, by name or id.", required=True, constraint="keystone.role"
            ),
        },
    ),
)
ROLE_NAMES = (
    Resolve(("roles", "role"), "keystone.role"),
    Resolve(("roles", "project"), "keystone.project"),
    Resolve(("roles", "domain"), "keystone.domain"),
)
ONE_PLACE = (Each("roles", AtMostOne("project", "domain"), AtLeastOne("project", "domain")),)


class Roles(Part, frozen=True, kw_only=True):
    """The role assignments in the property `roles`, as a part of a user or group.

    An update removes the assignments that the template no longer contains.
    """

    assignee: str  # users/ID or groups/ID
    property: str = "roles"

    async def settle(self, kind: Whole, ctx: ResourceContext) -> None:
        paths = self._paths(ctx, ctx.properties)
        for path in sorted(paths):
            await Call("PUT", path).make(kind, ctx)
        for path in sorted(self._paths(ctx, ctx.before) - paths):
            await Call("DELETE", path, undoes=True).make(kind, ctx)

    async def leave(self, kind: Whole, ctx: ResourceContext) -> None:
        for path in sorted(self._paths(ctx, ctx.properties)):
            await Call("DELETE", path, undoes=True).make(kind, ctx)

    def _paths(self, ctx: ResourceContext, properties: Mapping[str, Any]) -> set[str]:
        """Return the API paths of the role assignments in `properties`."""
        names = {**ctx.properties, **properties, "id": ctx.physical_id}
        paths, assignee = set(), filled_path(self.assignee, names)
        for assignment in properties.get("roles") or []:
            scope = "projects" if assignment.get("project") else "domains"
            scope_path = f"/v3/{scope}/{segment(assignment.get('project') or assignment['domain'])}"
            paths.add(f"{scope_path}/{assignee}/roles/{segment(assignment['role'])}")
        return paths


class RoleAssignment(Tie):
    """Role assignments of a user or group. Assignments that were made elsewhere stay unchanged."""

    service = "identity"
    relations = ONE_PLACE
    known_by = "the user, the role and the place; granting a role again has no effect"


class UserRoleAssignment(RoleAssignment):
    """Roles of a user on projects and domains."""

    type_name = "OS::Keystone::UserRoleAssignment"
    support = Support(version="5.0.0")
    properties = {
        "roles": ROLES,
        "user": Prop(
            STRING,
            "The user, by name or id.",
            required=True,
            update_allowed=True,
            constraint="keystone.user",
        ),
    }
    translation = (Resolve(("user",), "keystone.user"), *ROLE_NAMES)
    part = Roles(assignee="users/{user}")


class GroupRoleAssignment(RoleAssignment):
    """Roles of a group on projects and domains."""

    type_name = "OS::Keystone::GroupRoleAssignment"
    support = Support(version="5.0.0")
    properties = {
        "group": Prop(
            STRING,
            "The group, by name or id.",
            required=True,
            update_allowed=True,
            constraint="keystone.group",
        ),
        "roles": ROLES,
    }
    translation = (Resolve(("group",), "keystone.group"), *ROLE_NAMES)
    part = Roles(assignee="groups/{group}")
