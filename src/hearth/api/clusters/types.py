"""The types of fields in request bodies.

A reader is a function that checks the value of a field and returns the value for the use cases. It
raises ValueError with an explanation if the value is invalid. In the body of a POST, numbers may be
given as strings; in the operations of a PATCH they may not. Each reader has a parameter `strict`:
if it is true, numbers must not be given as strings. Only readers of numbers use it.

Source: facts/magnum/objects.json.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any
from uuid import UUID

from msgspec import Struct

from hearth.api.clusters.versions import MINIMUM, Version, shown
from hearth.clusters.problems import bad_request
from hearth.model.problem import hint, nearest

Reader = Callable[[Any, bool], Any]
"""A function that checks and converts the value of a field.

Its second argument, `strict`, is true if numbers must not be given as strings.
"""

INTEGER_MAX = 2**31 - 1  # of a column
TEXT_MAX = 65_535  # characters of a text without a limit of its own
MEMBERS_MAX = 1_000  # of a map or a list
_INTEGER = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_YES = frozenset({"1", "t", "true", "on", "y", "yes"})
_NO = frozenset({"0", "f", "false", "off", "n", "no"})


class Field(Struct, frozen=True):
    """A field of an object, as request bodies may contain it; `read` checks and converts its value.

    A POST must contain `required` fields. A body must not contain `read_only` fields. It may
    contain `unused` fields, which have no effect. `default` is the value of the field after a PATCH
    removes it. `since` is the first microversion with the field.
    """

    name: str
    read: Reader
    required: bool = False
    default: Any = None
    read_only: bool = False
    unused: bool = False
    since: Version = MINIMUM


Fields = Mapping[str, Field]


def fields(*members: Field) -> Fields:
    """Return the given fields as a map by name."""
    return {one.name: one for one in members}


def text(least: int = 0, most: int = TEXT_MAX, pattern: str | None = None) -> Reader:
    """Return a reader for a string of `least` to `most` characters.

    If a `pattern` is given, the whole string must match this regular expression.
    """
    form = re.compile(pattern) if pattern is not None else None

    def read(value: Any, strict: bool) -> str:
        if not isinstance(value, str):
            raise ValueError(f"expected a string, got {_kind(value)}")
        if not least <= len(value) <= most:
            raise ValueError(f"expected {least} to {most} characters, got {len(value)}")
        if "\0" in value:
            raise ValueError("null characters are not allowed")
        if form is not None and not form.fullmatch(value):
            raise ValueError(f'"{value}" does not match {form.pattern}')
        return value

    return read


def integer(least: int = 0, most: int = INTEGER_MAX) -> Reader:
    """Return a reader for an integer from `least` to `most`."""

    def read(value: Any, strict: bool) -> int:
        if isinstance(value, str) and not strict and _INTEGER.fullmatch(value.strip()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"expected a whole number, got {_kind(value)}")
        if not least <= value <= most:
            raise ValueError(f"expected {least} to {most}, got {value}")
        return value

    return read


def flag(value: Any, strict: bool = False) -> bool:
    """Return the value as a boolean. Raises ValueError.

    Strings such as "yes" and "off", and the numbers 0 and 1, are accepted, too. `strict` has no
    effect.
    """
    words = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
    if words in _YES:
        return True
    if words in _NO:
        return False
    raise ValueError(f"expected true or false, got {_kind(value)}")


def word(*known: str) -> Reader:
    """Return a reader for a string that must be one of the given words."""

    def read(value: Any, strict: bool) -> str:
        if value not in known:
            near = hint(nearest(value, known)) if isinstance(value, str) else ""
            raise ValueError(f"expected {' or '.join(known)}{near}")
        return str(value)

    return read


def uuid(value: Any, strict: bool = False) -> str:
    """Return a UUID in its canonical form. Raises ValueError. `strict` has no effect."""
    try:
        return str(UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise ValueError("expected a UUID") from None


def addresses(value: Any, strict: bool) -> str:
    """Return the value if it is a string of IPv4 addresses that are separated by commas.

    Raises ValueError. `strict` has no effect.
    """
    listed: str = text(1, 255)(value, strict)
    for one in listed.split(","):
        try:
            IPv4Address(one.strip())
        except ValueError:
            raise ValueError(f'"{one}" is not an IPv4 address') from None
    return listed


_SHORT = text(0, 255)


def labels(value: Any, strict: bool) -> dict[str, str]:
    """Return a map of labels, with numbers and booleans converted to strings.

    Raises ValueError. `strict` has no effect.
    """
    found = {}
    for name, one in _members(value, "map", Mapping).items():
        if not isinstance(one, str | int | float):
            raise ValueError(f'label "{name}": expected a string or a number, got {_kind(one)}')
        found[_SHORT(name, strict)] = text()(str(one), strict)
    return found


def texts(value: Any, strict: bool) -> list[str]:
    """Return the value if it is a list of strings. Raises ValueError. `strict` has no effect."""
    return [_SHORT(one, strict) for one in _members(value, "list", list)]


def text_map(value: Any, strict: bool) -> dict[str, str]:
    """Return the value if it is a map of strings. Raises ValueError. `strict` has no effect."""
    found = _members(value, "map", Mapping)
    return {_SHORT(name, strict): text()(one, strict) for name, one in found.items()}


def text_maps(value: Any, strict: bool) -> list[dict[str, str]]:
    """Return the value if it is a list of maps of strings. Raises ValueError. `strict` has no
    effect.
    """
    return [text_map(one, strict) for one in _members(value, "list", list)]


def anything(value: Any, strict: bool) -> Any:
    """Return the value unchanged, for a field without effect. `strict` has no effect either."""
    return value


def _members(value: Any, name: str, kind: type) -> Any:
    """Return the value if it is a `kind` with at most MEMBERS_MAX members. Raises ValueError."""
    if not isinstance(value, kind):
        raise ValueError(f"expected a {name}, got {_kind(value)}")
    assert isinstance(value, Mapping | list)
    if len(value) > MEMBERS_MAX:
        raise ValueError(f"expected at most {MEMBERS_MAX} members, got {len(value)}")
    return value


def _kind(value: Any) -> str:
    """Return words for a value in an error message, such as "a map" or "the number 3"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return f'"{value[:40]}"'
        case int() | float():
            return f"the number {value}"
        case Mapping():
            return "a map"
        case Sequence():
            return "a list"
        case _:
            return type(value).__name__


