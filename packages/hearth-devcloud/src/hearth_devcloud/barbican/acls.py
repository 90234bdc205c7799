"""Access control lists of secrets and containers.

A list names users who may read the object. Users of the object's project may read it too, unless
the list disables `project-access`.
"""

from __future__ import annotations

from hearth_devcloud.barbican import base
from hearth_devcloud.barbican.base import bad
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource


def _thing(call: Call) -> Resource:
    resource = base.own(call, call.segments[1])
    if not (call.caller.is_admin or resource.body["creator_id"] == call.caller.user_id):
        raise Refusal(403, message="Forbidden")
    return resource


def _wanted(call: Call) -> Body:
    request = base.given(call)
    rule = request.get("read")
    if request.keys() - {"read"} or not isinstance(rule, dict):
        raise bad("Provided object does not match schema: expected only an object 'read'")
    users, open_ = rule.get("users", []), rule.get("project-access", True)
    if rule.keys() - {"users", "project-access"} or not isinstance(open_, bool):
        raise bad(
            "Provided object does not match schema: 'read' may only have the keys 'users' and "
            "'project-access', which must be true or false"
        )
    if not isinstance(users, list) or not all(isinstance(user, str) for user in users):
        raise bad("Provided object does not match schema: 'users' must be a list of user ids")
    return dict(rule)


def show(call: Call) -> Reply:
    """Handle GET of an access control list. By default, the project may read the object."""
    rule = base.find(call, call.segments[1]).hidden.get("acl")
    return Reply(200, {"read": rule or {"project-access": True}})


def replace(call: Call) -> Reply:
    """Handle PUT of an access control list; reply with status 200 and the URL of the list."""
    return _keep(call, _thing(call), {})


def change(call: Call) -> Reply:
    """Handle PATCH of an access control list; reply with status 200 and the URL of the list."""
    resource = _thing(call)
    return _keep(call, resource, resource.hidden.get("acl") or {})


def _keep(call: Call, resource: Resource, before: Body) -> Reply:
    now = base.stamp(call)
    usual: Body = {"users": [], "project-access": True, "created": now}
    resource.hidden["acl"] = {**usual, **before, **_wanted(call), "updated": now}
    return Reply(200, {"acl_ref": f"{next(iter(base.ref(call, resource).values()))}/acl"})


def drop(call: Call) -> Reply:
    """Handle DELETE of an access control list: restore the default; reply with status 200."""
    _thing(call).hidden.pop("acl", None)
    return Reply(200)


ROUTES: list[Route] = [
    (method, f"/v1/{plural}/{{}}/acl", handler)
    for plural in ("secrets", "containers")
    for method, handler in (("GET", show), ("PUT", replace), ("PATCH", change), ("DELETE", drop))
]
