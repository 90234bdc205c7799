"""Descriptions of types, properties, attributes and parameters, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hearth.authoring.lsp.schemas import Kin
from hearth.schema import (
    AllowedPattern,
    AllowedValues,
    Attr,
    Constraint,
    Custom,
    Length,
    Modulo,
    Prop,
    Range,
    Support,
    SupportStatus,
)
from hearth.template.parameters import ParameterSchema

VALUES_SHOWN_MAX = 20


def type_text(kin: Kin) -> str:
    """Return the description of a resource type, with its required properties."""
    parts = [f"**{kin.name}**"]
    if kin.child is not None:
        parts.append(f"Nested template `{kin.child.path.name}`.")
    elif first := type_line(kin.info):
        parts.append(first)
    parts += _support(kin.info.support if kin.info else None)
    required = [name for name, prop in kin.properties.items() if prop.required]
    if required:
        parts.append("Required: " + ", ".join(f"`{name}`" for name in required))
    if kin.attributes:
        parts.append("Attributes: " + ", ".join(f"`{name}`" for name in kin.attributes))
    return "\n\n".join(parts)


def type_line(info: object) -> str:
    """Return the first line of the description of a type; empty if Hearth cannot create it."""
    if info is None or type(info).__name__ == "DeclaredType":
        return ""
    return (getattr(info, "__doc__", None) or "").strip().split("\n")[0]


def property_line(prop: Prop) -> str:
    """Return a short description of a property, on one line."""
    return f"{prop.kind}, required" if prop.required else str(prop.kind)


def property_text(name: str, prop: Prop, top: Prop | None = None) -> str:
    """Return the description of a property: its type, default and constraints, and what a change
    does.

    If the property is inside another property, `top` is the property of the resource that contains
    it.
    """
    top = top or prop
    parts = [f"**{name}** ({property_line(prop)})"]
    if prop.description:
        parts.append(prop.description)
    if prop.has_default and prop.default is not None:
        parts.append(f"Default: `{shown(prop.default)}`")
    parts += [f"- {constraint_text(constraint)}" for constraint in prop.constraints]
    if top.immutable:
        parts.append("It can not be changed.")
    elif top.update_allowed:
        parts.append("A change updates the resource.")
    else:
        parts.append("A change replaces the resource.")
    if not prop.implemented:
        parts.append("Not implemented: it can not be given.")
    parts += _support(prop.support)
    return "\n\n".join(parts)


def attribute_text(name: str, attribute: Attr) -> str:
    """Return the description of an attribute of a type."""
    kind = f" ({attribute.kind})" if attribute.kind else ""
    parts = [f"**{name}**{kind}", attribute.description, *_support(attribute.support)]
    return "\n\n".join(part for part in parts if part)


def parameter_text(schema: ParameterSchema) -> str:
    """Return the description of a parameter."""
    parts = [f"**{schema.name}** ({schema.type})"]
    if schema.label:
        parts.append(str(schema.label))
    if schema.description:
        parts.append(str(schema.description))
    if schema.has_default:
        parts.append("Default: " + ("hidden" if schema.hidden else f"`{shown(schema.default)}`"))
    parts += [f"- {constraint_text(constraint)}" for constraint in schema.constraints]
    if schema.hidden:
        parts.append("Hidden: shown as stars.")
    if schema.immutable:
        parts.append("It can not be changed.")
    return "\n\n".join(parts)


def constraint_text(constraint: Constraint) -> str:
    """Return the description of a constraint: the text of the template's author, or else a standard
    text.
    """
    if constraint.description:
        return constraint.description
    match constraint:
        case Length():
            return f"length {_bounds(constraint.min, constraint.max)}"
        case Range():
            return f"range {_bounds(constraint.min, constraint.max)}"
        case Modulo():
            return f"a multiple of {constraint.step} plus {constraint.offset}"
        case AllowedValues():
            texts = [
                f"`{shown(allowed_value)}`"
                for allowed_value in constraint.values[:VALUES_SHOWN_MAX]
            ]
            ellipsis = ", …" if len(constraint.values) > VALUES_SHOWN_MAX else ""
            return f"one of {', '.join(texts)}{ellipsis}"
        case AllowedPattern():
            return f"matches `{constraint.pattern}`"
        case Custom():
            return f"must satisfy `{constraint.name}`"


def shown(value: Any) -> str:
    """Return a value on one line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _bounds(low: float | None, high: float | None) -> str:
    if low is None:
        return f"up to {high}"
    return f"from {low}" if high is None else f"from {low} to {high}"


def _support(support: Support | None) -> Iterable[str]:
    if support is None or support.status == SupportStatus.SUPPORTED:
        return ()
    text = f"{str(support.status).capitalize()}"
    if support.version:
        text += f" since {support.version}"
    return (f"*{text}*" + (f": {support.message}" if support.message else ""),)
