"""Functions that all handlers of Zaqar share: parsing of requests, errors and page links."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from hearth_devcloud.http import Body, Call, Refusal

BAD_REQUEST = "Invalid API request"
BAD_BODY = "Invalid request body"
PAGE_MAX = 20
PAGE_DEFAULT = 10
_WORDS = {"true": True, "yes": True, "on": True, "1": True} | {
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 for an invalid value."""
    return Refusal(400, BAD_REQUEST, message)


def bad_body(message: str) -> Refusal:
    """Return a Refusal with status 400 for an invalid request body."""
    return Refusal(400, BAD_BODY, message)


def document(call: Call) -> Body:
    """Return the JSON object in the body. Raises Refusal 400 if there is none."""
    if not call.raw:
        raise bad_body("Request body can not be empty")
    parsed = call.json()
    if not isinstance(parsed, dict):
        raise bad_body("Document type not supported.")
    return parsed


def whole(attributes: Body, name: str, default: int) -> int:
    """Return the integer in the field `name` of a body. Raises Refusal 400 for other values."""
    value = attributes.get(name, default)
    if type(value) is not int:
        raise bad_body(f'The value of the "{name}" field must be a int.')
    return value


def within(value: int, low: int, high: int, label: str) -> int:
    """Return the value. Raises Refusal 400 if it is out of bounds; the error names it `label`."""
    if not low <= value <= high:
        raise bad(f"{label} may not exceed {high} and must be at least {low}")
    return value


def number(call: Call, name: str) -> int | None:
    """Return the integer in a query argument, or None if it is missing.

    Raises Refusal 400 unless it is from 1 to the maximum page size.
    """
    text = call.argument(name)
    if not text:
        return None
    try:
        value = int(text)
    except ValueError:
        raise Refusal(400, "Invalid parameter", f"{name} must be an integer.") from None
    return within(value, 1, PAGE_MAX, name)


def yes(call: Call, name: str) -> bool:
    """Return the boolean in a query argument; it is false by default. Raises Refusal 400."""
    text = (call.argument(name) or "false").lower()
    if text not in _WORDS:
        raise Refusal(400, "Invalid parameter", f"{name} must be 'true' or 'false'.")
    return _WORDS[text]


def following(call: Call, marker: str) -> list[Body]:
    """Return the list with the link to the next page, which starts after `marker`."""
    arguments: dict[str, Any] = {
        name: values[0] for name, values in call.query.items() if values[0]
    }
    return [{"rel": "next", "href": f"{call.path}?{urlencode({**arguments, 'marker': marker})}"}]
