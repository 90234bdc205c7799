"""Functions that all handlers of Cinder share: paths, microversions, errors and links."""

from __future__ import annotations

import re

from hearth_devcloud.errors_by_kind import by_kind
from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.store import Resource

NEWEST = (3, 71)
OLDEST = (3, 0)
DEFAULT_TYPE = "lvmdriver-1"
_PROJECT = re.compile(r"^[0-9a-f]{32}$")


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Cinder."""
    return by_kind(fault)


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def missing(kind: str, name: object) -> Refusal:
    """Return a Refusal with status 404; `kind` and `name` identify the missing object."""
    return Refusal(404, message=f"{kind} {name} could not be found.")


def forbidden(call: Call) -> Refusal:
    """Return a Refusal with status 403."""
    return Refusal(403, message="Policy doesn't allow this to be performed.")


def admin_only(call: Call) -> None:
    """Raise Refusal 403 unless the caller has the role admin."""
    if not call.caller.is_admin:
        raise forbidden(call)


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
    for item in (call.headers.get("OpenStack-API-Version") or "").split(","):
        service, _, text = item.strip().partition(" ")
        if service.lower() not in ("volume", "block-storage"):
            continue
        if text == "latest":
            call.version = NEWEST
            return
        major, _, minor = text.partition(".")
        if not (major.isdecimal() and minor.isdecimal()):
            raise bad(f"API Version String {text} is of invalid format.")
        call.version = (int(major), int(minor))
        if not OLDEST <= call.version <= NEWEST:
            raise Refusal(406, message=f"Version {text} is not supported by the API.")


def finish(call: Call, reply: Reply) -> None:
    """Add the microversion to the headers of a reply."""
    major, minor = call.version if call.version != (0, 0) else OLDEST
    reply.headers["OpenStack-API-Version"] = f"volume {major}.{minor}"
    reply.headers["Vary"] = "OpenStack-API-Version"


def links(call: Call, kind: str, resource_id: str) -> list[Body]:
    """Return the value of the field `links` of an object."""
    return [
        {"rel": "self", "href": f"{call.base}/volume/v3/{kind}/{resource_id}"},
        {"rel": "bookmark", "href": f"{call.base}/volume/{kind}/{resource_id}"},
    ]


def find(call: Call, table: str, resource_id: object, kind: str) -> Resource:
    """Return an object of the caller's project. Raises Refusal 404."""
    resource = call.cloud.store.get(f"volume.{table}", str(resource_id))
    if resource is None or not (
        call.caller.is_admin or resource.project_id == call.caller.project_id
    ):
        raise missing(kind, resource_id)
    return resource


def mine(call: Call, table: str) -> list[Resource]:
    """Return the objects of the caller's project, newest first.

    For an administrator with the argument `all_tenants`, return the objects of all projects.
    """
    caller = call.caller
    everywhere = caller.is_admin and (call.argument("all_tenants") or "0").lower() in ("1", "true")
    resources = [
        resource
        for resource in call.cloud.store.all(f"volume.{table}")
        if everywhere or resource.project_id == caller.project_id
    ]
    resources.reverse()
    return resources


def versions(call: Call) -> Reply:
    """Handle GET of the API versions; reply with status 300."""
    newest = f"{NEWEST[0]}.{NEWEST[1]}"
    version = {
        "id": "v3.0",
        "status": "CURRENT",
        "version": newest,
        "min_version": "3.0",
        "updated": "2023-08-31T00:00:00Z",
        "links": [
            {"rel": "describedby", "type": "text/html", "href": "https://docs.openstack.org/"},
            {"rel": "self", "href": f"{call.base}/volume/v3/"},
        ],
        "media-types": [
            {
                "base": "application/json",
                "type": "application/vnd.openstack.volume+json;version=3",
            }
        ],
    }
    return Reply(300 if not call.segments else 200, {"versions": [version]})
