"""Steps into a value, as `get_attr` takes them. Source: spec/hot.md, section 8.3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.model.unknown import Unknown

NESTING_MAX = 100
"""How deep a value from outside a template may be: everything that walks it is recursive."""


def too_deep(value: Any) -> bool:
    """Whether lists and maps are nested deeper than allowed. Does not recurse."""
    level = [value]
    for _ in range(NESTING_MAX):
        level = [
            inner
            for outer in level
            if isinstance(outer, Mapping | list | tuple)
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
        if not level:
            return False
    return True


def values_in(value: Any) -> int:
    """How many values there are in one, itself included."""
    count = 0
    waiting = [value]
    for one in waiting:
        count += 1
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
    return count


def walk(value: Any, path: Iterable[Any]) -> Any:
    """What stands at the path: maps by text, lists and texts by number; null where it leads
    nowhere, unknown where something unknown is on the way.
    """
    for step in path:
        if isinstance(value, Unknown):
            return value
        if isinstance(step, Unknown):
            return step
        if isinstance(value, Mapping):
            value = value.get(step) if isinstance(step, str) else None
        elif isinstance(value, list | tuple | str) and isinstance(step, int):
            try:
                value = value[step]
            except IndexError:
                return None
        else:
            return None
    return value
