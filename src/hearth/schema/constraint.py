"""Constraints on property and parameter values, in addition to their type.

The method `wrong` of a constraint returns None for a valid value and an error text otherwise. The
`description` of a constraint replaces the standard error text. `Custom` has no such method, because
only the cloud can check it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hearth.schema.patterns import TooSlow, matches_whole


class Length(Struct, frozen=True, kw_only=True):
    """Inclusive limits of the length of a string, list or map; None means no limit."""

    min: int | None = None
    max: int | None = None
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        size = len(value)
        if (self.min is not None and size < self.min) or (self.max is not None and size > self.max):
            return self.description or f"length {size} is out of range {bounds(self.min, self.max)}"
        return None


class Range(Struct, frozen=True, kw_only=True):
    """The inclusive limits of a number; None means no limit."""

    min: float | None = None
    max: float | None = None
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        if (self.min is not None and value < self.min) or (
            self.max is not None and value > self.max
        ):
            return self.description or f"{value} is out of range {bounds(self.min, self.max)}"
        return None


class AllowedValues(Struct, frozen=True):
    """The allowed values of a property, or the allowed items of a list property.

    `values` are the values as declared, for messages and documentation. `compared` are the same
    values converted to the type of the property, so that a declared `"6"` allows the integer 6; by
    default, `values` are compared.
    """

    values: Sequence[Any]
    description: str | None = None
    compared: Sequence[Any] | None = None

    def wrong(self, value: Any) -> str | None:
        items = value if isinstance(value, list) else [value]
        accepted = {
            (isinstance(candidate, bool), comparable(candidate))
            for candidate in self.compared or self.values
        }
        for item in items:
            if (isinstance(item, bool), comparable(item)) not in accepted:
                listing = ", ".join(str(candidate) for candidate in self.values[:SHOWN_MAX])
                listing += ", …" if len(self.values) > SHOWN_MAX else ""
                return self.description or f'"{item}" is not one of the allowed values: {listing}'
        return None


class AllowedPattern(Struct, frozen=True):
    """A regular expression. Its match at the start of the value must cover the whole value."""

    pattern: str
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        text = str(value)
        try:
            fits = matches_whole(self.pattern, text)
        except TooSlow as problem:
            return f'"{text[:40]}" cannot be matched against "{self.pattern}": {problem}'
        if not fits:
            return self.description or f'"{text}" does not match the pattern "{self.pattern}"'
        return None


class Modulo(Struct, frozen=True, kw_only=True):
    """A number must have the remainder `offset` when it is divided by `step`."""

    step: int
    offset: int = 0
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        if value % self.step != self.offset:
            return self.description or (
                f"{value} is not a multiple of {self.step} with an offset of {self.offset}"
            )
        return None


class Custom(Struct, frozen=True):
    """A custom constraint, such as `nova.flavor`: the cloud has to look up whether it holds."""

    name: str
    description: str | None = None


SHOWN_MAX = 100
"""The maximum number of allowed values that a message lists."""

Constraint = Length | Range | AllowedValues | AllowedPattern | Modulo | Custom


def comparable(value: Any) -> Hashable:
    """Return a hashable form of a value: equal values, also lists and maps, have equal forms."""
    match value:
        case list() | tuple():
            return (list, *map(comparable, value))
        case Mapping():
            return (dict, frozenset((key, comparable(inner)) for key, inner in value.items()))
        case _:
            scalar: Hashable = value
            return scalar


def bounds(low: float | None, high: float | None) -> str:
    """Return a range as text, such as `(min: 1, max: 5)`; None means no limit."""
    ends = (("min", low), ("max", high))
    return f"({', '.join(f'{name}: {end}' for name, end in ends if end is not None)})"


def same(first: Any, second: Any) -> bool:
    """Return whether two values are equal, where true and 1 are different."""
    if isinstance(first, bool) is not isinstance(second, bool):
        return False
    return bool(first == second)
