"""Functions that all handlers of Trove share: paths, errors, lookup, pages and checks of bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hearth_devcloud.collection import Check, Collection, Fault, Invalid
from hearth_devcloud.errors_by_kind import by_kind
from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.listing import page
from hearth_devcloud.store import Resource

INSTANCES = "database.instances"
CLUSTERS = "database.clusters"
BACKUPS = "database.backups"
REGION = "RegionOne"
PAGE_SIZE = 20
_KINDS = {
    400: "badRequest",
    401: "unauthorized",
    403: "forbidden",
    404: "itemNotFound",
    405: "badMethod",
    409: "inProgress",
    413: "overLimit",
    422: "unprocessableEntity",
    501: "notImplemented",
}
_WORD = re.compile(r".*[0-9a-zA-Z].*", re.DOTALL)


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Trove."""
    return by_kind(fault, _KINDS, unknown="instanceFault")


def prepare(call: Call) -> None:
    """Remove the project id from the path of a call. Raises Refusal 401 for another project."""
    if call.identity is not None and len(call.segments) > 1:
        if call.segments[1] not in (call.caller.project_id, "flavors", "datastores"):
            raise Refusal(401, message=f"User does not belong to the project {call.segments[1]}.")
        del call.segments[1]


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def missing(name: object) -> Refusal:
    """Return a Refusal with status 404 for the object `name`."""
    return Refusal(404, message=f"Resource {name} cannot be found.")


def admin_only(call: Call) -> None:
    """Raise Refusal 403 unless the caller has the role admin."""
    if not call.caller.is_admin:
        raise Refusal(403, message="User does not have admin privileges.")


def stamp(at: float) -> str:
    """Return a time in seconds since 1970 as UTC text like `2026-01-01T00:00:00`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def links(call: Call, kind: str, ident: str) -> list[Body]:
    """Return the value of the field `links` of an object."""
    project = call.caller.project_id
    return [
        {"rel": "self", "href": f"{call.base}/database/v1.0/{project}/{kind}/{ident}"},
        {"rel": "bookmark", "href": f"{call.base}/database/{kind}/{ident}"},
    ]


def find(call: Call, table: str, ident: str) -> Resource:
    """Return an object of the caller's project. Raises Refusal 404."""
    resource = call.cloud.store.get(table, ident)
    caller = call.caller
    if resource is None or not (caller.is_admin or resource.project_id == caller.project_id):
        raise missing(ident)
    return resource


def mine(call: Call, table: str) -> list[Resource]:
    """Return the objects of the caller's project."""
    rows = call.cloud.store.all(table)
    return [resource for resource in rows if resource.project_id == call.caller.project_id]


def paged(call: Call, key: str, resources: list[Resource]) -> tuple[list[Resource], Body]:
    """Return one page of objects, and a body with a link to the next page if there is one."""
    limit = call.argument("limit") or str(PAGE_SIZE)
    call.query = {**call.query, "limit": [limit]}
    page_resources, has_next = page(resources, call)
    if not has_next:
        return page_resources, {}
    path = f"{call.base}/database/v1.0/{call.caller.project_id}/{key}"
    href = f"{path}?marker={page_resources[-1].id}&limit={limit}"
    return page_resources, {"links": [{"rel": "next", "href": href}]}


def document(call: Call, key: str, collection: Collection, *, creating: bool = True) -> Body:
    """Return the checked fields of the object `key` in the body. Raises Refusal 400."""
    body = call.json()
    if not isinstance(body, dict) or set(body) != {key} or not isinstance(body[key], dict):
        raise bad(f"Validation error: '{key}' is a required property")
    try:
        values = collection.for_create(body[key]) if creating else collection.for_update(body[key])
    except Invalid as error:
        if error.fault is Fault.MISSING:
            message = f"{key} {', '.join(map(repr, error.names))} is a required property"
        else:
            message = f"{key} {error.message}"
        raise bad(f"Validation error: {message}") from None
    return values


def array(call: Call, key: str, check: Check) -> list[Any]:
    """Return the checked items of the list `key` in the body. Raises Refusal 400."""
    body = call.json()
    if not isinstance(body, dict) or set(body) != {key} or not isinstance(body[key], list):
        raise bad(f"Validation error: '{key}' is a required property")
    try:
        return [check(entry) for entry in body[key]]
    except ValueError as error:
        raise bad(f"Validation error: {key} {error}") from None


def word(max_length: int = 255) -> Check:
    """Return a check for a text with at least one letter or digit."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or not _WORD.match(value):
            raise ValueError(f"{value!r} is not a text with a letter or a digit")
        if len(value) > max_length:
            raise ValueError(f"{value!r} is too long")
        return value

    return check


def entries(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """Return a check for an object with these fields, each with a check of its own."""

    def check(value: Any) -> Body:
        if not isinstance(value, dict):
            raise ValueError(f"{value!r} is not an object")
        if missed := sorted(required.keys() - value.keys()):
            raise ValueError(f"{missed[0]!r} is a required property")
        checks = {**required, **optional}
        if unknown := sorted(value.keys() - checks.keys()):
            raise ValueError(f"additional properties are not allowed: {', '.join(unknown)}")
        return {name: checks[name](field) for name, field in value.items()}

    return check


def reference(value: Any) -> str:
    """Return the id in a reference to an object: an id, a number, or a URL that ends with it."""
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value):
        raise ValueError(f"{value!r} is not a reference")
    return str(value).rpartition("/")[2]
