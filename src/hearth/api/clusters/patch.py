"""The variant of JSON Patch in PATCH requests: RFC 6902 with fewer operations and further rules.

Source: docs/spec/clusters.md, 2.5; tests/facts/magnum/objects.json, `json_patch_op`.
"""

import ast
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hearth.api.clusters.types import Field, Fields, checked
from hearth.clusters.problems import bad_request

ALWAYS_INTERNAL = frozenset(
    {"created_at", "id", "links", "updated_at", "uuid", "project_id", "user_id"}
)
STRUCTURED = frozenset({"labels", "health_status_reason", "node_labels", "node_taints"})
"""Attributes whose value may be a map, a list, or a string that contains a Python literal of a map
or a list.
"""
OPERATIONS_MAX = 1_000
LITERAL_MAX = 65_535  # characters
_PATH = re.compile(r"(/[\w-]+)+")
_OPERATIONS = ("add", "replace", "remove")
_KEYS = frozenset({"op", "path", "value"})
_INDEX = re.compile(r"\d{1,4}", re.ASCII)


class PatchOperation(Struct, frozen=True):
    """One operation of a PATCH on an attribute, or on a member of it (`below`).

    The operation remove may have a `value`: it selects the member of a federation; other objects
    ignore it.
    """

    operation: str
    attribute: str
    below: tuple[str, ...] = ()
    value: Any = None

    @property
    def path(self) -> str:
        """Return the path in the form in which the client wrote it."""
        return "/" + "/".join((self.attribute, *self.below))


class PatchRules(Struct, frozen=True):
    """The rules for PATCH requests on one type of object.

    Attributes in `internal` must not be changed, and attributes in `mandatory` must not be removed.
    Attributes in `structured` may have maps or lists as values.
    """

    fields: Fields
    internal: Collection[str] = ALWAYS_INTERNAL
    mandatory: Collection[str] = ()
    structured: Collection[str] = STRUCTURED


def changes(document: Any, rules: PatchRules) -> list[PatchOperation]:
    """Parse the body of a PATCH, and check everything that does not depend on the object.

    `document` is the parsed JSON, and `rules` are those of the type of object. Return the
    operations. Raises Rejected.
    """
    if not isinstance(document, list):
        raise bad_request("Invalid body. Expected a list of patch operations.")
    if len(document) > OPERATIONS_MAX:
        raise bad_request(f"Too many patch operations. At most {OPERATIONS_MAX} are allowed.")
    return [_change(entry, rules) for entry in document]


def _change(entry: Any, rules: PatchRules) -> PatchOperation:
    if not isinstance(entry, Mapping):
        raise bad_request("Invalid patch operation. Expected a JSON object.")
    if unknown := entry.keys() - _KEYS:
        raise bad_request(f"Unknown attribute {min(unknown)} in a patch operation. Remove it.")
    operation, path = entry.get("op"), entry.get("path")
    if operation not in _OPERATIONS:
        raise bad_request(f"Unknown patch operation. Expected {', '.join(_OPERATIONS)} as op.")
    if not isinstance(path, str) or not _PATH.fullmatch(path):
        raise bad_request("Invalid path in a patch operation. Expected a path such as /node_count.")
    attribute, *below = path[1:].split("/")
    if attribute in rules.internal:
        raise bad_request(f"Attribute {attribute} is internal. It cannot be changed.")
    if operation == "remove":
        if attribute in rules.mandatory and not below:
            raise bad_request(f"Attribute {attribute} is mandatory. It cannot be removed.")
        return PatchOperation(operation, attribute, tuple(below), entry.get("value"))
    if entry.get("value") is None:
        raise bad_request(f"No value for {path}. The operation {operation} needs a value.")
    value = _value(entry["value"], attribute, tuple(below), rules)
    return PatchOperation(operation, attribute, tuple(below), value)


def _value(value: Any, attribute: str, below: tuple[str, ...], rules: PatchRules) -> Any:
    """Return the value of an operation, as a map or list if the attribute needs one. Raises
    Rejected.
    """
    is_structured = attribute in rules.structured and not below
    if isinstance(value, str) and is_structured:
        return _literal(value, attribute)
    if isinstance(value, str | int) or (isinstance(value, list | dict) and is_structured):
        return value
    if isinstance(value, dict) and attribute in rules.structured:
        return value  # a member of a list of maps
    raise bad_request(f"Invalid value of {attribute}. Expected a string or a whole number.")


def _literal(value: str, attribute: str) -> Any:
    """Return the map or list that a string with a Python literal describes. Raises Rejected.

    A literal can hold text that JSON cannot, such as half a surrogate pair. Such text could be
    neither stored nor sent.
    """
    try:
        literal = ast.literal_eval(value.strip()) if len(value) <= LITERAL_MAX else None
        msgspec.json.encode(literal)
    except (ValueError, SyntaxError, TypeError, OverflowError, MemoryError, RecursionError):
        literal = None
    if not isinstance(literal, dict | list):
        raise bad_request(f"Invalid value of {attribute}. Expected a map or a list.")
    return literal


def applied(
    before: Mapping[str, Any], changes: Iterable[PatchOperation], rules: PatchRules
) -> dict[str, Any]:
    """Return the attributes of an object after the operations `changes`. Raises Rejected.

    `before` contains all attributes of the object; attributes without a value are null. `rules` are
    those of the type of object. A removed attribute gets its default value.
    """
    after = dict(before)
    for change in changes:
        field = rules.fields.get(change.attribute)
        if field is None or change.attribute not in after:
            raise _unknown(change)
        value = _below(change, after[field.name]) if change.below else _root(change, field, after)
        after[field.name] = field.default if value is None else checked(field, value, strict=True)
    return after


def _root(change: PatchOperation, field: Field, after: Mapping[str, Any]) -> Any:
    if change.operation == "add" and after[field.name] is not None:
        raise bad_request(f"Attribute {field.name} already has a value. Use replace.")
    return None if change.operation == "remove" else change.value


def _below(change: PatchOperation, container: Any) -> Any:
    """Return the new value of an attribute, after an operation on a member of its map or list."""
    if len(change.below) > 1 or not isinstance(container, dict | list):
        raise _unknown(change)
    (key,) = change.below
    if isinstance(container, dict):
        has_key = key in container
        after: dict[str, Any] = {name: member for name, member in container.items() if name != key}
        if change.operation != "add" and not has_key:
            raise _unknown(change)
        return after if change.operation == "remove" else {**after, key: change.value}
    if change.operation == "add" and key == "-":
        return [*container, change.value]
    index = int(key) if _INDEX.fullmatch(key) else len(container) + 1
    if index >= len(container) + (change.operation == "add"):
        raise _unknown(change)
    replaced = 0 if change.operation == "add" else 1
    new = [] if change.operation == "remove" else [change.value]
    return [*container[:index], *new, *container[index + replaced :]]


def _unknown(change: PatchOperation) -> Exception:
    message = f"Cannot {change.operation} {change.path}. The object has no such attribute."
    return bad_request(message)


def differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes whose values have changed, with the new values."""
    return {name: value for name, value in after.items() if value != before[name]}


def only(changes: Mapping[str, Any], changeable: Collection[str], type_name: str) -> None:
    """Raise Rejected if an attribute has changed that is not in `changeable`.

    `type_name` is the type of the object, for the message.
    """
    if wrong := sorted(changes.keys() - set(changeable)):
        raise bad_request(
            f"Attribute {', '.join(wrong)} of a {type_name} cannot be changed. "
            f"Only {', '.join(changeable)} can."
        )
