"""Rules by which a resource type rewrites properties, as data.

They are for properties that were renamed, moved or are given by name: a path leads through maps by
key and through each item of a list. Rules run on resolved values, in the order `Add`, `Replace`,
`Resolve`, `Delete`. Source: spec/hot.md, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Path = Sequence[str]


@dataclass(frozen=True)
class Add:
    """Append values to a list property: `values`, and the value at `value_path`."""

    path: Path
    values: Sequence[Any] = ()
    value_path: Path | None = None


@dataclass(frozen=True)
class Replace:
    """Put a value at `path`: a literal, the value at `value_path`, or `value_name` in the same map.

    With `entry` the value there is a map, which stays, and the value is put into that entry.
    """

    path: Path
    value: Any = None
    value_name: str | None = None
    value_path: Path | None = None
    entry: str | None = None


@dataclass(frozen=True)
class Resolve:
    """Replace the name at `path` by an id; `finder` is the kind of object, such as `nova.flavor`.

    A property in braces is replaced by its value: `neutron.{object_type}`.
    """

    path: Path
    finder: str
    entity: str | None = None


@dataclass(frozen=True)
class Delete:
    """Delete the value at `path`."""

    path: Path


Rule = Add | Replace | Resolve | Delete

ORDER: tuple[type[Rule], ...] = (Add, Replace, Resolve, Delete)


def ordered(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules in the order in which they run."""
    return sorted(rules, key=lambda rule: ORDER.index(type(rule)))
