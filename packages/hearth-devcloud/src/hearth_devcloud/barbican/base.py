"""Functions that secrets, containers and orders share: URLs as ids, pagination, access checks."""

from __future__ import annotations

from urllib.parse import urlencode

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.listing import filtered
from hearth_devcloud.store import Resource, stamp_z

_PAGE = 10
_PAGE_MAX = 100
_PAGING = frozenset({"limit", "offset", "sort"})
_OTHER_NAMES = {"alg": "algorithm", "bits": "bit_length"}


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def given(call: Call) -> Body:
    """Return the parsed body of a call. Raises Refusal 400 if it is not a JSON object."""
    request = call.json()
    if not isinstance(request, dict):
        raise bad("Provided object does not match schema: it is not an object")
    return request


def stamp(call: Call) -> str:
    """Return the current time in Barbican's format."""
    return stamp_z(call.cloud.store.time).rstrip("Z")


def new(call: Call, plural: str, body: Body, hidden: Body, *, implicit: bool = False) -> Resource:
    """Store a new object of the caller in the table `plural` and return it."""
    caller, now = call.caller, stamp(call)
    body = {"created": now, "updated": now, "status": "ACTIVE", **body}
    body["creator_id"] = caller.user_id
    resource = Resource(
        call.cloud.store.new_id(), f"key-manager.{plural}", caller.project_id, body, hidden
    )
    return call.cloud.store.insert(resource, implicit=implicit)


def ref(call: Call, resource: Resource) -> Body:
    """Return a map with the URL of an object, under a key such as `secret_ref`."""
    plural = resource.table.partition(".")[2]
    return {f"{plural[:-1]}_ref": f"{call.base}/key-manager/v1/{plural}/{resource.id}"}


def created(call: Call, resource: Resource, status: int = 201) -> Reply:
    """Return the reply to a create request, which contains the URL of the new object."""
    body = ref(call, resource)
    return Reply(status, body, {"Location": next(iter(body.values()))})


def view(call: Call, resource: Resource) -> Body:
    """Return an object as the API shows it."""
    fields = {**resource.body, **ref(call, resource)}
    if resource.hidden.get("payload") is not None:
        fields["content_types"] = {"default": resource.hidden["type"]}
    return fields


def find(call: Call, plural: str, ident: str | None = None) -> Resource:
    """Return an object that the caller may read, by default the one that the path names.

    Raises Refusal 403 or 404.
    """
    resource = call.cloud.store.get(f"key-manager.{plural}", ident or call.ids[0])
    if resource is None:
        raise _missing(plural)
    if may_read(call, resource):
        return resource
    if resource.project_id == call.caller.project_id:
        raise Refusal(403, message="Forbidden")
    raise _missing(plural)


def own(call: Call, plural: str) -> Resource:
    """Return the object that the path names, if it belongs to the caller's project.

    Administrators may access any project. Raises Refusal 403 or 404.
    """
    resource = find(call, plural)
    if call.caller.is_admin or resource.project_id == call.caller.project_id:
        return resource
    raise Refusal(403, message="Forbidden")


def _missing(plural: str) -> Refusal:
    return Refusal(404, message=f"{plural[:-1].capitalize()} not found.")


def may_read(call: Call, resource: Resource) -> bool:
    """Return whether the caller may read an object: by role, project or access control list."""
    caller, rule = call.caller, resource.hidden.get("acl") or {}
    if caller.is_admin or caller.user_id in (*rule.get("users", ()), resource.body["creator_id"]):
        return True
    return resource.project_id == caller.project_id and bool(rule.get("project-access", True))


def listed(call: Call, plural: str) -> Reply:
    """Handle GET of a collection: reply with a page and links to the next and previous ones."""
    query = {_OTHER_NAMES.get(k, k): v for k, v in call.query.items() if k not in _PAGING}
    resources = call.cloud.store.all(f"key-manager.{plural}")
    matching = filtered([t for t in resources if t.project_id == call.caller.project_id], query)
    limit, offset = min(_number(call, "limit", _PAGE), _PAGE_MAX), _number(call, "offset", 0)
    page = matching[offset : offset + limit]
    body: Body = {plural: [view(call, resource) for resource in page], "total": len(matching)}
    path = f"{call.base}/key-manager/v1/{plural}?"
    arguments = {k: v[0] for k, v in call.query.items() if k not in _PAGING}
    if offset + limit < len(matching):
        body["next"] = path + urlencode({"limit": limit, "offset": offset + limit, **arguments})
    if offset > 0:
        before = max(0, offset - limit)
        body["previous"] = path + urlencode({"limit": limit, "offset": before, **arguments})
    return Reply(200, body)


def _number(call: Call, name: str, usual: int) -> int:
    text = call.argument(name) or ""
    return int(text) if text.isdecimal() else usual


def delete(call: Call) -> Reply:
    """Handle DELETE of a secret, container or order; reply with status 204."""
    call.cloud.store.remove(own(call, call.segments[1]))
    return Reply(204)
