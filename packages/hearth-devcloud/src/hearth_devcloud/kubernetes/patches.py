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
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "volumes": "name",
}
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
        merged_object = dict(before) if isinstance(before, dict) else {}
        for key, value in change.items():
            if strategic and key.startswith("$"):  # directives about order and retained keys
                continue
            if value is None:
                merged_object.pop(key, None)
            else:
                merged_object[key] = merged(
                    merged_object.get(key), value, strategic=strategic, name=key
                )
        return merged_object
    key = KEYS.get(name, "")
    old = before if isinstance(before, list) else []
    if strategic and key and isinstance(change, list) and _keyed([*old, *change], key):
        elements = {str(element[key]): element for element in old}
        for patch in change:
            if patch.get("$patch") == "delete":
                elements.pop(str(patch[key]), None)
            else:
                elements[str(patch[key])] = merged(
                    elements.get(str(patch[key])), patch, strategic=True
                )
        return list(elements.values())
    return change


def _keyed(items: list[Any], key: str) -> bool:
    return all(isinstance(element, dict) and key in element for element in items)


def _operated(before: Object, operations: list[Any]) -> Object:
    """Return a copy of an object after the operations of a JSON patch. Raises BadPatch."""
    holder: Object = {"": copy.deepcopy(before)}
    for operation in operations:
        try:
            _operate(holder, operation["op"], _steps(operation["path"]), operation.get("value"))
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise BadPatch(
                f"this operation of the JSON patch cannot be applied: {operation}"
            ) from None
    after: Object = holder.get("", {})
    if not isinstance(after, dict) or not after:
        raise BadPatch("the result of the patch is not an object")
    return after


def _steps(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]


def _operate(root: Any, op: str, steps: list[str], value: Any) -> None:
    node = root
    for step in steps[:-1]:
        node = node[int(step) if isinstance(node, list) else step]
    last: Any = steps[-1]
    if isinstance(node, list):
        last = len(node) if last == "-" else int(last)
        if not 0 <= last <= len(node):
            raise IndexError(last)
    if op == "add":
        if isinstance(node, list):
            node.insert(last, value)
        else:
            node[last] = value
    elif op == "remove":
        del node[last]
    elif op == "replace":
        node[last]  # raises an error if there is no such element
        node[last] = value
    elif op == "test":
        if node[last] != value:
            raise ValueError("the tested value differs")
    else:
        raise ValueError(op)
