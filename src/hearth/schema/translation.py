"""Declarative rules by which a resource type rewrites its property values (Heat's translation).

They replace deprecated properties by their successors and names by ids. The path of a rule consists
of map keys; at a list, the rule applies to each item. Rules run on resolved values, in the order
`Add`, `Replace`, `Resolve`, `Delete`. Source: docs/spec/hot.md, section 6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

Path = Sequence[str]


class Add(Struct, frozen=True):
    """Append `values` and the value at `value_path` to the list property at `path`."""

    path: Path
    values: Sequence[Any] = ()
    value_path: Path | None = None


class Replace(Struct, frozen=True):
    """Set the property at `path` to the literal `value`, or move another value there.

    The moved value is that at `value_path`, or that of the key `value_name` in the same map. If
    `entry` is given, this value is a map: its entry is copied, and the map itself stays. It is an
    error if the property at `path` has a value already.
    """

    path: Path
    value: Any = None
    value_name: str | None = None
    value_path: Path | None = None
    entry: str | None = None


class Resolve(Struct, frozen=True):
    """Replace the name or id at `path` by the id of the object that it identifies.

    `finder` is the type of the object, such as `nova.flavor`. It may contain the name of a property
    in braces, which is replaced by the value of the property: `neutron.{object_type}`.
    """

    path: Path
    finder: str
    entity: str | None = None


class Delete(Struct, frozen=True):
    """Remove the property at `path`."""

    path: Path


Rule = Add | Replace | Resolve | Delete

ORDER: tuple[type[Rule], ...] = (Add, Replace, Resolve, Delete)


def ordered(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules sorted into the order in which they must run."""
    return sorted(rules, key=lambda rule: ORDER.index(type(rule)))
