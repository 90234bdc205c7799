"""Descriptions of templates for the API. Source: spec/rest-api.md, section 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.model.problem import Rejected
from hearth.model.unknown import unknown_in
from hearth.schema import AllowedPattern, AllowedValues, Constraint, Custom, Length, Modulo, Range
from hearth.template.evaluated import Evaluated
from hearth.template.parameters import CFN_NAMES, MASK, ParameterSchema
from hearth.template.program import Program, ResourceDefinition, reported_by_parent
from hearth.template.versions import BY_VERSION, GRAMMARS, function_text
from hearth.template.world import NOWHERE


def parameter_texts(program: Program) -> dict[str, str]:
    """Return the values of all parameters as text, by name, as `stack show` prints them."""
    return {name: value.text for name, value in program.parameters.items()}


def validated(program: Program, given: Mapping[str, Any], *, show_nested: bool) -> dict[str, Any]:
    """Return the body of the response to template-validate, without the environment.

    The program must have been specialised without checks; `given` are the values in the request. If
    `show_nested` is true, the parameters of nested stacks are added; this raises Rejected if the
    template that a group generates is invalid.
    """
    module = program.module
    shown: dict[str, Any] = {
        "Description": module.syntax.description or "No description",
        "Parameters": {
            name: _parameter(schema, given.get(name), module.environment.parameter_defaults)
            for name, schema in module.syntax.parameters.items()
        },
    }
    if module.syntax.groups is not None:
        shown["ParameterGroups"] = [group.written for group in module.syntax.groups]
    if show_nested:
        nested = _nested(program)
        if nested:
            shown["NestedParameters"] = nested
    return shown


def _nested(program: Program) -> dict[str, Any]:
    """Return the type and the parameters of each nested stack, by resource name.

    Raises Rejected if the template that a group generates is invalid.
    """
    nested = {}
    for name, definition in program.resources.items():
        evaluated = definition.evaluate(NOWHERE)
        try:
            inside = _inside(program, definition, evaluated)
        except Rejected as rejected:
            path = definition.way_in
            raise Rejected([reported_by_parent(one, path) for one in rejected.problems]) from None
        if inside is None:
            continue
        given = evaluated.properties if definition.child is not None else {}
        values = {key: value for key, value in given.items() if unknown_in(value) is None}
        shown = validated(inside, values, show_nested=True)
        nested[name] = {"Type": definition.type, **shown}
    return nested


def _inside(
    program: Program, definition: ResourceDefinition, evaluated: Evaluated
) -> Program | None:
    """Return the program of a nested stack, or None if the resource has no nested stack.

    If the parameter values of a nested template are invalid, return its program without parameter
    values. Raises Rejected or ValueError if a generated nested stack is invalid.
    """
    try:
        return program.inside(definition, evaluated, check=False)
    except (Rejected, ValueError):
        if definition.child is None:
            raise
        return definition.child.specialise(
            {}, stack_name=definition.name, strict=False, check=False
        )


def _parameter(schema: ParameterSchema, given: Any, defaults: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "Type": CFN_NAMES[schema.type],
        "Description": schema.description or "",
        "NoEcho": "true" if schema.hidden else "false",
        "Label": schema.label or schema.name,
    }
    if defaults.get(schema.name) is not None:
        shown["Default"] = MASK if schema.hidden else defaults[schema.name]
    elif schema.has_default:
        shown["Default"] = schema.default
    if given:  # an empty value counts as none here
        shown["Value"] = MASK if schema.hidden else given
    if schema.tags:
        shown["Tags"] = list(schema.tags)
    texts = []
    for constraint in schema.constraints:
        shown.update(_constraint(constraint))
        if constraint.description:
            texts.append(constraint.description)
    if texts:
        shown["ConstraintDescription"] = " ".join(texts)
    return shown


def _constraint(constraint: Constraint) -> dict[str, Any]:
    found: dict[str, Any]
    match constraint:
        case Length(min=low, max=high):
            found = {"MinLength": low, "MaxLength": high}
        case Range(min=low, max=high):
            found = {"MinValue": low, "MaxValue": high}
        case Modulo(step=step, offset=offset):
            found = {"Step": step, "Offset": offset}
        case AllowedValues(values=values):
            found = {"AllowedValues": list(values)}
        case AllowedPattern(pattern=pattern):
            found = {"AllowedPattern": pattern}
        case Custom(name=name):
            found = {"CustomConstraint": name}
        case _:
            found = {}
    return {key: value for key, value in found.items() if value is not None}


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
    names = {name: known for name, known in grammar.functions.items() if known}
    if conditions:
        names.update(grammar.condition_functions)
    return [{"functions": name, "description": function_text(name)} for name in sorted(names)]
