"""Declarations of API collections: the fields of their objects and the checks of request bodies."""

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
    """The reason why the field of a request body was refused."""

    UNKNOWN = "unknown"
    READ_ONLY = "read-only"
    MISSING = "missing"
    FORBIDDEN = "forbidden"
    INVALID = "invalid"
    CONVERSION = "conversion"


class Invalid(Exception):
    """A request body is invalid: the reason, the names of the fields, and a message."""

    def __init__(self, fault: Fault, names: Iterable[str], message: str) -> None:
        super().__init__(message)
        self.fault = fault
        self.names = tuple(names)
        self.message = message


class Unconvertible(ValueError):
    """A value cannot be converted to the declared type."""


def anything(value: Any) -> Any:
    """Return the value unchanged. As a check, this accepts every value."""
    return value


def text(max_length: int = 255, *, null: bool = False) -> Check:
    """Return a check for a string of at most `max_length` characters; `null` also allows null."""

    def check(value: Any) -> Any:
        if value is None and null:
            return None
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a string")
        if len(value) > max_length:
            raise ValueError(f"the string is longer than {max_length} characters")
        return value

    return check


def boolean(value: Any) -> bool:
    """Convert true, false, 1, 0 or the text of one of them to a boolean. Raises ValueError."""
    if isinstance(value, bool):
        return value
    match str(value).lower():
        case "true" | "1":
            return True
        case "false" | "0":
            return False
    raise Unconvertible(f"{value!r} cannot be converted to boolean")


def integer(low: int | None = None, high: int | None = None, *, null: bool = False) -> Check:
    """Return a check for an integer within inclusive bounds; the check converts text.

    `null` also allows null.
    """

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
            bounds = [f"at least {low}"] if low is not None else []
            bounds += [f"at most {high}"] if high is not None else []
            raise ValueError(f"expected an integer of {' and '.join(bounds)}, got {number}")
        return number

    return check


def one_of(*choices: Any) -> Check:
    """Return a check that allows only the values in `choices`."""

    def check(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"expected one of {list(choices)}, got {value!r}")
        return value

    return check


def list_of(check_item: Check = anything, *, null: bool = False) -> Check:
    """Return a check for a list that applies `check_item` to each item.

    `null` also allows null, which becomes an empty list.
    """

    def check(value: Any) -> Any:
        if value is None and null:
            return []
        if not isinstance(value, list):
            raise ValueError(f"expected a list, got {value!r}")
        return [check_item(item) for item in value]

    return check


def mapping(value: Any) -> Any:
    """Check that a value is a JSON object; null becomes an empty one. Raises ValueError."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {value!r}")
    return value


def nullable(check: Check) -> Check:
    """Return a check that accepts null, and applies `check` to other values."""
    return lambda value: None if value is None else check(value)


def address(value: Any) -> str:
    """Return an IPv4 or IPv6 address in its normal form. Raises ValueError if it is invalid."""
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        raise ValueError(f"'{value}' is not a valid IP address") from None


_UUID = re.compile(r"^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$", re.IGNORECASE)


def is_uuid(value: Any) -> bool:
    """Return whether a value has the form of a UUID, with or without dashes."""
    return isinstance(value, str) and _UUID.match(value) is not None


def uuid(value: Any) -> str:
    """Return the value if it is a UUID. Raises ValueError otherwise."""
    if not is_uuid(value):
        raise ValueError(f"{value!r} is not a valid UUID")
    return str(value)


@dataclass(frozen=True, slots=True)
class Field:
    """The declaration of a field. `default` is a value or a function that returns one.

    `create` and `update` are true if the respective requests may set the field. If `admin` is true,
    only an admin may set it; other users may only pass its default in a create request, as in
    Neutron's policy. If `shown` is false, responses omit it.
    """

    check: Check = anything
    default: Any = None
    required: bool = False
    create: bool = True
    update: bool = True
    admin: bool = False
    shown: bool = True

    def initial(self) -> Any:
        """Return the default value for a new object, as a fresh copy."""
        return self.default() if callable(self.default) else deepcopy(self.default)


READ_ONLY = Field(create=False, update=False)


@dataclass(frozen=True, slots=True)
class Collection:
    """The declaration of an API collection: its service, its names and the fields of its objects.

    If `extra` is true, objects may have undeclared fields.
    """

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
        """The name of the collection's table in the store."""
        return f"{self.service}.{self.plural}"

    @property
    def plural_key(self) -> str:
        """The top-level key of the list of objects in a response body."""
        return self.plural

    def for_create(self, attributes: Mapping[str, Any], *, admin: bool = True) -> dict[str, Any]:
        """Return all fields of a new object: the checked values and the defaults.

        `attributes` is the object in a create request; `admin` is whether an admin sent it. Raises
        Invalid.
        """
        values = self._checked(attributes, admin=admin, creating=True)
        absent = [n for n, f in self.fields.items() if f.required and n not in values]
        if absent:
            raise Invalid(Fault.MISSING, absent, f"Missing fields: {', '.join(absent)}")
        for name, declared in self.fields.items():
            if name not in values:
                values[name] = declared.initial()
        return values

    def for_update(self, attributes: Mapping[str, Any], *, admin: bool = True) -> dict[str, Any]:
        """Return the checked fields of an update request. Raises Invalid.

        `attributes` is the object in the request; `admin` is whether an admin sent it.
        """
        return self._checked(attributes, admin=admin, creating=False)

    def _checked(
        self, attributes: Mapping[str, Any], *, admin: bool, creating: bool
    ) -> dict[str, Any]:
        unknown = [name for name in attributes if name not in self.fields]
        if unknown and not self.extra:
            raise Invalid(Fault.UNKNOWN, unknown, f"Unknown fields: {', '.join(unknown)}")
        values: dict[str, Any] = {}
        for name, value in attributes.items():
            declared = self.fields.get(name)
            if declared is None:
                values[name] = value
                continue
            if not (declared.create if creating else declared.update):
                operation = "create" if creating else "update"
                raise Invalid(
                    Fault.READ_ONLY, [name], f"{name} cannot be set by {operation} requests"
                )
            try:
                values[name] = declared.check(value)
            except Unconvertible as error:
                raise Invalid(Fault.CONVERSION, [name], f"{name}: {error}") from None
            except ValueError as error:
                raise Invalid(Fault.INVALID, [name], f"{name}: {error}") from None
            usual = creating and declared.default is not None and values[name] == declared.initial()
            if declared.admin and not admin and not usual:
                raise Invalid(Fault.FORBIDDEN, [name], f"Only an admin may set {name}")
        return values
