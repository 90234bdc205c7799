"""Rules by which a resource type rewrites what users wrote, as data.

They serve properties that were renamed, moved or are given by name: a path leads through maps by
key and through every item of a list. Rules run on resolved values, in the order `Add`, `Replace`,
`Resolve`, `Delete`. Source: spec/hot.md, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Path = Sequence[str]


@dataclass(frozen=True)
class Add:
    """Append values to a list property: `values`, and what stands at `value_path`."""

    path: Path
    values: Sequence[Any] = ()
    value_path: Path | None = None


@dataclass(frozen=True)
class Replace:
    """Put a value (literal, or the one at `value_path`, or `value_name` beside it) at `path`.

    With `entry` that value is a map, which stays, and it is the entry's value that is put.
    """

    path: Path
    value: Any = None
    value_name: str | None = None
    value_path: Path | None = None
    entry: str | None = None


@dataclass(frozen=True)
class Resolve:
    """Turn the name at `path` into an id; `finder` names the kind of thing, as in `nova.flavor`.

    A property in braces stands for its value: `neutron.{object_type}`.
    """

    path: Path
    finder: str
    entity: str | None = None


@dataclass(frozen=True)
class Delete:
    """Drop what stands at `path`."""

    path: Path


Rule = Add | Replace | Resolve | Delete

ORDER: tuple[type[Rule], ...] = (Add, Replace, Resolve, Delete)


def ordered(rules: Iterable[Rule]) -> list[Rule]:
    """The rules in the order in which they run."""
    return sorted(rules, key=lambda rule: ORDER.index(type(rule)))
