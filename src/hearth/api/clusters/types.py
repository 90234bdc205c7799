"""The types of fields in request bodies.

A reader checks the value of a field and returns the value for the use cases. It raises ValueError
with an explanation if the value is invalid. In the body of a POST, numbers may be
given as strings; in the operations of a PATCH they may not. Each reader has a parameter `strict`:
if it is true, numbers must not be given as strings. Only readers of numbers use it.

Source: tests/facts/magnum/objects.json.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any
from uuid import UUID

from msgspec import Struct

from hearth.api.clusters.versions import MINIMUM, Version, version_text
from hearth.clusters.problems import bad_request
from hearth.model.problem import hint, nearest

INTEGER_MAX = 2**31 - 1  # of a column
TEXT_MAX = 65_535  # characters of a text without a limit of its own
MEMBERS_MAX = 1_000  # of a map or a list
_INTEGER = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_YES = frozenset({"1", "t", "true", "on", "y", "yes"})
_NO = frozenset({"0", "f", "false", "off", "n", "no"})


class Reader(Struct, frozen=True):
    """Checks and converts the value of a field. `form` describes the values, for the reference."""

    form: str
    read: Callable[[Any, bool], Any]

    def __call__(self, value: Any, strict: bool = False) -> Any:
        """Return the converted value. Raises ValueError.

        If `strict` is true, numbers must not be given as strings.
        """
        return self.read(value, strict)


class Field(Struct, frozen=True):
    """A field of an object, as request bodies may contain it.

    `reader` checks and converts its value, and `meaning` says what it is for. A POST must contain
    `required` fields. A body must not contain `read_only` fields. It may contain `unused` fields,
    which have no effect. `default` is the value of the field after a PATCH removes it. `since` is
    the first microversion with the field.
    """

    name: str
    reader: Reader
    meaning: str = ""
    required: bool = False
    default: Any = None
    read_only: bool = False
    unused: bool = False
    since: Version = MINIMUM


Fields = Mapping[str, Field]


def fields(*members: Field) -> Fields:
    """Return the given fields as a map by name."""
    return {field.name: field for field in members}


def text(minimum: int = 0, maximum: int = TEXT_MAX, pattern: str | None = None) -> Reader:
    """Return a reader for a string of `minimum` to `maximum` characters.

    If a `pattern` is given, the whole string must match this regular expression.
    """
    form = re.compile(pattern) if pattern is not None else None

    def read(value: Any, strict: bool) -> str:
        if not isinstance(value, str):
            raise ValueError(f"expected a string, got {_kind(value)}")
        if not minimum <= len(value) <= maximum:
            raise ValueError(f"expected {minimum} to {maximum} characters, got {len(value)}")
        if "\0" in value:
            raise ValueError("null characters are not allowed")
        if form is not None and not form.fullmatch(value):
            raise ValueError(f'"{value}" does not match {form.pattern}')
        return value

    limits = "" if maximum == TEXT_MAX else f" of {minimum} to {maximum} characters"
    return Reader(f"text{limits}" + (f", `{pattern}`" if pattern else ""), read)


def integer(minimum: int = 0, maximum: int = INTEGER_MAX) -> Reader:
    """Return a reader for an integer from `minimum` to `maximum`."""

    def read(value: Any, strict: bool) -> int:
        if isinstance(value, str) and not strict and _INTEGER.fullmatch(value.strip()):
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"expected a whole number, got {_kind(value)}")
        if not minimum <= value <= maximum:
            raise ValueError(f"expected {minimum} to {maximum}, got {value}")
        return value

    upper = f" to {maximum}" if maximum != INTEGER_MAX else " or more"
    return Reader(f"whole number, {minimum}{upper}", read)


def _flag(value: Any, strict: bool = False) -> bool:
    """Return the value as a boolean. Raises ValueError.

    Strings such as "yes" and "off", and the numbers 0 and 1, are accepted, too. `strict` has no
    effect.
    """
    lowered = str(value).strip().lower() if isinstance(value, bool | int | str) else ""
    if lowered in _YES:
        return True
    if lowered in _NO:
        return False
    raise ValueError(f"expected true or false, got {_kind(value)}")


flag = Reader("true or false", _flag)


def word(*choices: str) -> Reader:
    """Return a reader for a string that must be one of the given words."""

    def read(value: Any, strict: bool) -> str:
        if value not in choices:
            near = hint(nearest(value, choices)) if isinstance(value, str) else ""
            raise ValueError(f"expected {' or '.join(choices)}{near}")
        return str(value)

    return Reader(" or ".join(f"`{choice}`" for choice in choices), read)


def _uuid(value: Any, strict: bool = False) -> str:
    """Return a UUID in its canonical form. Raises ValueError. `strict` has no effect."""
    try:
        return str(UUID(value))
    except (ValueError, TypeError, AttributeError):
        raise ValueError("expected a UUID") from None


uuid = Reader("UUID", _uuid)


def _addresses(value: Any, strict: bool) -> str:
    """Return the value if it is a string of IPv4 addresses that are separated by commas.

    Raises ValueError. `strict` has no effect.
    """
    joined: str = text(1, 255)(value, strict)
    for address in joined.split(","):
        try:
            IPv4Address(address.strip())
        except ValueError:
            raise ValueError(f'"{address}" is not an IPv4 address') from None
    return joined


addresses = Reader("IPv4 addresses, separated by commas", _addresses)


_SHORT = text(0, 255)


def _labels(value: Any, strict: bool) -> dict[str, str]:
    """Return a map of labels, with numbers and booleans converted to strings.

    Raises ValueError. `strict` has no effect.
    """
    converted = {}
    for name, label in _members(value, "map", Mapping).items():
        if not isinstance(label, str | int | float):
            raise ValueError(f'label "{name}": expected a string or a number, got {_kind(label)}')
        converted[_SHORT(name, strict)] = text()(str(label), strict)
    return converted


labels = Reader("map of text", _labels)


def _texts(value: Any, strict: bool) -> list[str]:
    """Return the value if it is a list of strings. Raises ValueError. `strict` has no effect."""
    return [_SHORT(member, strict) for member in _members(value, "list", list)]


texts = Reader("list of text", _texts)


def _text_map(value: Any, strict: bool) -> dict[str, str]:
    """Return the value if it is a map of strings. Raises ValueError. `strict` has no effect."""
    members = _members(value, "map", Mapping)
    return {_SHORT(name, strict): text()(member, strict) for name, member in members.items()}


text_map = Reader("map of text", _text_map)


def _text_maps(value: Any, strict: bool) -> list[dict[str, str]]:
    """Return the value if it is a list of maps of strings. Raises ValueError. `strict` has no
    effect.
    """
    return [text_map(member, strict) for member in _members(value, "list", list)]


text_maps = Reader("list of maps of text", _text_maps)


def _anything(value: Any, strict: bool) -> Any:
    """Return the value unchanged, for a field without effect. `strict` has no effect either."""
    return value


anything = Reader("anything", _anything)


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


def body_values(document: Any, declared: Fields, version: Version) -> dict[str, Any]:
    """Return the checked values in the body of a request, by field; null counts as missing.

    `document` is the parsed JSON, `declared` are the fields that it may contain, and `version` is
    the microversion of the request. Unused fields are checked and left out, and defaults are not
    filled in. Raises Rejected.
    """
    if not isinstance(document, Mapping):
        raise bad_request("Invalid body. Expected a JSON object.")
    values = {}
    for name, value in document.items():
        field = field_of(name, declared, version)
        if field.read_only:
            raise bad_request(f"Attribute {name} is read-only. Leave it out.")
        value = None if value is None else checked(field, value, strict=False)
        if value is not None and not field.unused:
            values[name] = value
    missing_names = [
        field.name for field in declared.values() if field.required and field.name not in values
    ]
    if missing_names:
        raise bad_request(f"Attribute {', '.join(missing_names)} is mandatory. Add a value.")
    return values


def field_of(name: str, declared: Fields, version: Version) -> Field:
    """Return the field with this name out of `declared`.

    Raises Rejected if there is none, or if the microversion `version` does not have it.
    """
    field = declared.get(name)
    if field is None:
        near = hint(nearest(name, declared))
        raise bad_request(f'Unknown attribute "{name}"{near}. Remove it or correct its name.')
    if field.since > version:
        raise bad_request(
            f"Unknown attribute {name} in version {version_text(version)}. "
            f"It needs version {version_text(field.since)}."
        )
    return field


def checked(field: Field, value: Any, *, strict: bool) -> Any:
    """Return the value of `field`, converted by its reader. Raises Rejected.

    If `strict` is true, numbers must not be given as strings.
    """
    try:
        return field.reader(value, strict)
    except ValueError as problem:
        message = f"Invalid value of {field.name}: {problem}. Correct the value."
        raise bad_request(message) from None
