"""JSON patches of objects: lists of operations on the fields, or on entries of a field."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hearth_devcloud.http import Body, Call, Refusal
from hearth_devcloud.ironic.base import Kind, bad, checked
from hearth_devcloud.store import Thing


def patched(call: Call, kind: Kind, thing: Thing) -> Body:
    """Return the changed fields of an object after the JSON patch in the body of the request.

    A removed field gets its default. Raises Refusal 400.
    """
    operations = call.json()
    if not isinstance(operations, list):
        raise bad("The body must be a list of operations")
    names = [name for name, one in kind.declared.fields.items() if one.update]
    document = {name: deepcopy(thing.body[name]) for name in names}
    removed: set[str] = set()
    for operation in operations:
        name = _apply(kind, document, operation)
        if name in document:
            removed.discard(name)
        else:
            removed.add(name)
            document[name] = kind.declared.fields[name].initial()
    changed = {name: one for name, one in document.items() if one != thing.body[name]}
    sent = {name: one for name, one in changed.items() if name not in removed}
    return {**changed, **checked(call, kind, sent, creating=False)}


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
    words = [one.replace("~1", "/").replace("~0", "~") for one in path[1:].split("/")]
    name = words[0]
    if name not in document:
        if name in kind.declared.fields or name in ("links", "created_at", "updated_at"):
            raise bad(f"'/{name}' is an internal attribute and can not be updated")
        raise bad(f"Adding a new attribute ({path}) to the root of the resource is not allowed")
    if verb == "remove" and len(words) == 1 and kind.declared.fields[name].required:
        raise bad(f"'/{name}' is a mandatory attribute and can not be removed")
    holder: Any = document
    for word in words[:-1]:
        if not isinstance(holder, dict) or word not in holder:
            raise _lost(path)
        holder = holder[word]
    if not isinstance(holder, dict) or (verb != "add" and words[-1] not in holder):
        raise _lost(path)
    if verb == "test":
        if holder[words[-1]] != operation["value"]:
            raise bad(f"Couldn't apply patch: {path} has another value")
    elif verb == "remove":
        del holder[words[-1]]
    else:
        holder[words[-1]] = operation["value"]
    return name


def _lost(path: str) -> Refusal:
    return bad(f"Couldn't apply patch: can't find a non-existent object '{path}'")
