"""OS::Keystone::User and OS::Keystone::Group."""

from hearth.resources.base import Live, Made, Step
from hearth.resources.collection import Collection, forgiving
from hearth.resources.keystone.roles import ROLE_NAMES, ROLES, Assigned
from hearth.schema import BOOLEAN, LIST, STRING, Attr, Prop, Resolve, Support


class User(Assigned):
    """Somebody who can log in."""

    type_name = "OS::Keystone::User"
    support = Support(version="2015.1")
    properties = {
        "default_project": Prop(
            STRING,
            "Project to work in when none is named.",
            update_allowed=True,
            constraint="keystone.project",
        ),
        "description": Prop(STRING, "What it is for.", default="", update_allowed=True),
        "domain": Prop(
            STRING,
            "The domain, by name or id.",
            default="default",
            update_allowed=True,
            constraint="keystone.domain",
        ),
        "email": Prop(STRING, "Mail address.", update_allowed=True),
        "enabled": Prop(BOOLEAN, "Whether it may be used.", default=True, update_allowed=True),
        "groups": Prop(
            LIST,
            "Groups it belongs to, by name or id.",
            update_allowed=True,
            schema=Prop(STRING, constraint="keystone.group"),
        ),
        "name": Prop(STRING, "Its name; generated when not given.", update_allowed=True),
        "password": Prop(STRING, "Password.", update_allowed=True),
        "roles": ROLES,
    }
    attributes = {
        "default_project_id": Attr(
            STRING, "Id of the project to work in when none is named.", since="9.0.0"
        ),
        "domain_id": Attr(STRING, "Id of its domain.", since="9.0.0"),
        "enabled": Attr(BOOLEAN, "Whether it may be used.", since="9.0.0"),
        "name": Attr(STRING, "Its name.", since="9.0.0"),
        "password_expires_at": Attr(STRING, "When the password ends.", since="9.0.0"),
    }
    translation = (
        Resolve(("domain",), "keystone.domain"),
        Resolve(("default_project",), "keystone.project"),
        Resolve(("groups",), "keystone.group"),
        *ROLE_NAMES,
    )
    collection = Collection("identity", "/v3/users", body="user", update_method="PATCH")
    not_sent = frozenset({"roles", "groups"})
    renamed = {"domain": "domain_id", "default_project": "default_project_id"}

    def after_create(self, live: Live) -> tuple[Step, ...]:
        groups = (Step("groups", self.join),) if live.given("groups") else ()
        return (*groups, *super().after_create(live))

    def after_update(self, live: Live) -> tuple[Step, ...]:
        groups = (Step("groups", self.join),) if "groups" in live.changed else ()
        return (*groups, *super().after_update(live))

    async def join(self, live: Live) -> Made | None:
        """Join the groups wanted, leave those of before that are not."""
        wanted, before = set(live.given("groups") or []), set(live.before.get("groups") or [])
        for group in sorted(wanted):
            path = f"/v3/groups/{group}/users/{live.physical}"
            await live.cloud.request("identity", "PUT", path, idempotent=True)
        for group in sorted(before - wanted):
            path = f"/v3/groups/{group}/users/{live.physical}"
            await forgiving(live.cloud.request("identity", "DELETE", path, idempotent=True))
        return None


class Group(Assigned):
    """Users who share roles."""

    type_name = "OS::Keystone::Group"
    support = Support(version="2015.1")
    properties = {
        "description": Prop(STRING, "What it is for.", default="", update_allowed=True),
        "domain": Prop(
            STRING,
            "The domain, by name or id.",
            default="default",
            update_allowed=True,
            constraint="keystone.domain",
        ),
        "name": Prop(STRING, "Its name; generated when not given.", update_allowed=True),
        "roles": ROLES,
    }
    translation = (
        Resolve(("domain",), "keystone.domain"),
        *ROLE_NAMES,
    )
    collection = Collection("identity", "/v3/groups", body="group", update_method="PATCH")
    not_sent = frozenset({"roles"})
    renamed = {"domain": "domain_id"}
