"""Who has which roles where: OS::Keystone::UserRoleAssignment, GroupRoleAssignment, and owners."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth.resources.base import IntentKey, Live, Made, ResourceType, Step
from hearth.resources.collection import forgiving
from hearth.resources.keystone.base import KeystoneResource
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
    "Roles it has.",
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


class Assigned(KeystoneResource):
    """Somebody who has roles: a user or a group."""

    relations = ONE_PLACE

    def after_create(self, live: Live) -> tuple[Step, ...]:
        roles = (Step("roles", self.assign),) if live.given("roles") else ()
        return (*super().after_create(live), *roles)

    def after_update(self, live: Live) -> tuple[Step, ...]:
        roles = (Step("roles", self.assign),) if "roles" in live.changed else ()
        return (*super().after_update(live), *roles)

    async def assign(self, live: Live) -> Made | None:
        """Give the roles wanted, take those of before that are not."""
        who = f"{self.path(live).rpartition('/')[2]}/{live.physical}"
        await reassign(live, paths(who, live.before), paths(who, live.properties))
        return None


class RoleAssignment(ResourceType):
    """Roles for somebody who may have others as well: only those named here are given and taken."""

    holder: ClassVar[str]  # the property that says who: user or group
    service = "identity"
    identified_by = IntentKey.NATURAL_KEY
    known_by = "who has which role where; to give a role again changes nothing"
    relations = ONE_PLACE

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("assign", self.assign),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("assign", self.assign),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("take", self.take),) if live.physical_id else ()

    async def assign(self, live: Live) -> Made:
        """Give the roles wanted, take those of before that are not."""
        await reassign(live, self.held(live.before), self.held(live.properties))
        return Made(physical_id=live.physical_id or live.physical_name)

    async def take(self, live: Live) -> Made | None:
        """Take the roles."""
        await reassign(live, self.held(live.properties), set())
        return None

    def held(self, properties: Mapping[str, Any]) -> set[str]:
        """The URLs of the assignments that some properties ask for."""
        return paths(f"{self.holder}s/{properties.get(self.holder)}", properties)


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
    holder = "user"


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
    holder = "group"


def paths(who: str, properties: Mapping[str, Any]) -> set[str]:
    """The URLs of role assignments; `who` is users/ID or groups/ID."""
    found = set()
    for one in properties.get("roles") or []:
        where = "projects" if one.get("project") else "domains"
        found.add(f"/v3/{where}/{one.get('project') or one['domain']}/{who}/roles/{one['role']}")
    return found


async def reassign(live: Live, before: set[str], wanted: set[str]) -> None:
    """Give the roles wanted, take those of before that are not."""
    for path in sorted(wanted):
        await live.cloud.request("identity", "PUT", path, idempotent=True)
    for path in sorted(before - wanted):
        await forgiving(live.cloud.request("identity", "DELETE", path, idempotent=True))
