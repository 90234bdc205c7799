"""Roles of users and groups on projects and domains."""

from __future__ import annotations

from collections.abc import Iterable

from hearth_devcloud import tables
from hearth_devcloud.http import Body
from hearth_devcloud.store import Resource, Store

IMPLIED = {"admin": ("member", "reader"), "member": ("reader",)}


def key(target: str, actor: str, role: str) -> str:
    """Return the id of the role assignment of an actor (user or group) on a target."""
    return f"{target}:{actor}:{role}"


def assign(
    store: Store, kind: str, target: str, actor: str, role: str, **fields: object
) -> Resource:
    """Assign a role on a target to an actor (user or group); return the assignment.

    `kind` is the type of the target: "projects" or "domains".
    """
    body: Body = {"kind": kind, "target": target, "actor": actor, "role": role, **fields}
    assignment = Resource(key(target, actor, role), "identity.assignments", None, body, seed=True)
    return store.insert(assignment)


def roles_on(store: Store, user_id: str, target: str) -> list[str]:
    """Return the ids of a user's roles on a project or domain, without implied roles.

    Roles of the user's groups are included.
    """
    actors = {user_id}
    actors |= {g.id for g in store.all("identity.groups") if user_id in g.hidden.get("users", {})}
    role_ids = [
        assignment.body["role"]
        for assignment in store.where("identity.assignments", target=target)
        if assignment.body["actor"] in actors
    ]
    return list(dict.fromkeys(role_ids))


def has_roles(store: Store, user_id: str, target: str, role_ids: Iterable[str]) -> bool:
    """Return whether a user has all these roles on a project or domain, also as implied roles."""
    return set(role_ids) <= {role.id for role in expanded(store, roles_on(store, user_id, target))}


def expanded(store: Store, role_ids: Iterable[str]) -> list[Resource]:
    """Return the roles with these ids and the roles that they imply; unknown ids are skipped."""
    roles: dict[str, Resource] = {}
    by_name = {resource.body["name"]: resource for resource in store.all(tables.ROLES)}
    for role_id in role_ids:
        role = store.get(tables.ROLES, role_id)
        if role is None:
            continue
        roles[role.id] = role
        for name in IMPLIED.get(role.body["name"], ()):
            if name in by_name:
                roles.setdefault(by_name[name].id, by_name[name])
    return list(roles.values())