def given(document: Any, declared: Fields, version: Version) -> dict[str, Any]:
    """Return the checked values in the body of a request, by field; null counts as missing.

    `document` is the parsed JSON, `declared` are the fields that it may contain, and `version` is
    the microversion of the request. Unused fields are checked and left out, and defaults are not
    filled in. Raises Rejected.
    """
    if not isinstance(document, Mapping):
        raise bad_request("Invalid body. Expected a JSON object.")
    found = {}
    for name, value in document.items():
        one = known(name, declared, version)
        if one.read_only:
            raise bad_request(f"Attribute {name} is read-only. Leave it out.")
        value = None if value is None else checked(one, value, strict=False)
        if value is not None and not one.unused:
            found[name] = value
    missing = [one.name for one in declared.values() if one.required and one.name not in found]
    if missing:
        raise bad_request(f"Attribute {', '.join(missing)} is mandatory. Add a value.")
    return found


def known(name: str, declared: Fields, version: Version) -> Field:
    """Return the field with this name out of `declared`.

    Raises Rejected if there is none, or if the microversion `version` does not have it.
    """
    one = declared.get(name)
    if one is None:
        near = hint(nearest(name, declared))
        raise bad_request(f'Unknown attribute "{name}"{near}. Remove it or correct its name.')
    if one.since > version:
        raise bad_request(
            f"Unknown attribute {name} in version {shown(version)}. "
            f"It needs version {shown(one.since)}."
        )
    return one


def checked(one: Field, value: Any, *, strict: bool) -> Any:
    """Return the value of the field `one`, converted by its reader. Raises Rejected.

    If `strict` is true, numbers must not be given as strings.
    """
    try:
        return one.read(value, strict)
    except ValueError as problem:
        words = f"Invalid value of {one.name}: {problem}. Correct the value."
        raise bad_request(words) from None
