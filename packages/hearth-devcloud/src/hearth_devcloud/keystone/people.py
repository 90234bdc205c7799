"""The API of domains, projects, users and roles."""

from __future__ import annotations

from hearth_devcloud import tables
from hearth_devcloud.collection import READ_ONLY, Collection, Field, boolean, list_of, mapping, text
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.keystone.rest import Rest, admin_only, bad, find, forbidden, listed
from hearth_devcloud.keystone.role_grants import roles_on
from hearth_devcloud.keystone.tokens import end_without_roles
from hearth_devcloud.store import Resource, Store

_NAME = Field(text(255), required=True)
_ENABLED = Field(boolean, default=True)
_OPTIONS = Field(mapping, default=dict)
_TAGS = Field(list_of(text()), default=list)

DOMAINS = Collection(
    "identity",
    "domains",
    "domain",
    {
        "name": _NAME,
        "description": Field(text(10000, null=True), default=""),
        "enabled": _ENABLED,
        "tags": _TAGS,
        "options": _OPTIONS,
        "explicit_domain_id": Field(text(), update=False),
    },
    extra=True,
)
PROJECTS = Collection(
    "identity",
    "projects",
    "project",
    {
        "name": Field(text(64), required=True),
        "domain_id": Field(text(null=True)),
        "description": Field(text(10000, null=True), default=""),
        "enabled": _ENABLED,
        "parent_id": Field(text(null=True), update=False),
        "is_domain": Field(boolean, default=False, update=False),
        "tags": _TAGS,
        "options": _OPTIONS,
    },
    extra=True,
)
USERS = Collection(
    "identity",
    "users",
    "user",
    {
        "name": _NAME,
        "domain_id": Field(text(null=True)),
        "enabled": _ENABLED,
        "default_project_id": Field(text(null=True)),
        "password": Field(text(4096, null=True)),
        "password_expires_at": READ_ONLY,
        "options": _OPTIONS,
    },
    extra=True,
)
ROLES = Collection(
    "identity",
    "roles",
    "role",
    {
        "name": _NAME,
        "domain_id": Field(text(null=True)),
        "description": Field(text(10000, null=True)),
        "options": _OPTIONS,
    },
    extra=True,
)


def drop(store: Store, table: str, **fields: object) -> None:
    """Remove all objects of an identity table that have the field values in `fields`."""
    for resource in store.where(f"identity.{table}", **fields):
        store.remove(resource)


def drop_user(store: Store, user_id: str) -> None:
    """Remove the roles, trusts, credentials and tokens of a user that is deleted."""
    drop(store, "assignments", actor=user_id)
    drop(store, "trusts", trustor_user_id=user_id)
    drop(store, "trusts", trustee_user_id=user_id)
    for table in ("application_credentials", "access_rules", "credentials", "tokens"):
        drop(store, table, user_id=user_id)


def drop_project(store: Store, project_id: str) -> None:
    """Remove the role assignments, trusts, credentials and tokens of a deleted project.

    It is no longer the default project of users either.
    """
    for user in store.where(tables.USERS, default_project_id=project_id):
        user.body["default_project_id"] = None
    drop(store, "assignments", target=project_id)
    for table in ("trusts", "application_credentials", "credentials", "tokens"):
        drop(store, table, project_id=project_id)


class _Domains(Rest):
    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        self.unique(call, None, name=values["name"])

    def new_id(self, call: Call, values: Body) -> str:
        return values.pop("explicit_domain_id", None) or call.cloud.store.new_hex()

    def may_read(self, call: Call, resource: Resource) -> bool:
        return call.caller.domain_id == resource.id

    def changed(self, call: Call, resource: Resource, changes: Body) -> None:
        if "name" in changes:
            self.unique(call, resource, name=changes["name"])

    def gone(self, call: Call, resource: Resource) -> None:
        if resource.body["enabled"]:
            raise Refusal(403, message="A domain must be disabled before it is deleted.")
        store = call.cloud.store
        for user in store.where(tables.USERS, domain_id=resource.id):
            drop_user(store, user.id)
            store.remove(user)
        for project in store.where("identity.projects", domain_id=resource.id):
            drop_project(store, project.id)
            store.remove(project)
        drop(store, "groups", domain_id=resource.id)
        drop(store, "assignments", target=resource.id)


