"""Pre-signed URLs, which allow certain calls for a queue without a token for a limited time."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

from hearth_devcloud.caller import Caller
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Resource, Store
from hearth_devcloud.zaqar.rest import bad, document

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
PARTS = ("messages", "subscriptions", "claims")
FIELDS = {"methods", "paths", "expires"}
LIFE = timedelta(days=1)
SECRET = "messaging.secrets"  # noqa: S105


def share(call: Call) -> Reply:
    """Handle POST of a pre-signed URL: reply with the header values for calls without a token."""
    request = document(call) if call.raw else {}
    if unknown := sorted(request.keys() - FIELDS):
        raise bad(f"Unknown fields: {', '.join(unknown)}.")
    methods, paths = _list(request, "methods", ["GET"]), _list(request, "paths", list(PARTS))
    if not set(methods) <= set(METHODS):
        raise bad(f"methods may only contain {', '.join(METHODS)}.")
    if not set(paths) <= set(PARTS):
        raise bad(f"paths may only contain {', '.join(PARTS)}.")
    expires = request.get("expires") or _text(datetime.now(UTC) + LIFE)
    _time(expires)
    body: Body = {
        "project": call.caller.project_id,
        "paths": [f"/v2/queues/{call.ids[0]}/{part}" for part in paths],
        "expires": expires,
        "methods": sorted(methods),
    }
    body["signature"] = _signature(call, body)
    return Reply(200, body)


def brings(call: Call) -> bool:
    """Return whether a call is authenticated by the signature of a pre-signed URL."""
    return "URL-Signature" in call.headers


def caller(call: Call) -> Caller:
    """Return the caller of a call with a pre-signed URL: the project, without user and roles.

    Raises Refusal 403 if the signature is invalid, has expired, or does not allow the call.
    """
    headers = call.headers
    fields: Body = {
        "project": headers.get("X-Project-ID", ""),
        "paths": headers.get("URL-Paths", "").split(","),
        "expires": headers.get("URL-Expires", ""),
        "methods": headers.get("URL-Methods", "").split(","),
    }
    if not hmac.compare_digest(_signature(call, fields), headers["URL-Signature"]):
        raise Refusal(403, "Forbidden", "The signature does not match the headers.")
    if _time(fields["expires"]) <= datetime.now(UTC):
        raise Refusal(403, "Forbidden", "The signature has expired.")
    if call.method not in fields["methods"] or call.path not in fields["paths"]:
        raise Refusal(403, "Forbidden", "The signature does not allow this method or path.")
    return Caller("", "", fields["project"], None, frozenset(), (), float("inf"))


def _signature(call: Call, fields: Body) -> str:
    lines = [fields["project"], ",".join(fields["paths"]), ",".join(fields["methods"])]
    text = "\n".join([*lines, fields["expires"]])
    return hmac.new(_secret(call.cloud.store).encode(), text.encode(), hashlib.sha256).hexdigest()


def _secret(store: Store) -> str:
    secret = store.get(SECRET, "urls")
    if secret is None:
        body = {"secret": store.new_secret()}
        secret = store.insert(Resource("urls", SECRET, None, body, seed=True))
    return str(secret.body["secret"])


def _list(attributes: Body, name: str, default: list[str]) -> list[str]:
    value = attributes.get(name)
    if value is None:
        return default
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise bad(f"{name} must be a list of strings.")
    return value


def _time(text: Any) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise bad(f"expires must be an ISO 8601 time, got {text!r}.") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S")


ROUTES: list[Route] = [("POST", "/v2/queues/{}/share", share)]
