"""Functions that all handlers of Manila share: paths, microversions, errors, lists and links."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from hearth_devcloud.collection import Collection, Fault, Invalid
from hearth_devcloud.errors_by_kind import by_kind
from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.microversion import version_in
from hearth_devcloud.store import Resource, stamp_micro

SERVICE = "shared-file-system"
PATH = "/v2"
NEWEST = (2, 65)
OLDEST = (2, 0)
HEADER = "X-OpenStack-Manila-API-Version"
SHARES = f"{SERVICE}.shares"
SNAPSHOTS = f"{SERVICE}.snapshots"
NETWORKS = f"{SERVICE}.share_networks"
SECURITY_SERVICES = f"{SERVICE}.security_services"
TYPES = f"{SERVICE}.types"
RULES = f"{SERVICE}.access_rules"
PAGE_MAX = 1000  # objects in one response
TEXT = {"Content-Type": "text/html; charset=UTF-8"}
_PROJECT = re.compile(r"^[0-9a-f]{32}$")


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Manila."""
    reply = by_kind(fault)
    if fault.status == 413:
        reply.headers["Retry-After"] = "0"
    return reply


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def forbidden(message: str) -> Refusal:
    """Return a Refusal with status 403 and this message."""
    return Refusal(403, message=message)


def missing(kind: str, name: object) -> Refusal:
    """Return a Refusal with status 404; `kind` and `name` identify the missing object."""
    return Refusal(404, message=f"{kind} {name} could not be found.")


_BY_POLICY = "Policy doesn't allow this action to be performed."


def admin_only(call: Call) -> None:
    """Raise Refusal 403 unless the caller has the role admin."""
    if not call.caller.is_admin:
        raise forbidden(_BY_POLICY)


def refuse_reader(call: Call) -> Refusal | None:
    """Return the error for a write of a reader, or None for an action that only lists."""
    if call.segments[-1] == "action":
        body = call.json()
        if isinstance(body, dict) and body.keys() <= {"access_list", "os-access_list"}:
            return None
    return forbidden(_BY_POLICY)


def prepare(call: Call) -> None:
    """Remove the project id from the path of a call with a token, and parse the microversion
    header.
    """
    if call.identity is None:
        return
    if len(call.segments) > 1 and _PROJECT.match(call.segments[1]):
        if call.segments[1] != call.caller.project_id:
            raise bad("Malformed request url")
        del call.segments[1]
    call.version = OLDEST
    text = (call.headers.get(HEADER) or "").strip()
    if text in ("", "latest"):
        call.version = NEWEST if text else OLDEST
        return
    if (version := version_in(text)) is None:
        raise bad(f"API Version String {text} is of invalid format. Must be of format MajorNum.")
    call.version = version
    if not OLDEST <= call.version <= NEWEST:
        lowest, highest = (".".join(map(str, bound)) for bound in (OLDEST, NEWEST))
        message = f"Version {text} is not supported by the API. Minimum is {lowest} and maximum is"
        raise Refusal(406, message=f"{message} {highest}.")


def finish(call: Call, reply: Reply) -> None:
    """Add the microversion to the headers of a reply."""
    major, minor = call.version if call.version != (0, 0) else OLDEST
    reply.headers[HEADER] = f"{major}.{minor}"
    reply.headers["Vary"] = HEADER


def links(call: Call, kind: str, resource_id: str) -> list[Body]:
    """Return the value of the field `links` of an object."""
    tail = f"{call.caller.project_id}/{kind}/{resource_id}"
    return [
        {"rel": "self", "href": f"{call.base}/{SERVICE}{PATH}/{tail}"},
        {"rel": "bookmark", "href": f"{call.base}/{SERVICE}/{tail}"},
    ]


def find(call: Call, table: str, resource_id: object, kind: str) -> Resource:
    """Return an object of the caller's project. Raises Refusal 404."""
    resource = call.cloud.store.get(table, resource_id)
    if resource is None or not (
        call.caller.is_admin or resource.project_id == call.caller.project_id
    ):
        raise missing(kind, resource_id)
    return resource


def flag(call: Call, name: str) -> bool:
    """Return whether a query argument is true."""
    return (call.argument(name) or "").lower() in ("1", "true", "yes", "on")


