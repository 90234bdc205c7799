"""Pre-signed URLs, which allow certain calls for a queue without a token for a limited time."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

from hearth_devcloud.caller import Caller
from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.store import Store, Thing
from hearth_devcloud.zaqar.rest import bad, document

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
PARTS = ("messages", "subscriptions", "claims")
FIELDS = {"methods", "paths", "expires"}
LIFE = timedelta(days=1)
SECRET = "messaging.secrets"  # noqa: S105


def share(call: Call) -> Reply:
    """Handle POST of a pre-signed URL: reply with the header values for calls without a token."""
    given = document(call) if call.raw else {}
    if unknown := sorted(given.keys() - FIELDS):
        raise bad(f"Unknown fields: {', '.join(unknown)}.")
    methods, paths = _list(given, "methods", ["GET"]), _list(given, "paths", list(PARTS))
    if not set(methods) <= set(METHODS):
        raise bad(f"methods may only contain {', '.join(METHODS)}.")
    if not set(paths) <= set(PARTS):
        raise bad(f"paths may only contain {', '.join(PARTS)}.")
    expires = given.get("expires") or _text(datetime.now(UTC) + LIFE)
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
    shown: Body = {
        "project": headers.get("X-Project-ID", ""),
        "paths": headers.get("URL-Paths", "").split(","),
        "expires": headers.get("URL-Expires", ""),
        "methods": headers.get("URL-Methods", "").split(","),
    }
    if not hmac.compare_digest(_signature(call, shown), headers["URL-Signature"]):
        raise Refusal(403, "Forbidden", "The signature does not match the headers.")
    if _time(shown["expires"]) <= datetime.now(UTC):
        raise Refusal(403, "Forbidden", "The signature has expired.")
    if call.method not in shown["methods"] or call.path not in shown["paths"]:
        raise Refusal(403, "Forbidden", "The signature does not allow this method or path.")
    return Caller("", "", shown["project"], None, frozenset(), (), float("inf"))


def _signature(call: Call, shown: Body) -> str:
    words = [shown["project"], ",".join(shown["paths"]), ",".join(shown["methods"])]
    text = "\n".join([*words, shown["expires"]])
    return hmac.new(_secret(call.cloud.store).encode(), text.encode(), hashlib.sha256).hexdigest()


def _secret(store: Store) -> str:
    known = store.get(SECRET, "urls")
    if known is None:
        body = {"secret": store.new_secret()}
        known = store.insert(Thing("urls", SECRET, None, body, seed=True))
    return str(known.body["secret"])


def _list(given: Body, name: str, default: list[str]) -> list[str]:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise bad(f"{name} must be a list of strings.")
    return value


def _time(text: Any) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise bad(f"expires must be an ISO 8601 time, got {text!r}.") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S")


ROUTES: list[Route] = [("POST", "/v2/queues/{}/share", share)]
