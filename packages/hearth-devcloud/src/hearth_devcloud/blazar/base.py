"""Functions that all handlers of Blazar share: parsing of bodies, and lookup."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.store import Resource

HOSTS = "reservation.hosts"
LEASES = "reservation.leases"
FORMAT = "%Y-%m-%d %H:%M"


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, message=message)


def missing(kind: str, ident: str) -> Refusal:
    """Return a Refusal with status 404; `kind` and `ident` identify the missing object."""
    return Refusal(404, message=f"{kind} {ident} not found")


def document(call: Call) -> Body:
    """Return the JSON object in the body. Raises Refusal 400."""
    request = call.json()
    if not isinstance(request, dict):
        raise bad("The body must be an object.")
    return request


def words(attributes: Body, name: str) -> str:
    """Return the text in a field. Raises Refusal 400 if it is missing, empty or no text."""
    value = attributes.get(name)
    if not isinstance(value, str) or not value:
        raise bad(f"Missing or invalid parameter {name}")
    return value


def stamp(at: float) -> str:
    """Return a time in seconds since 1970 as UTC text like `2026-01-01 00:00:00`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def parsed(value: Any, now: float) -> float:
    """Return a date, or the word `now`, in seconds since 1970. Raises Refusal 400."""
    if value == "now":
        return now
    try:
        return datetime.strptime(str(value), FORMAT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise bad(f"{value} is an invalid date. Required format: {FORMAT}") from None


def visible(call: Call, resource: Resource | None) -> bool:
    """Return whether the caller may see an object."""
    caller = call.caller
    return resource is not None and (caller.is_admin or resource.project_id == caller.project_id)
