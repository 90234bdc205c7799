"""The three kinds of Kubernetes patches: merge patch, strategic merge patch and JSON patch."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
Change = Callable[[Object], Object]

MERGE, STRATEGIC, JSON = (
    f"application/{name}+json" for name in ("merge-patch", "strategic-merge-patch", "json-patch")
)
KEYS = {
    "addresses": "type", "conditions": "type", "containers": "name", "env": "name",
    "initContainers": "name", "ownerReferences": "uid", "volumes": "name",
}  # fmt: skip
"""The lists that a strategic merge patch merges, with the key that identifies their elements."""
OPERATIONS_MAX = 1000


class BadPatch(ValueError):
    """A patch cannot be applied; the message gives the reason."""


def change_of(content_type: str, patch: Any) -> Change:
    """Return a function that applies a patch to an object and returns the result.

    This function and the returned one raise BadPatch.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == JSON:
        if not isinstance(patch, list) or len(patch) > OPERATIONS_MAX:
            raise BadPatch(f"a JSON patch must be a list of at most {OPERATIONS_MAX} operations")
        return lambda before: _operated(before, patch)
    if not isinstance(patch, dict):
        raise BadPatch("a merge patch must be a JSON object")
    return lambda before: merged(before, patch, strategic=kind == STRATEGIC)


def merged(before: Any, change: Any, *, strategic: bool = False, name: str = "") -> Any:
    """Return the result of applying the merge patch `change` to the value `before`.

    If `strategic` is true, the lists in KEYS are merged instead of replaced. `name` is the name of
    the field that contains the value.
    """
    if isinstance(change, dict):
        found = dict(before) if isinstance(before, dict) else {}
        for key, value in change.items():
            if strategic and key.startswith("$"):  # directives about order and retained keys
                continue
            if value is None:
                found.pop(key, None)
            else:
                found[key] = merged(found.get(key), value, strategic=strategic, name=key)
        return found
    key = KEYS.get(name, "")
    old = before if isinstance(before, list) else []
    if strategic and key and isinstance(change, list) and _keyed([*old, *change], key):
        elements = {str(one[key]): one for one in old}
        for one in change:
            if one.get("$patch") == "delete":
                elements.pop(str(one[key]), None)
            else:
                elements[str(one[key])] = merged(elements.get(str(one[key])), one, strategic=True)
        return list(elements.values())
    return change


def _keyed(items: list[Any], key: str) -> bool:
    return all(isinstance(one, dict) and key in one for one in items)


def _operated(before: Object, operations: list[Any]) -> Object:
    """Return a copy of an object after the operations of a JSON patch. Raises BadPatch."""
    found: Object = {"": copy.deepcopy(before)}
    for one in operations:
        try:
            _operate(found, one["op"], _steps(one["path"]), one.get("value"))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise BadPatch(f"this operation of the JSON patch cannot be applied: {one}") from None
    after: Object = found.get("", {})
    if not isinstance(after, dict) or not after:
        raise BadPatch("the result of the patch is not an object")
    return after


def _steps(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]


def _operate(root: Any, op: str, steps: list[str], value: Any) -> None:
    place = root
    for step in steps[:-1]:
        place = place[int(step) if isinstance(place, list) else step]
    last: Any = steps[-1]
    if isinstance(place, list):
        last = len(place) if last == "-" else int(last)
        if not 0 <= last <= len(place):
            raise IndexError(last)
    if op == "add":
        if isinstance(place, list):
            place.insert(last, value)
        else:
            place[last] = value
    elif op == "remove":
        del place[last]
    elif op == "replace":
        place[last]  # raises an error if there is no such element
        place[last] = value
    elif op == "test":
        if place[last] != value:
            raise ValueError("the tested value differs")
    else:
        raise ValueError(op)
