"""Placeholders for values that depend on resources which do not exist yet.

A whole value can be unknown, or any part of a list or map.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from hearth.model.value import ValueKind


class Unknown(Struct, frozen=True):
    """A placeholder for a value that is not known until the resources named in `until` exist.

    `kinds` are the types that the value can have; if it is empty, the value can have any type. If
    `present` is true, the value will be neither null nor empty.
    """

    until: frozenset[str] = frozenset()
    kinds: frozenset[ValueKind] = frozenset()
    present: bool = False

    def __or__(self, other: Unknown) -> Unknown:
        return Unknown(self.until | other.until)


UNKNOWN = Unknown()


def unknown_reference(name: str) -> Unknown:
    """Return the placeholder for the reference id of the resource `name`."""
    return Unknown(frozenset({name}), frozenset({ValueKind.STRING}), present=True)


SCALARS = frozenset({str, int, float, bool, type(None)})


def unknown_in(value: Any) -> Unknown | None:
    """Return one Unknown that combines all unknown parts of a value, or None if there are none.

    If it combines several parts, its `kinds` are empty.
    """
    if type(value) in SCALARS:  # nearly always; the other checks take longer
        return None
    parts: Iterable[Any]
    match value:
        case Unknown():
            return value
        case Mapping():
            parts = value.values()
        case list() | tuple():
            parts = value
        case _:
            return None
    combined: Unknown | None = None
    for part in parts:
        inner = unknown_in(part)
        if inner is not None:
            combined = inner if combined is None else combined | inner
    return combined


def nulled(value: Any) -> Any:
    """Return a copy of the value in which None replaces each unknown part. Tuples become lists."""
    match value:
        case Unknown():
            return None
        case Mapping():
            return {key: nulled(inner) for key, inner in value.items()}
        case list() | tuple():
            return [nulled(inner) for inner in value]
        case _:
            return value
