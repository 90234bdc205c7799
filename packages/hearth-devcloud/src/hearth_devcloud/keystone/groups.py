"""Groups and their members."""

from __future__ import annotations

from hearth_devcloud.collection import Collection, Field, text
from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.keystone.people import drop, users
from hearth_devcloud.keystone.rest import Rest, admin_only, find, listed, missing, self_or_admin
from hearth_devcloud.keystone.tokens import end_without_roles
from hearth_devcloud.store import Resource

GROUPS = Collection(
    "identity",
    "groups",
    "group",
    {
        "name": Field(text(64), required=True),
        "domain_id": Field(text(null=True)),
        "description": Field(text(10000, null=True), default=""),
    },
)


class _Groups(Rest):
    def complete(self, call: Call, values: Body, hidden: Body) -> None:
        values["domain_id"] = values["domain_id"] or call.caller.domain_id or "default"
        hidden["users"] = {}
        self.unique(call, None, name=values["name"], domain_id=values["domain_id"])

    def gone(self, call: Call, resource: Resource) -> None:
        drop(call.cloud.store, "assignments", actor=resource.id)
        end_without_roles(call.cloud.store)


def members(call: Call) -> Reply:
    """Handle GET /v3/groups/{id}/users: list the members of a group."""
    admin_only(call)
    group = find(call, "groups", call.ids[0])
    group_users = [find(call, "users", user_id) for user_id in group.hidden["users"]]
    return listed(call, "users", [users.view(call, user) for user in group_users])


def join(call: Call) -> Reply:
    """Handle PUT /v3/groups/{id}/users/{id}: add a user to a group."""
    admin_only(call)
    group, user = find(call, "groups", call.ids[0]), find(call, "users", call.ids[1])
    group.hidden["users"][user.id] = True
    return Reply(204)


def check(call: Call) -> Reply:
    """Handle HEAD of a membership: check whether a user is in a group."""
    self_or_admin(call, call.ids[1])
    if call.ids[1] not in find(call, "groups", call.ids[0]).hidden["users"]:
        raise missing("user in group", call.ids[1])
    return Reply(204)


def leave(call: Call) -> Reply:
    """Handle DELETE of a membership: remove a user from a group."""
    admin_only(call)
    group = find(call, "groups", call.ids[0])
    if group.hidden["users"].pop(call.ids[1], None) is None:
        raise missing("user in group", call.ids[1])
    end_without_roles(call.cloud.store)
    return Reply(204)


def groups_of(call: Call) -> Reply:
    """Handle GET /v3/users/{id}/groups: list the groups of a user."""
    self_or_admin(call, call.ids[0])
    memberships = [
        g for g in call.cloud.store.all(GROUPS.table) if call.ids[0] in g.hidden["users"]
    ]
    return listed(call, "groups", [groups.view(call, group) for group in memberships])


groups = _Groups(GROUPS)

ROUTES: list[Route] = [
    *groups.routes,
    ("GET", "/v3/groups/{}/users", members),
    ("PUT", "/v3/groups/{}/users/{}", join),
    ("HEAD", "/v3/groups/{}/users/{}", check),
    ("DELETE", "/v3/groups/{}/users/{}", leave),
    ("GET", "/v3/users/{}/groups", groups_of),
]
