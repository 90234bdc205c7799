"""Functions that all handlers of Nova share: microversions, errors and links."""

from __future__ import annotations

from hearth_devcloud.errors_by_kind import KINDS
from hearth_devcloud.http import Body, Call, Refusal, Reply

NEWEST = (2, 96)
OLDEST = (2, 1)
_JSON = "application/json; charset=UTF-8"


def refusal(call: Call, fault: Refusal) -> Reply:
    """Return an error in the format of Nova."""
    kind = KINDS.get(fault.status, "computeFault")
    body = {kind: {"code": fault.status, "message": fault.message or kind}}
    return Reply(fault.status, body, {"Content-Type": _JSON, **fault.headers})


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def missing(kind: str, name: str) -> Refusal:
    """Return a Refusal with status 404; `kind` and `name` identify the missing object."""
    return Refusal(404, message=f"{kind} {name} could not be found.")


def conflict(message: str) -> Refusal:
    """Return a Refusal with status 409 and this message."""
    return Refusal(409, message=message)


def forbidden(message: str = "Policy doesn't allow this to be performed.") -> Refusal:
    """Return a Refusal with status 403."""
    return Refusal(403, message=message)


def admin_only(call: Call, policy: str = "this") -> None:
    """Raise Refusal 403 unless the caller has the role admin.

    The message names the policy, such as `os_compute_api:os-evacuate`.
    """
    if not call.caller.is_admin:
        raise forbidden(f"Policy doesn't allow {policy} to be performed.")


def refuse_reader(call: Call) -> Refusal | None:
    """Return the error for a write of a reader, or None for key pairs, which belong to users."""
    return None if call.segments[1:2] == ["os-keypairs"] else forbidden()


def prepare(call: Call) -> None:
    """Set the microversion of a call from its headers.

    Raises Refusal 400 for an invalid microversion, 406 for one that is not supported.
    """
    call.version = OLDEST
    text = call.headers.get("X-OpenStack-Nova-API-Version")
    for item in (call.headers.get("OpenStack-API-Version") or "").split(","):
        service, _, version = item.strip().partition(" ")
        if service.lower() == "compute":
            text = version
    if text is None:
        return
    if text.strip() == "latest":
        call.version = NEWEST
        return
    major, _, minor = text.strip().partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        call.version = (0, 0)
        raise bad(f"API Version String {text} is of invalid format.")
    call.version = (int(major), int(minor))
    if not OLDEST <= call.version <= NEWEST:
        raise Refusal(406, message=f"Version {text} is not supported by the API.")


def finish(call: Call, reply: Reply) -> None:
    """Add the microversion to the headers of a reply."""
    if call.version == (0, 0) or len(call.segments) < 1:
        return
    text = f"{call.version[0]}.{call.version[1]}"
    reply.headers["OpenStack-API-Version"] = f"compute {text}"
    reply.headers["X-OpenStack-Nova-API-Version"] = text
    reply.headers["Vary"] = "OpenStack-API-Version, X-OpenStack-Nova-API-Version"
    if reply.body is None:
        reply.headers.setdefault("Content-Type", "application/json")


def links(call: Call, kind: str, resource_id: str) -> list[Body]:
    """Return the value of the field `links` of an object."""
    return [
        {"rel": "self", "href": f"{call.base}/compute/v2.1/{kind}/{resource_id}"},
        bookmark(call, kind, resource_id),
    ]


def bookmark(call: Call, kind: str, resource_id: str) -> Body:
    """Return the bookmark link of an object, whose URL has no API version."""
    return {"rel": "bookmark", "href": f"{call.base}/compute/{kind}/{resource_id}"}


def versions(call: Call) -> Reply:
    """Handle GET of the API versions."""
    newest = f"{NEWEST[0]}.{NEWEST[1]}"
    return Reply(
        200,
        {
            "versions": [
                _version(call, "v2.0", "DEPRECATED", "", "", "v2"),
                _version(call, "v2.1", "CURRENT", newest, "2.1", "v2.1"),
            ]
        },
    )


def _version(call: Call, id_: str, status: str, newest: str, oldest: str, path: str) -> Body:
    return {
        "id": id_,
        "status": status,
        "version": newest,
        "min_version": oldest,
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": f"{call.base}/compute/{path}/"}],
    }


def version(call: Call) -> Reply:
    """Handle GET /v2.1: show the API version and its microversions."""
    body = _version(call, "v2.1", "CURRENT", f"{NEWEST[0]}.{NEWEST[1]}", "2.1", "v2.1")
    body["links"].append(
        {"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"}
    )
    body["media-types"] = [
        {
            "base": "application/json",
            "type": "application/vnd.openstack.compute+json;version=2.1",
        }
    ]
    return Reply(200, {"version": body})
