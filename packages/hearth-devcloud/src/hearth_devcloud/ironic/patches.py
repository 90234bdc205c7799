"""JSON patches of objects: lists of operations on the fields, or on entries of a field."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.ironic.base import Kind, bad, checked
from hearth_devcloud.store import Resource


def patched(call: Call, kind: Kind, resource: Resource) -> Body:
    """Return the changed fields of an object after the JSON patch in the body of the request.

    A removed field gets its default. Raises Refusal 400.
    """
    operations = call.json()
    if not isinstance(operations, list):
        raise bad("The body must be a list of operations")
    names = [name for name, field in kind.declared.fields.items() if field.update]
    document = {name: deepcopy(resource.body[name]) for name in names}
    removed_names: set[str] = set()
    for operation in operations:
        name = _apply(kind, document, operation)
        if name in document:
            removed_names.discard(name)
        else:
            removed_names.add(name)
            document[name] = kind.declared.fields[name].initial()
    changes = {name: value for name, value in document.items() if value != resource.body[name]}
    values = {name: value for name, value in changes.items() if name not in removed_names}
    return {**changes, **checked(call, kind, values, creating=False)}


def _apply(kind: Kind, document: Body, operation: Any) -> str:
    """Carry out an operation on the document; return the name of the field that it changes."""
    if not isinstance(operation, dict) or operation.keys() - {"op", "path", "value"}:
        raise bad(f"Invalid patch operation: {operation}")
    verb, path = operation.get("op"), operation.get("path")
    if verb not in ("add", "replace", "remove", "test"):
        raise bad(f"Unsupported operation {verb}")
    if not isinstance(path, str) or not path.startswith("/") or len(path) < 2:
        raise bad(f"Invalid path: {path}")
    if verb != "remove" and "value" not in operation:
        raise bad("'add' and 'replace' operations need a value")
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    name = parts[0]
    if name not in document:
        if name in kind.declared.fields or name in ("links", "created_at", "updated_at"):
            raise bad(f"'/{name}' is an internal attribute and can not be updated")
        raise bad(f"Adding a new attribute ({path}) to the root of the resource is not allowed")
    if verb == "remove" and len(parts) == 1 and kind.declared.fields[name].required:
        raise bad(f"'/{name}' is a mandatory attribute and can not be removed")
    holder: Any = document
    for word in parts[:-1]:
        if not isinstance(holder, dict) or word not in holder:
            raise _lost(path)
        holder = holder[word]
    if not isinstance(holder, dict) or (verb != "add" and parts[-1] not in holder):
        raise _lost(path)
    if verb == "test":
        if holder[parts[-1]] != operation["value"]:
            raise bad(f"Couldn't apply patch: {path} has another value")
    elif verb == "remove":
        del holder[parts[-1]]
    else:
        holder[parts[-1]] = operation["value"]
    return name


def _lost(path: str) -> Refusal:
    return bad(f"Couldn't apply patch: can't find a non-existent object '{path}'")
