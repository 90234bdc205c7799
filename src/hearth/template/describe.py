"""Descriptions of templates for the API. Source: docs/spec/rest-api.md, section 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Rejected
from hearth.model.unknown import nulled
from hearth.schema import AllowedPattern, AllowedValues, Constraint, Custom, Length, Modulo, Range
from hearth.template.evaluated import Evaluated
from hearth.template.parameters import CFN_NAMES, MASK, ParameterSchema, ParameterType
from hearth.template.program import Program, ResourceDefinition, reported_by_parent
from hearth.template.versions import BY_VERSION, GRAMMARS, function_text
from hearth.template.world import NOWHERE, NullWorld

NOTHING = "No description"


def parameter_texts(program: Program, *, masked: bool = False) -> dict[str, str]:
    """Return the values of all parameters as text, by name, as `stack show` prints them.

    Hidden parameters are masked, and if `masked` is true, all others are, too.
    """
    return {
        name: MASK if masked and value.schema is not None else value.text
        for name, value in program.parameters.items()
    }


def validated(program: Program, values: Mapping[str, Any], *, show_nested: bool) -> dict[str, Any]:
    """Return the body of the response to template-validate, without the environment.

    The program must have been specialised without checks; `values` are the values in the request.
    If `show_nested` is true, the parameters of nested stacks are added; this raises Rejected if the
    template that a group generates is invalid.
    """
    module = program.module
    body: dict[str, Any] = {
        "Description": module.syntax.description or NOTHING,
        "Parameters": {
            name: _parameter(schema, values.get(name), module.environment.parameter_defaults)
            for name, schema in module.syntax.parameters.items()
        },
    }
    if module.syntax.groups is not None:
        body["ParameterGroups"] = [group.written for group in module.syntax.groups]
    if show_nested:
        nested = _nested(program)
        if nested:
            body["NestedParameters"] = nested
    return body


def _nested(program: Program) -> dict[str, Any]:
    """Return the type and the parameters of each nested stack, by resource name.

    Raises Rejected if the template that a group generates is invalid.
    """
    nested = {}
    for name, definition in program.resources.items():
        evaluated = definition.evaluate(NOWHERE)
        try:
            inside, values = _inside(program, definition, evaluated)
        except Rejected as rejected:
            path = definition.way_in
            raise Rejected(
                [reported_by_parent(problem, path) for problem in rejected.problems]
            ) from None
        if inside is not None:
            body = validated(inside, values, show_nested=True)
            nested[name] = {"Type": definition.type, **body}
        elif hasattr(definition.type_info, "sample"):  # a group whose members are not known
            nested[name] = {"Type": definition.type, "Description": NOTHING, "Parameters": {}}
    return nested


def _sample(
    program: Program, definition: ResourceDefinition, evaluated: Evaluated
) -> Program | None:
    """Return the program of a group without members as if it had one; None if that is not known."""
    sample = getattr(definition.type_info, "sample", None) if not evaluated.problems else None
    template = sample(evaluated.properties) if sample is not None else None
    if template is None:
        return None
    module = program.module.compile_nested(template, definition.name, strict=False)
    return module.specialise({}, stack_name=definition.name, strict=False, check=False)


def _child_parameters(definition: ResourceDefinition, inside: Program) -> dict[str, Any]:
    """Return the values that a resource gives to the parameters of its nested template.

    A reference is the name of its resource, and an attribute is null.
    """
    schemas = inside.module.syntax.parameters
    if definition.child is None:
        return {}
    values = nulled(definition.evaluate(NullWorld(NOWHERE)).properties)
    return {name: _as_text(schemas[name], values[name]) for name in values if name in schemas}


def _as_text(schema: ParameterSchema, value: Any) -> Any:
    """Return the value of a parameter; that of a list as text."""
    if schema.type is not ParameterType.LIST or not isinstance(value, list):
        return value
    return ",".join("" if entry is None else str(entry) for entry in value)


def _inside(
    program: Program, definition: ResourceDefinition, evaluated: Evaluated
) -> tuple[Program | None, Mapping[str, Any]]:
    """Return the program of a nested stack, None if the resource has no nested stack, and the
    values of its parameters.

    If the parameter values of a nested template are invalid, return its program without parameter
    values. Raises Rejected or ValueError if a generated nested stack is invalid.
    """
    try:
        inside = program.inside(definition, evaluated, check=False)
        if inside is None:
            return _sample(program, definition, evaluated), {}
        return inside, _child_parameters(definition, inside)
    except (Rejected, ValueError):
        if definition.child is None:
            raise
        child = definition.child
        return child.specialise({}, stack_name=definition.name, strict=False, check=False), {}


def _parameter(schema: ParameterSchema, value: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "Type": CFN_NAMES[schema.type],
        "Description": schema.description or "",
        "NoEcho": "true" if schema.hidden else "false",
        "Label": schema.label or schema.name,
    }
    if defaults.get(schema.name) is not None:
        entry["Default"] = MASK if schema.hidden else defaults[schema.name]
    elif schema.has_default:
        entry["Default"] = schema.default
    if value:  # an empty value counts as none here
        entry["Value"] = MASK if schema.hidden else value
    if schema.tags:
        entry["Tags"] = list(schema.tags)
    texts = []
    for constraint in schema.constraints:
        entry.update(_constraint(constraint))
        if constraint.description:
            texts.append(constraint.description)
    if texts:
        entry["ConstraintDescription"] = " ".join(texts)
    return entry


def _constraint(constraint: Constraint) -> dict[str, Any]:
    entry: dict[str, Any]
    match constraint:
        case Length(min=low, max=high):
            entry = {"MinLength": low, "MaxLength": high}
        case Range(min=low, max=high):
            entry = {"MinValue": low, "MaxValue": high}
        case Modulo(step=step, offset=offset):
            entry = {"Step": step, "Offset": offset}
        case AllowedValues(values=values):
            entry = {"AllowedValues": list(values)}
        case AllowedPattern(pattern=pattern):
            entry = {"AllowedPattern": pattern}
        case Custom(name=name):
            entry = {"CustomConstraint": name}
        case _:
            entry = {}
    return {key: value for key, value in entry.items() if value is not None}


def versions() -> list[dict[str, Any]]:
    """Return all versions of the template language, in the form of `template-versions`."""
    return [
        {
            "version": f"{grammar.key}.{grammar.value}",
            "type": grammar.type,
            "aliases": [f"{grammar.key}.{alias}" for alias in grammar.aliases],
        }
        for grammar in GRAMMARS
    ]


def functions(version: str, *, conditions: bool) -> list[dict[str, str]] | None:
    """Return the functions of a version, in the form of `template-function-list`.

    `version` has the form `heat_template_version.rocky`. Return None if there is no such version.
    If `conditions` is true, the functions for conditions are included.
    """
    key, _, value = version.partition(".")
    grammar = BY_VERSION.get((key, value))
    if grammar is None:
        return None
    names = {name: function for name, function in grammar.functions.items() if function}
    if conditions:
        names.update(grammar.condition_functions)
    return [{"functions": name, "description": function_text(name)} for name in sorted(names)]
