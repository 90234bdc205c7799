"""Plain values: what kinds there are, and looking into them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The type of a value, by its wire name."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    LIST = "list"
    MAP = "map"
    ANY = "any"


def at_path(value: Any, path: Sequence[Any]) -> Any:
    """What stands at a path: map keys as text, list positions as ints. Source: spec/hot.md, 8.3."""
    for step in path:
        match value:
            case dict():
                value = value.get(step if isinstance(step, str) else str(step))
            case list() | str() if isinstance(step, int):
                value = value[step] if -len(value) <= step < len(value) else None
            case _:
                return None
    return value
