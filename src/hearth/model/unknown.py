"""Unknown values: results of an evaluation that depend on resources which do not exist yet.

An unknown value may stand alone or anywhere inside lists and maps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.model.value import ValueKind


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is not known until the resources in `until` exist.

    `kinds` are the types that the value can have; empty for any type.
    """

    until: frozenset[str] = frozenset()
    kinds: frozenset[ValueKind] = frozenset()

    def __or__(self, other: Unknown) -> Unknown:
        return Unknown(self.until | other.until)


UNKNOWN = Unknown()


def unknown_in(value: Any) -> Unknown | None:
    """Return one Unknown for all unknown parts of a value; None if everything is known."""
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
    """Return the value with null for every unknown part, as validation at create time expects."""
    match value:
        case Unknown():
            return None
        case Mapping():
            return {key: nulled(inner) for key, inner in value.items()}
        case list() | tuple():
            return [nulled(inner) for inner in value]
        case _:
            return value
