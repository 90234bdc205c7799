"""The API of role assignments: roles of users and groups on projects and domains."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from hearth_devcloud.http import Body, Call, Reply, Route
from hearth_devcloud.keystone.people import roles
from hearth_devcloud.keystone.rest import admin_only, find, link, listed, missing, self_or_admin
from hearth_devcloud.keystone.role_grants import assign, key
from hearth_devcloud.keystone.tokens import end_without_roles
from hearth_devcloud.store import Resource


def _named(call: Call, kind: str, actors: str) -> tuple[Resource, Resource]:
    target = find(call, kind, call.ids[0])
    actor = find(call, actors, call.ids[1])
    return target, actor


def grant(call: Call, kind: str, actors: str) -> Reply:
    """Handle PUT of a role assignment; reply with status 204.

    `kind` is "projects" or "domains", `actors` is "users" or "groups".
    """
    admin_only(call)
    target, actor = _named(call, kind, actors)
    role = find(call, "roles", call.ids[2])
    group = actors == "groups"
    assign(call.cloud.store, kind, target.id, actor.id, role.id, group=group)
    return Reply(204)


def check(call: Call, kind: str, actors: str) -> Reply:
    """Handle HEAD of a role assignment; reply with status 204 if it exists, else 404."""
    admin_only(call)
    _existing(call)
    return Reply(204)


def revoke(call: Call, kind: str, actors: str) -> Reply:
    """Handle DELETE of a role assignment; reply with status 204."""
    admin_only(call)
    call.cloud.store.remove(_existing(call))
    end_without_roles(call.cloud.store)
    return Reply(204)


def granted(call: Call, kind: str, actors: str) -> Reply:
    """Handle GET of the roles that a user or group has on a project or domain."""
    if actors == "users":
        self_or_admin(call, call.ids[1])
    else:
        admin_only(call)
    target, actor = _named(call, kind, actors)
    assignments = call.cloud.store.where("identity.assignments", target=target.id, actor=actor.id)
    granted_roles = [find(call, "roles", assignment.body["role"]) for assignment in assignments]
    return listed(call, "roles", [roles.view(call, role) for role in granted_roles])


def _existing(call: Call) -> Resource:
    assignment = call.cloud.store.get("identity.assignments", key(*call.ids))
    if assignment is None:
        raise missing("role assignment", call.ids[2])
    return assignment


def assignments(call: Call) -> Reply:
    """Handle GET /v3/role_assignments: list the assignments that match the filters."""
    if call.argument("user.id") != call.caller.user_id:
        admin_only(call)
    names = "include_names" in call.query and call.argument("include_names") not in ("0", "False")
    return listed(call, "role_assignments", list(_matching(call, names=names)))


def _matching(call: Call, *, names: bool) -> Iterator[Body]:
    filters = {
        "actor": call.argument("user.id") or call.argument("group.id"),
        "role": call.argument("role.id"),
        "target": call.argument("scope.project.id") or call.argument("scope.domain.id"),
    }
    for assignment in call.cloud.store.all("identity.assignments"):
        body = assignment.body
        if any(value and body[name] != value for name, value in filters.items()):
            continue
        group = body.get("group", False)
        plural = "groups" if group else "users"
        path = f"{body['kind']}/{body['target']}/{plural}/{body['actor']}/roles/{body['role']}"
        yield {
            "links": {"assignment": link(call, path)},
            "scope": {body["kind"][:-1]: _reference(call, body["kind"], body["target"], names)},
            plural[:-1]: _reference(call, plural, body["actor"], names),
            "role": _reference(call, "roles", body["role"], names),
        }


def _reference(call: Call, plural: str, resource_id: str, names: bool) -> Body:
    resource = call.cloud.store.get(f"identity.{plural}", resource_id)
    if not names or resource is None:
        return {"id": resource_id}
    body: Body = {"id": resource_id, "name": resource.body["name"]}
    domain_id = resource.body.get("domain_id")
    domain = call.cloud.store.get("identity.domains", domain_id)
    if domain is not None and plural != "domains":
        body["domain"] = {"id": domain.id, "name": domain.body["name"]}
    return body


def _routes(kind: str, actors: str) -> list[Route]:
    base = f"/v3/{kind}/{{}}/{actors}/{{}}/roles"
    return [
        ("GET", base, partial(granted, kind=kind, actors=actors)),
        ("PUT", base + "/{}", partial(grant, kind=kind, actors=actors)),
        ("HEAD", base + "/{}", partial(check, kind=kind, actors=actors)),
        ("GET", base + "/{}", partial(check, kind=kind, actors=actors)),
        ("DELETE", base + "/{}", partial(revoke, kind=kind, actors=actors)),
    ]


ROUTES: list[Route] = [
    *_routes("projects", "users"),
    *_routes("projects", "groups"),
    *_routes("domains", "users"),
    *_routes("domains", "groups"),
    ("GET", "/v3/role_assignments", assignments),
]
