"""Validation of the inputs and outputs of software configurations.

Source: docs/spec/software-config.md, section 1; docs/spec/rest-api.md, section 6.
"""

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Problem, StackValidationFailed
from hearth.model.span import Span
from hearth.schema import ANY, BOOLEAN, STRING, AllowedValues, Findings, Prop, coerce_all
from hearth.schema.check import PREFIX
from hearth.template.parameters import CFN_NAMES, ParameterType, parse_value

UNGROUPED = "Heat::Ungrouped"
"""The group of a configuration without a group."""
TYPES = {name: kind for kind, name in CFN_NAMES.items()}
EMPTY: Mapping[ParameterType, Any] = {
    ParameterType.STRING: "",
    ParameterType.NUMBER: 0,
    ParameterType.LIST: [],
    ParameterType.JSON: {},
    ParameterType.BOOLEAN: False,
}
"""For each type, the default that is given as null."""
_TYPE = Prop(
    STRING,
    "Type of the value.",
    default="String",
    constraints=(AllowedValues(tuple(TYPES)),),
)
INPUT = {
    "name": Prop(STRING, "Name of the input.", required=True),
    "type": _TYPE,
    "description": Prop(STRING, "Description."),
    "default": Prop(ANY, "Default value."),
    "replace_on_change": Prop(BOOLEAN, "true: a new value replaces the deployment."),
    "value": Prop(ANY, "Its value, in the configuration of a deployment."),
}
OUTPUT = {
    "name": Prop(STRING, "Name of the output.", required=True),
    "type": _TYPE,
    "description": Prop(STRING, "Description of the output."),
    "error_output": Prop(
        BOOLEAN, "true: any value means that the deployment failed.", default=False
    ),
}


def inputs(declared: Any, at: Span, problems: list[Problem]) -> list[dict[str, Any]]:
    """Validate a list of inputs and return them in their stored form; add mistakes to `problems`.

    Values are not converted. A default is converted to the type of its input; it must match that
    type or be empty text.
    """
    checked = _items(INPUT, declared, at, problems)
    for index, (item, before) in enumerate(zip(checked, _maps(declared), strict=True)):
        if "value" in before:
            item["value"] = before["value"]  # null too: agents want one
        kind = TYPES.get(str(item.get("type")))
        if kind is not None and "default" in before:
            try:
                item["default"] = typed_default(kind, before["default"])
            except ValueError as wrong:
                problems.append(_wrong(at.under(index, "default"), str(wrong)))
    return checked


def typed_default(kind: ParameterType, value: Any) -> Any:
    """Return the default of an input, converted to its type as in Heat. Raises ValueError.

    Null becomes the empty value of the type. Empty text, JSON, lists and maps stay as they are.
    """
    if value is None:
        return EMPTY[kind]
    if value == "":
        return value
    parsed = parse_value(kind, value)
    as_is = kind is ParameterType.JSON or isinstance(value, list | Mapping)
    return value if as_is else parsed


def outputs(declared: Any, at: Span, problems: list[Problem]) -> list[dict[str, Any]]:
    """Validate a list of outputs and return them in their stored form; add mistakes to
    `problems`.
    """
    return _items(OUTPUT, declared, at, problems)


def _items(
    schema: Mapping[str, Prop], declared: Any, at: Span, problems: list[Problem]
) -> list[dict[str, Any]]:
    """Convert each map in the list `declared` by the schema and return the maps.

    Anything that is not a list of maps is added to `problems`.
    """
    if declared is not None and not isinstance(declared, list):
        problems.append(_wrong(at, "expected a list"))
        return []
    findings, checked = Findings(problems), []
    for index, item in enumerate(declared or ()):
        if isinstance(item, Mapping):
            checked.append(coerce_all(schema, item, at.under(index), findings))
        else:
            problems.append(_wrong(at.under(index), "expected a map"))
    return checked


def _maps(declared: Any) -> list[Mapping[str, Any]]:
    return (
        [item for item in declared if isinstance(item, Mapping)]
        if isinstance(declared, list)
        else []
    )


def _wrong(at: Span, message: str) -> Problem:
    return StackValidationFailed(at, message, PREFIX)
