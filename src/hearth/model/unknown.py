"""The third answer of an evaluation: not known until some resources exist.

An unknown value may stand alone or anywhere inside lists and maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.model.value import Kind


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that nobody can know before the resources named here exist.

    `kinds` is what it may turn out to be, as far as anyone has asked; empty: anything.
    """

    until: frozenset[str] = frozenset()
    kinds: frozenset[Kind] = frozenset()

    def __or__(self, other: Unknown) -> Unknown:
        return Unknown(self.until | other.until)


UNKNOWN = Unknown()


def unknown_in(value: Any) -> Unknown | None:
    """All that is unknown in a value, as one; None if everything is known."""
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
    found: Unknown | None = None
    for part in parts:
        inner = unknown_in(part)
        if inner is not None:
            found = inner if found is None else found | inner
    return found


def nulled(value: Any) -> Any:
    """The value with null for everything unknown, the way create-time validation sees it."""
    match value:
        case Unknown():
            return None
        case Mapping():
            return {key: nulled(inner) for key, inner in value.items()}
        case list() | tuple():
            return [nulled(inner) for inner in value]
        case _:
            return value
