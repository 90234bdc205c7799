"""Follow a path into a value, as `get_attr` does. Source: docs/spec/hot.md, section 8.3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from hearth.model.unknown import Unknown


def values_in(value: Any) -> int:
    """Return the number of values in a value, including itself."""
    count = 0
    waiting = [value]
    for inner in waiting:
        count += 1
        if isinstance(inner, Mapping):
            waiting.extend(inner.values())
        elif isinstance(inner, list | tuple):
            waiting.extend(inner)
    return count


def walk(value: Any, path: Iterable[Any]) -> Any:
    """Return the value at a path; its steps are keys of maps, and indexes of lists and texts.

    It is null if the path does not exist, and Unknown if a value on the way is unknown.
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
