"""Declared collections: the fields of their objects, and who may set each field at create or
update.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import Enum
from typing import Any

Check = Callable[[Any], Any]


class Fault(Enum):
    """The reason why a field was refused."""

    UNKNOWN = "unknown"
    READ_ONLY = "read-only"
    MISSING = "missing"
    FORBIDDEN = "forbidden"
    INVALID = "invalid"
    CONVERSION = "conversion"


class Invalid(Exception):
    """The body violates a declaration: the kind of violation, the fields, and a message."""

    def __init__(self, fault: Fault, names: Iterable[str], message: str) -> None:
        super().__init__(message)
        self.fault = fault
        self.names = tuple(names)
        self.message = message


class Unconvertible(ValueError):
    """A value cannot be converted to the declared type."""


def anything(value: Any) -> Any:
    """Return the value unchanged: a check that accepts everything."""
    return value


def text(max_length: int = 255, *, null: bool = False) -> Check:
    """Return a check for a string of at most `max_length` characters."""

    def check(value: Any) -> Any:
        if value is None and null:
            return None
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a string")
        if len(value) > max_length:
            raise ValueError(f"longer than {max_length} characters")
        return value

    return check


def boolean(value: Any) -> bool:
    """Return a boolean; text and digits are converted. Raises ValueError."""
    if isinstance(value, bool):
        return value
    match str(value).lower():
        case "true" | "1":
            return True
        case "false" | "0":
            return False
    raise Unconvertible(f"{value!r} cannot be converted to boolean")


def integer(low: int | None = None, high: int | None = None, *, null: bool = False) -> Check:
    """Return a check for an integer within bounds; the check also accepts text."""

    def check(value: Any) -> Any:
        if value is None and null:
            return None
        try:
            number = int(value)
        except (TypeError, ValueError):
            raise Unconvertible(f"{value!r} is not an integer") from None
        if isinstance(value, bool) or (isinstance(value, float) and value != number):
            raise Unconvertible(f"{value!r} is not an integer")
        if (low is not None and number < low) or (high is not None and number > high):
            raise ValueError(f"{number} is outside [{low}, {high}]")
        return number

    return check


def one_of(*choices: Any) -> Check:
    """Return a check that allows only the given values."""

    def check(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {list(choices)}")
        return value

    return check


def list_of(check_item: Check = anything, *, null: bool = False) -> Check:
    """Return a check for a list and each of its items."""

    def check(value: Any) -> Any:
        if value is None and null:
            return []
        if not isinstance(value, list):
            raise ValueError(f"expected a list, got {value!r}")
        return [check_item(item) for item in value]

    return check


def mapping(value: Any) -> Any:
    """Return an object with any members; null becomes an empty object."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {value!r}")
    return value


def nullable(check: Check) -> Check:
    """Return a check that also accepts null."""
    return lambda value: None if value is None else check(value)


def address(value: Any) -> str:
    """Return a checked IPv4 or IPv6 address. Raises ValueError."""
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError(f"'{value}' is not a valid IP address") from None


_UUID = re.compile(r"^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$", re.IGNORECASE)


def is_uuid(value: Any) -> bool:
    """Return whether a value has the form of a UUID, with or without dashes."""
    return isinstance(value, str) and _UUID.match(value) is not None


def uuid(value: Any) -> str:
    """Return a checked UUID. Raises ValueError."""
    if not is_uuid(value):
        raise ValueError(f"{value!r} is not a valid UUID")
    return str(value)


@dataclass(frozen=True, slots=True)
class Field:
    """The declaration of a field: its check, its default (a value or a factory), and who may set it
    at create and update.

    With `admin`, other users may only set the field to its default at create, as in Neutron's
    policy.
    """

    check: Check = anything
    default: Any = None
    required: bool = False
    create: bool = True
    update: bool = True
    admin: bool = False
    shown: bool = True

    def initial(self) -> Any:
        """Return the default for a new object, which no other object shares."""
        return self.default() if callable(self.default) else deepcopy(self.default)


READ_ONLY = Field(create=False, update=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """A kind of object: its table, the keys in its bodies, its fields."""

    service: str
    plural: str
    singular: str
    fields: Mapping[str, Field]
    type_name: str = ""
    path: str = ""
    quota: str = ""
    extra: bool = False

    @property
    def table(self) -> str:
        """The name of the table with these objects in the store."""
        return f"{self.service}.{self.plural}"

    @property
    def plural_key(self) -> str:
        """The key of a list of objects in a body."""
        return self.plural

    def for_create(self, given: Mapping[str, Any], *, admin: bool = True) -> dict[str, Any]:
        """Return all fields of a new object. Raises `Invalid`."""
        values = self._checked(given, admin=admin, creating=True)
        missing = [n for n, f in self.fields.items() if f.required and n not in values]
        if missing:
            raise Invalid(Fault.MISSING, missing, f"Missing: {', '.join(missing)}")
        for name, declared in self.fields.items():
            if name not in values:
                values[name] = declared.initial()
        return values

    def for_update(self, given: Mapping[str, Any], *, admin: bool = True) -> dict[str, Any]:
        """Return the requested changes. Raises `Invalid`."""
        return self._checked(given, admin=admin, creating=False)

    def _checked(self, given: Mapping[str, Any], *, admin: bool, creating: bool) -> dict[str, Any]:
        unknown = [name for name in given if name not in self.fields]
        if unknown and not self.extra:
            raise Invalid(Fault.UNKNOWN, unknown, f"Unknown: {', '.join(unknown)}")
        values: dict[str, Any] = {}
        for name, value in given.items():
            declared = self.fields.get(name)
            if declared is None:
                values[name] = value
                continue
            if not (declared.create if creating else declared.update):
                raise Invalid(Fault.READ_ONLY, [name], f"{name} cannot be set")
            try:
                values[name] = declared.check(value)
            except Unconvertible as error:
                raise Invalid(Fault.CONVERSION, [name], f"{name}: {error}") from None
            except ValueError as error:
                raise Invalid(Fault.INVALID, [name], f"{name}: {error}") from None
            usual = creating and declared.default is not None and values[name] == declared.initial()
            if declared.admin and not admin and not usual:
                raise Invalid(Fault.FORBIDDEN, [name], f"{name} may be set by an admin only")
        return values
