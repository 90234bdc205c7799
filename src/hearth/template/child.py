"""Nested templates as resource types: parameters become properties, outputs become attributes.

Source: docs/spec/hot.md, section 10; docs/spec/groups-and-nesting.md, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from hearth.model.problem import Problem, StackValidationFailed
from hearth.model.span import Span
from hearth.model.unknown import UNKNOWN, Unknown, unknown_in
from hearth.schema import Attr, Prop, Support, ValueKind, Violation
from hearth.template.parameters import ParameterSchema, ParameterType
from hearth.template.types import Definition, Definitions, TypeInfo


class ChildType(Struct, frozen=True):
    """The resource type that a nested template represents.

    `properties` and `attributes` follow from the other values.
    """

    name: str
    parameters: Mapping[str, ParameterSchema]
    outputs: Mapping[str, str]  # name: description
    defaults: frozenset[str] = frozenset()  # names that parameter_defaults cover
    properties: Mapping[str, Prop] = {}
    attributes: Mapping[str, Attr] = {}
    update_policy: Mapping[str, Prop] = {}
    support: Support | None = None
    accepts_any_attribute: bool = True
    snapshot_policy_allowed: bool = True

    def __post_init__(self) -> None:
        properties = {
            name: schema.as_property(not schema.has_default and name not in self.defaults)
            for name, schema in self.parameters.items()
        }
        attributes = {name: Attr(None, text) for name, text in self.outputs.items()}
        force_setattr(self, "properties", properties)
        force_setattr(self, "attributes", attributes)

    def conflicts(self, properties: Mapping[str, Any]) -> Iterable[Violation]:
        """Return nothing, because the nested template itself reports invalid parameters."""
        return ()

    def implicit_requires(
        self, name: str, definition: Definition, program: Definitions
    ) -> Iterable[str]:
        """Return nothing, because a nested stack depends only on the references in its
        properties.
        """
        return ()


def parameters_of(
    properties: Mapping[str, Any], schemas: Mapping[str, ParameterSchema]
) -> dict[str, Any]:
    """Convert property values to the parameters of the nested stack.

    Properties without a parameter in `schemas` are left out. Raises ValueError if a list for a
    parameter that is not JSON contains anything but strings; a list of maps is allowed.
    """
    values = {}
    for name, value in properties.items():
        schema = schemas.get(name)
        if schema is None:
            continue
        values[name] = _as_parameter(schema.type, value)
    return values


def _as_parameter(kind: ParameterType, value: Any) -> Any:
    if isinstance(value, Unknown) or (kind is not ParameterType.JSON and unknown_in(value)):
        return unknown_in(value) or UNKNOWN
    if value is None:
        return EMPTY[kind]
    if isinstance(value, list) and kind is not ParameterType.JSON:
        return _joined(value)
    return value


EMPTY: Mapping[ParameterType, Any] = {
    ParameterType.STRING: "",
    ParameterType.NUMBER: 0,
    ParameterType.LIST: "",
    ParameterType.JSON: {},
    ParameterType.BOOLEAN: False,
}
"""The parameter value for a null property, by the type of the parameter."""


def _joined(items: list[Any]) -> str:
    if items and all(isinstance(item, Mapping) for item in items):
        return ",".join(
            f".member.{index}.{key}={value}"
            for index, item in enumerate(items)
            for key, value in item.items()
        )
    texts = []
    for item in items:
        if item is not None and not isinstance(item, str):
            raise ValueError(f"a list for a nested stack may contain only strings, not {item!r}")
        texts.append(item or "")
    return ",".join(texts)


SAME_KIND = {ValueKind.INTEGER: ValueKind.NUMBER}


def misfits(child: ChildType, built_in: TypeInfo, at: Span) -> list[Problem]:
    """Return the problems because of which a nested template cannot replace a built-in type.

    They are reported at `at`, the place of the resource.
    """
    problems: list[Problem] = []

    def wrong(message: str, span: Span = at) -> None:
        problems.append(StackValidationFailed(span, f"{child.name}: {message}", code="misfit"))

    for name, prop in built_in.properties.items():
        parameter = child.properties.get(name)
        if parameter is None:
            if prop.required:
                wrong(f'no parameter "{name}", a required property of {built_in.name}')
        elif (
            prop.kind is not ValueKind.ANY
            and SAME_KIND.get(prop.kind, prop.kind) is not parameter.kind
        ):
            wrong(f'parameter "{name}" must be a {prop.kind}, as in {built_in.name}')
    for name, parameter in child.properties.items():
        if parameter.required and name not in built_in.properties:
            message = f'parameter "{name}" is required, but {built_in.name} has no such property'
            wrong(message, at.under("properties"))
    for name in built_in.attributes:
        if name != "show" and name not in child.attributes:
            wrong(f'no output "{name}", an attribute of {built_in.name}')
    return problems


def inside(problem: Problem, path: str) -> Problem:
    """Return a problem of a nested template, with `path` prepended to its path.

    `path` leads from the root template to the nested one.
    """
    at = problem.at or Span()
    inner = f"{path}.{at.path}" if at.path else path
    return replace(problem, at=replace(at, path=inner))
