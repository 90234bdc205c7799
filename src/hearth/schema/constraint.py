"""Constraints on values in addition to the type.

A constraint returns None if a value is valid, else the error. A `description` by the template's
author replaces the standard message. The cloud checks `Custom`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.schema.patterns import TooSlow, matches_whole


@dataclass(frozen=True, kw_only=True)
class Length:
    """Limits on the number of characters, items or keys; None means no limit."""

    min: int | None = None
    max: int | None = None
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        size = len(value)
        if (self.min is not None and size < self.min) or (self.max is not None and size > self.max):
            return self.description or f"length {size} is out of range {bounds(self.min, self.max)}"
        return None


@dataclass(frozen=True, kw_only=True)
class Range:
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


@dataclass(frozen=True)
class AllowedValues:
    """The allowed values; for a list, the allowed items.

    `values` are shown as declared. `compared` are the same values converted to the type of the
    property, in which `6` and `"6"` are equal; by default they are the declared ones.
    """

    values: Sequence[Any]
    description: str | None = None
    compared: Sequence[Any] | None = None

    def wrong(self, value: Any) -> str | None:
        items = value if isinstance(value, list) else [value]
        allowed = {(isinstance(one, bool), comparable(one)) for one in self.compared or self.values}
        for item in items:
            if (isinstance(item, bool), comparable(item)) not in allowed:
                known = ", ".join(str(one) for one in self.values[:SHOWN_MAX])
                known += ", …" if len(self.values) > SHOWN_MAX else ""
                return self.description or f'"{item}" is not one of the allowed values: {known}'
        return None


@dataclass(frozen=True)
class AllowedPattern:
    """A regular expression whose first match at the start of the value must cover the whole
    value.
    """

    pattern: str
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        text = str(value)
        try:
            fits = matches_whole(self.pattern, text)
        except TooSlow as problem:
            return f'"{text[:40]}" cannot be compared with "{self.pattern}": {problem}'
        if not fits:
            return self.description or f'"{text}" does not match the pattern "{self.pattern}"'
        return None


@dataclass(frozen=True, kw_only=True)
class Modulo:
    """A number that has the remainder `offset` when divided by `step`."""

    step: int
    offset: int = 0
    description: str | None = None

    def wrong(self, value: Any) -> str | None:
        if value % self.step != self.offset:
            return self.description or (
                f"{value} is not a multiple of {self.step} with an offset of {self.offset}"
            )
        return None


@dataclass(frozen=True)
class Custom:
    """A named check by the cloud, such as `nova.flavor`."""

    name: str
    description: str | None = None


SHOWN_MAX = 100
"""The maximum number of allowed values in a message."""

Constraint = Length | Range | AllowedValues | AllowedPattern | Modulo | Custom


def comparable(value: Any) -> Hashable:
    """Return a key that is equal only for equal values, including lists and maps."""
    match value:
        case list() | tuple():
            return (list, *map(comparable, value))
        case Mapping():
            return (dict, frozenset((key, comparable(one)) for key, one in value.items()))
        case _:
            known: Hashable = value
            return known


def bounds(low: float | None, high: float | None) -> str:
    """Return a range as text."""
    ends = (("min", low), ("max", high))
    return f"({', '.join(f'{name}: {end}' for name, end in ends if end is not None)})"


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; true is not 1."""
    if isinstance(one, bool) is not isinstance(other, bool):
        return False
    return bool(one == other)
