"""The values of parameters for one stack: from the request, from defaults, and of pseudo
parameters.

Source: docs/spec/hot.md, sections 4.1 and 4.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from msgspec import Struct, field

from hearth.model.problem import (
    Problem,
    StackValidationFailed,
    UnknownUserParameter,
    UserParameterMissing,
    nearest,
)
from hearth.model.span import Span
from hearth.model.unknown import Unknown
from hearth.schema import Lookup
from hearth.template.hidden import masked, texts_in
from hearth.template.parameters import (
    ParameterSchema,
    ParameterType,
    ParameterValue,
    lookups,
    parse_value,
    unquoted,
    wrong,
)
from hearth.template.parse import Syntax

CFN_REGION = "ap-southeast-1"


class Stack(Struct, frozen=True):
    """The name, the id and the project of the stack for which a program is created."""

    name: str
    id: str
    project_id: str


class ParameterReader(Struct):
    """Determines the values of the parameters of one template.

    It collects errors, the names of missing parameters, and the checks that need the cloud.
    """

    syntax: Syntax
    defaults: Mapping[str, Any]
    stack: Stack
    strict: bool
    check: bool = True  # else values of a wrong type and values that are not allowed are accepted
    problems: list[Problem] = field(default_factory=list)
    lookups: list[Lookup] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)

    def read(self, raw_values: Mapping[str, Any]) -> dict[str, ParameterValue]:
        schemas = self.syntax.parameters
        for name in raw_values:
            if name not in schemas and (self.strict or not self.check):
                at = Span(self.syntax.file)
                self.problems.append(UnknownUserParameter(at, name, nearest(name, schemas)))
        values = pseudo_parameters(self.syntax, self.stack)
        for name, schema in schemas.items():
            value = raw_values.get(name)
            if value is None:
                value = self.defaults.get(name)
            provided = value is not None
            if value is None and schema.has_default:
                value = schema.default
            if value is None:
                self.missing.add(name)
                values.pop(name, None)
                if self.strict:
                    self.problems.append(UserParameterMissing(schema.at, name))
                continue
            parsed = self.parsed(schema, value, check=provided)
            values[name] = ParameterValue(schema, parsed, provided)
        return values

    def parsed(self, schema: ParameterSchema, value: Any, *, check: bool) -> Any:
        at = schema.at or Span(self.syntax.file)
        try:
            parsed = parse_value(schema.type, value)
        except ValueError as error:
            if self.check:
                self.problems.append(_bad_value(schema, at, value, str(error)))
            return value
        if isinstance(parsed, Unknown) or not self.check:
            return parsed
        text = unquoted(schema, value) or wrong(schema, parsed) if check else None
        if text is not None:
            self.problems.append(_bad_value(schema, at, value, text))
        else:
            self.lookups.extend(
                Lookup(constraint.name, parsed, at, constraint.description)
                for constraint in lookups(schema)
            )
        return parsed


def pseudo_parameters(syntax: Syntax, stack: Stack) -> dict[str, ParameterValue]:
    """Return the pseudo parameters, such as `OS::stack_name`, with their values, by name."""
    values = {
        "OS::stack_name": stack.name,
        "OS::stack_id": stack.id,
        "OS::project_id": stack.project_id,
    }
    if not syntax.grammar.hot:
        arn = f"arn:openstack:heat::{stack.project_id}:stacks/{stack.name}/{stack.id}"
        values = {
            "AWS::StackName": stack.name,
            "AWS::StackId": arn,
            "AWS::Region": CFN_REGION,
        }
    return {name: ParameterValue(_pseudo(name), value) for name, value in values.items()}


@cache
def _pseudo(name: str) -> ParameterSchema:
    return ParameterSchema(name, ParameterType.STRING)


def _bad_value(schema: ParameterSchema, at: Span, value: Any, text: str) -> Problem:
    if schema.hidden:
        text = masked(text, texts_in([value], characters_min=1))
    return StackValidationFailed(at, f'parameter "{schema.name}": {text}')
