"""The emulated messaging service (Zaqar): queues, messages, claims and subscriptions."""

from __future__ import annotations

import uuid
from http import HTTPStatus

from hearth_devcloud.http import Call, Refusal, Reply, Route, Router, Service, unauthorized
from hearth_devcloud.zaqar import claims, messages, queues, signed, subscriptions
from hearth_devcloud.zaqar.rest import BAD_BODY

_FORM = "application/x-www-form-urlencoded"


def _refusal(call: Call, fault: Refusal) -> Reply:
    title = BAD_BODY if fault.type == "NotJSON" else fault.type or HTTPStatus(fault.status).phrase
    return Reply(fault.status, {"title": title, "description": fault.message}, fault.headers)


def _is_open(call: Call) -> bool:
    return not call.segments or signed.brings(call)


def _prepare(call: Call) -> None:
    """Check the headers that every call needs, and the name of the queue. Raises Refusal."""
    if len(call.segments) < 2:
        return
    if call.raw and (call.headers.get("Content-Type") or "").lower() == _FORM:
        raise Refusal(400, "Invalid Content-Type", "Endpoint only accepts application/json")
    accept = call.headers.get("Accept") or "*/*"
    if not any(kind in accept for kind in ("*/*", "application/*", "application/json")):
        raise Refusal(406, "Media type not acceptable", "Endpoint only serves application/json")
    client = call.headers.get("Client-ID")
    if client is None:
        raise Refusal(400, "Missing header value", "The Client-ID header is required.")
    try:
        uuid.UUID(client)
    except ValueError:
        raise Refusal(400, "Wrong UUID value", "Malformed hexadecimal UUID.") from None
    if signed.brings(call):
        call.identity = signed.caller(call)
    if not call.caller.project_id:
        raise Refusal(400, "Project-Id Missing", "The header X-PROJECT-ID was missing")
    if call.segments[1] == "queues" and len(call.segments) > 2:
        queues.check_name(call.segments[2])


def _versions(call: Call) -> Reply:
    """Handle GET of the API versions."""
    version = {
        "id": "2",
        "status": "CURRENT",
        "updated": "2014-9-24T04:06:47Z",
        "media-types": [
            {
                "base": "application/json",
                "type": "application/vnd.openstack.messaging-v2+json",
            }
        ],
        "links": [{"href": f"{call.base}/messaging/v2/", "rel": "self"}],
    }
    return Reply(300, {"versions": [version]})


_VERSIONS: list[Route] = [("GET", "/", _versions)]

SERVICE = Service(
    name="messaging",
    router=Router(
        _VERSIONS,
        queues.ROUTES,
        messages.ROUTES,
        claims.ROUTES,
        subscriptions.ROUTES,
        signed.ROUTES,
    ),
    refusal=_refusal,
    open=_is_open,
    prepare=_prepare,
    unauthorized=unauthorized,
)
TRANSITIONS = {
    "messaging.expire": messages.expire,
    "messaging.release": claims.expire,
    "messaging.sent": subscriptions.sent,
    "messaging.unsubscribe": subscriptions.expire,
}
