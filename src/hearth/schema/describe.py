"""Property and attribute schemas in the JSON format of the REST API.

Source: docs/spec/rest-api.md, section 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.schema.constraint import (
    AllowedPattern,
    AllowedValues,
    Constraint,
    Custom,
    Length,
    Modulo,
    Range,
)
from hearth.schema.prop import Attr, Prop


def as_json(declared: Prop | Attr) -> dict[str, Any]:
    """Return the schema of a property or an attribute as the resource type API shows it."""
    if isinstance(declared, Attr):
        body: dict[str, Any] = {"description": declared.description}
        if declared.kind is not None:
            body["type"] = declared.kind.value
        return body
    return _property(declared)


def _property(prop: Prop) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": prop.kind.value,
        "required": prop.required,
        "update_allowed": prop.update_allowed,
        "immutable": prop.immutable,
    }
    if prop.has_default and prop.default is not None:
        body["default"] = prop.default
    if prop.description:
        body["description"] = prop.description
    if prop.constraints:
        body["constraints"] = [constraint_as_json(constraint) for constraint in prop.constraints]
    if isinstance(prop.schema, Mapping):
        body["schema"] = {name: _property(inner) for name, inner in prop.schema.items()}
    elif prop.schema is not None:
        body["schema"] = {"*": _property(prop.schema)}
    return body


def constraint_as_json(constraint: Constraint) -> dict[str, Any]:
    """Return a constraint as a map: its type and limits, and its description if it has one."""
    match constraint:
        case Length():
            body: dict[str, Any] = {"length": _bounds(constraint)}
        case Range():
            body = {"range": _bounds(constraint)}
        case Modulo():
            body = {"modulo": {"step": constraint.step, "offset": constraint.offset}}
        case AllowedValues():
            body = {"allowed_values": list(constraint.values)}
        case AllowedPattern():
            body = {"allowed_pattern": constraint.pattern}
        case Custom():
            body = {"custom_constraint": constraint.name}
    if constraint.description:
        body["description"] = constraint.description
    return body


def _bounds(constraint: Length | Range) -> dict[str, Any]:
    bounds = {"min": constraint.min, "max": constraint.max}
    return {name: bound for name, bound in bounds.items() if bound is not None}