def mine(call: Call, table: str) -> list[Resource]:
    """Return the objects of the caller's project, newest first.

    For an administrator with the argument `all_tenants`, return the objects of all projects.
    """
    caller = call.caller
    everywhere = caller.is_admin and flag(call, "all_tenants")
    resources = [
        resource
        for resource in call.cloud.store.all(table)
        if everywhere or resource.project_id == caller.project_id
    ]
    resources.reverse()
    return resources


def matching(call: Call, resources: Iterable[Resource], names: Iterable[str]) -> list[Resource]:
    """Return the objects that pass the filters in the query.

    `names` are the fields that can be filters; NAME~ matches a part of the text. The API ignores
    other arguments.
    """
    resources = list(resources)
    for name in names:
        text = call.argument(name)
        if text is not None:
            resources = [resource for resource in resources if str(resource.body.get(name)) == text]
        part = call.argument(f"{name}~") if call.version >= (2, 36) else None
        if part is not None:
            resources = [
                resource for resource in resources if part in str(resource.body.get(name) or "")
            ]
    return resources


def limited(call: Call, resources: list[Resource]) -> list[Resource]:
    """Return the objects of the page that the arguments `limit` and `offset` name."""
    bounds = {}
    for name in ("limit", "offset"):
        text = call.argument(name) or "0"
        if not re.fullmatch("-?[0-9]+", text):
            raise bad(f"{name} param must be an integer")
        if text.startswith("-"):
            raise bad(f"{name} param must be positive")
        bounds[name] = int(text)
    size = min(bounds["limit"] or PAGE_MAX, PAGE_MAX)
    return resources[bounds["offset"] : bounds["offset"] + size]


def checked(call: Call, collection: Collection, *, creating: bool) -> Body:
    """Return the checked fields of the object in the body of a request. Raises Refusal 400."""
    attributes = call.object(collection.singular)
    make: Callable[[Body], Body] = collection.for_create if creating else collection.for_update
    try:
        return make(attributes)
    except Invalid as error:
        message = error.message
        if error.fault is Fault.UNKNOWN:
            names = ", ".join(repr(name) for name in error.names)
            message = f"Additional properties are not allowed ({names} was unexpected)"
        raise bad(f"Invalid input for {collection.singular}: {message}") from None


def stamped(call: Call) -> Body:
    """Return the fields of a new object that the service sets: id, project and times."""
    store = call.cloud.store
    return {
        "id": store.new_id(),
        "project_id": call.caller.project_id,
        "created_at": stamp_micro(store.time),
        "updated_at": None,
    }


def touch(call: Call, resource: Resource) -> None:
    """Set the field `updated_at` of an object to the current time."""
    resource.body["updated_at"] = stamp_micro(call.cloud.store.time)
    call.cloud.store.changed = True


def action_of(call: Call, names: Iterable[str]) -> tuple[str, Body]:
    """Return the name and the arguments of the action in a body: {"NAME": {...}}.

    Before microversion 2.7 the names of actions on shares begin with "os-". Raises Refusal 400.
    """
    body = call.json()
    if not isinstance(body, dict) or len(body) != 1:
        raise bad("The request body must be an object with one action")
    name, arguments = next(iter(body.items()))
    if name not in names:
        raise bad(f"There is no such action: {name}")
    if not isinstance(arguments, dict | None):
        raise bad(f"The arguments of the action {name} must be an object")
    return name, arguments or {}


def versions(call: Call) -> Reply:
    """Handle GET of the API versions; reply with status 300 for the list of all versions."""
    newest = f"{NEWEST[0]}.{NEWEST[1]}"
    media = "application/vnd.openstack.share+json;version=1"
    version: Body = {
        "id": "v2.0",
        "status": "CURRENT",
        "version": newest,
        "min_version": f"{OLDEST[0]}.{OLDEST[1]}",
        "updated": "2015-08-27T11:33:21Z",
        "links": [
            {"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"},
            {"rel": "self", "href": f"{call.base}/{SERVICE}{PATH}/"},
        ],
        "media-types": [{"base": "application/json", "type": media}],
    }
    return Reply(300 if not call.segments else 200, {"versions": [version]})
