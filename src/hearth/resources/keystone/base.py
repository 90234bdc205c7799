"""What types of the identity service have in common."""

from collections.abc import Iterable
from typing import Any

from hearth.cloud.contract import Body
from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import CollectionResource, forgiving


class KeystoneResource(CollectionResource):
    """A member of a collection of the identity service; its name is unique in its domain."""

    service = "identity"

    def wanted_key_field(self, live: Live) -> Any:
        """The description is always put right: one that shows a key is no description."""
        return str(live.given("description") or "")

    def changed_fields(self, live: Live) -> Body:
        fields = super().changed_fields(live)
        if "description" in fields and fields["description"] is None:
            fields["description"] = ""
        return fields


class Assigned(KeystoneResource):
    """Somebody who has roles: a user or a group."""

    def after_create(self, live: Live) -> tuple[Step, ...]:
        return (Step("roles", self.assign),) if live.given("roles") else ()

    def after_update(self, live: Live) -> tuple[Step, ...]:
        return (Step("roles", self.assign),) if "roles" in live.changed else ()

    async def assign(self, live: Live) -> Made | None:
        """Give the roles wanted, take those of before that are not."""
        wanted = set(self.assignments(live, live.given("roles") or []))
        before = set(self.assignments(live, live.before.get("roles") or []))
        for path in sorted(wanted):
            await live.cloud.request("identity", "PUT", path, idempotent=True)
        for path in sorted(before - wanted):
            await forgiving(live.cloud.request("identity", "DELETE", path, idempotent=True))
        return None

    def assignments(self, live: Live, roles: Iterable[Any]) -> Iterable[str]:
        """The URLs of role assignments."""
        who = f"{self.path(live).rpartition('/')[2]}/{live.physical}"
        for one in roles:
            where = "projects" if one.get("project") else "domains"
            yield f"/v3/{where}/{one.get('project') or one['domain']}/{who}/roles/{one['role']}"