class _Projects(Rest):
    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        store = call.cloud.store
        parent = values["parent_id"]
        if parent is not None:
            above = store.get("identity.projects", parent) or store.get("identity.domains", parent)
            if above is None:
                raise bad(f"Unknown parent project {parent}")
            values["domain_id"] = values["domain_id"] or above.body.get("domain_id", above.id)
        values["domain_id"] = values["domain_id"] or call.caller.domain_id or "default"
        if store.get("identity.domains", values["domain_id"]) is None:
            raise Refusal(404, message=f"Could not find domain: {values['domain_id']}")
        values["parent_id"] = parent or values["domain_id"]
        self.unique(call, None, name=values["name"], domain_id=values["domain_id"])

    def may_read(self, call: Call, resource: Resource) -> bool:
        return call.caller.project_id == resource.id

    def changed(self, call: Call, resource: Resource, changes: Body) -> None:
        if "name" in changes:
            domain_id = resource.body["domain_id"]
            self.unique(call, resource, name=changes["name"], domain_id=domain_id)

    def update(self, call: Call) -> Reply:
        reply = super().update(call)
        reply.body["project"]["extra"] = {}
        return reply

    def gone(self, call: Call, resource: Resource) -> None:
        drop_project(call.cloud.store, resource.id)


class _Users(Rest):
    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        values["domain_id"] = values["domain_id"] or call.caller.domain_id or "default"
        if call.cloud.store.get("identity.domains", values["domain_id"]) is None:
            raise Refusal(404, message=f"Could not find domain: {values['domain_id']}")
        hidden["password"] = values.pop("password")
        self.unique(call, None, name=values["name"], domain_id=values["domain_id"])

    def may_read(self, call: Call, resource: Resource) -> bool:
        return call.caller.user_id == resource.id

    def changed(self, call: Call, resource: Resource, changes: Body) -> None:
        if "password" in changes:
            resource.hidden["password"] = changes.pop("password")
        if "name" in changes:
            domain_id = resource.body["domain_id"]
            self.unique(call, resource, name=changes["name"], domain_id=domain_id)

    def view(self, call: Call, resource: Resource) -> Body:
        body = super().view(call, resource)
        if body.get("default_project_id") is None:
            body.pop("default_project_id", None)
        return body

    def update(self, call: Call) -> Reply:
        reply = super().update(call)
        names = {*USERS.fields, "id", "links"}
        user = reply.body["user"]
        user["extra"] = {key: value for key, value in user.items() if key not in names}
        return reply

    def gone(self, call: Call, resource: Resource) -> None:
        drop_user(call.cloud.store, resource.id)
        for group in call.cloud.store.all("identity.groups"):
            group.hidden.get("users", {}).pop(resource.id, None)


class _Roles(Rest):
    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        self.unique(call, None, name=values["name"], domain_id=values["domain_id"])

    def may_list(self, call: Call) -> bool:
        return call.caller.project_id is not None

    def may_read(self, call: Call, resource: Resource) -> bool:
        return True

    def gone(self, call: Call, resource: Resource) -> None:
        drop(call.cloud.store, "assignments", role=resource.id)
        end_without_roles(call.cloud.store)


def change_password(call: Call) -> Reply:
    """Handle POST /v3/users/{id}/password: users change their own password."""
    user = find(call, "users", call.ids[0])
    if call.caller.user_id != user.id:
        raise forbidden()
    passwords = call.object("user")
    if passwords.get("original_password") != user.hidden.get("password"):
        raise Refusal(401, message="The original password is wrong.")
    user.hidden["password"] = passwords.get("password")
    return Reply(204)


def projects_of(call: Call) -> Reply:
    """Handle GET /v3/users/{id}/projects: list the projects in which a user has a role."""
    if call.caller.user_id != call.ids[0]:
        admin_only(call)
    return projects_for(call, call.ids[0])


def projects_for(call: Call, user_id: str) -> Reply:
    """Return the reply that lists the projects in which a user has a role."""
    store = call.cloud.store
    allowed_projects = [p for p in store.all("identity.projects") if roles_on(store, user_id, p.id)]
    return listed(call, "projects", [projects.view(call, project) for project in allowed_projects])


projects = _Projects(PROJECTS)
domains = _Domains(DOMAINS)
users = _Users(USERS)
roles = _Roles(ROLES)

ROUTES: list[Route] = [
    *domains.routes,
    *projects.routes,
    *users.routes,
    *roles.routes,
    ("POST", "/v3/users/{}/password", change_password),
    ("GET", "/v3/users/{}/projects", projects_of),
]
