"""Requirements of reservations, such as `["and", [">=", "$vcpus", "4"], ["==", "$gpu", "yes"]]`."""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Mapping
from typing import Any

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_DEPTH_MAX = 20


def parse(text: Any) -> Any:
    """Return the requirement that a JSON text contains; None for an empty text.

    Raises ValueError.
    """
    if text == "" or text is None:
        return None
    try:
        rule = json.loads(text) if isinstance(text, str) else None
    except ValueError:
        rule = None
    if rule in ("", []):
        return None
    _check(rule, text, 0)
    return rule


def _check(node: Any, text: Any, depth: int) -> None:
    match node:
        case ["and" | "or", *parts] if parts and depth < _DEPTH_MAX:
            for part in parts:
                _check(part, text, depth + 1)
        case [str(sign), str(name), str() | int() | float()] if (
            sign in _COMPARISONS and name.startswith("$")
        ):
            pass
        case _:
            raise ValueError(f"Malformed requirements {text}")


def met(requirement: Any, properties: Mapping[str, Any]) -> bool:
    """Return whether the properties of a host meet a requirement."""
    match requirement:
        case None:
            return True
        case ["and", *parts]:
            return all(met(part, properties) for part in parts)
        case ["or", *parts]:
            return any(met(part, properties) for part in parts)
        case [sign, name, value]:
            present = properties.get(name.removeprefix("$"))
            return present is not None and _compared(_COMPARISONS[sign], present, value)
    return False


def _compared(compare: Callable[[Any, Any], bool], present: Any, value: Any) -> bool:
    """Compare two values as numbers if both are, else as text."""
    try:
        return compare(float(present), float(value))
    except (TypeError, ValueError):
        return compare(str(present), str(value))
