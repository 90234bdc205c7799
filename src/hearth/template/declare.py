"""Read the declarations of parameters: from nodes to schemas, with all errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hearth.model.problem import InvalidSchemaError, Problem, hint, nearest
from hearth.model.span import Span
from hearth.schema import AllowedPattern, AllowedValues, Constraint, Custom, Length, Modulo, Range
from hearth.schema.patterns import compiled
from hearth.schema.prop import UNSET
from hearth.template.load import Node
from hearth.template.parameters import (
    CFN_NAMES,
    FITS,
    ParameterSchema,
    ParameterType,
    bound,
    parse_value,
    wrong,
)
from hearth.template.versions import Grammar

WRONG_DEFAULT = "wrong-default"
"""The code of the rule that a default must be a valid value."""


class InvalidBound(InvalidSchemaError, frozen=True):
    """The problem of a limit in a constraint that is not a number."""

    @property
    def kind(self) -> str:
        return "ValueError"


class _Bad(Exception):
    """A declaration is invalid. The error is at a node or at the key of a node."""

    def __init__(
        self,
        message: str,
        node: Node,
        kind: type[InvalidSchemaError],
        *,
        at_key: bool = False,
        code: str = "wrong-declaration",
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message)
        self.place = (node.key_line, node.key_column) if at_key else (node.line, node.column)
        self.kind = kind
        self.code = code
        self.suggestion = suggestion


def _bad(message: str, node: Node, code: str = "wrong-declaration") -> _Bad:
    return _Bad(message, node, InvalidSchemaError, code=code)


def _unknown(message: str, word: str, names: Iterable[str], node: Node, *, at_key: bool) -> _Bad:
    near = nearest(word, names)
    code = "unknown-key" if at_key else "unknown-type"
    return _Bad(
        message + hint(near), node, InvalidSchemaError, at_key=at_key, code=code, suggestion=near
    )


class Declarations(Struct):
    """Reads the section of one template that declares parameters."""

    grammar: Grammar
    file: str
    problems: list[Problem]

    def read(self, section: Node) -> dict[str, ParameterSchema]:
        """Return the schemas of the parameters by name, and append errors to `problems`.

        Invalid declarations are left out, except those in which only the default is invalid.
        """
        schemas = {}
        for name, node in section.value.items():
            path = f"{self.grammar.word('parameters')}.{name}"
            wrongs: list[_Bad] = []
            try:
                schema = schemas[name] = self.one(
                    name, node, node.key_span(self.file, path), wrongs
                )
                if not wrongs:
                    self.check_default(schema, node)
            except _Bad as bad:
                if not any(
                    problem.suggestion in ("type", "Type") for problem in wrongs
                ):  # reported
                    wrongs.append(bad)
            for problem in wrongs:
                if problem.code != WRONG_DEFAULT:  # the declaration itself is valid
                    schemas.pop(name, None)
                at = Span(self.file, *problem.place, path)
                message = f'parameter "{name}": {problem}'
                self.problems.append(
                    problem.kind(at, message, code=problem.code, suggestion=problem.suggestion)
                )
        return schemas

    def one(self, name: str, node: Node, at: Span, wrongs: list[_Bad]) -> ParameterSchema:
        """Return the schema of one parameter.

        Raises _Bad if the declaration cannot be used; other errors are appended to `wrongs`.
        """
        fields = node.value
        if not isinstance(fields, dict):
            raise _bad("the declaration must be a map", node)
        for key in fields:
            if key not in self.grammar.parameter_keys:
                message, keys = f'unknown key "{key}"', self.grammar.parameter_keys
                wrongs.append(_unknown(message, key, keys, fields[key], at_key=True))
        schema = self.hot(name, node, at, wrongs) if self.grammar.hot else self.cfn(name, node, at)
        for constraint in schema.constraints:
            if schema.type not in FITS[type(constraint)]:
                kind = schema.type if self.grammar.hot else CFN_NAMES[schema.type]
                wrongs.append(
                    _bad(
                        f"{type(constraint).__name__} cannot constrain a parameter of type {kind}",
                        node,
                    )
                )
        return schema

    def check_default(self, schema: ParameterSchema, node: Node) -> None:
        """Check a default as if it were a value. Raises _Bad.

        A default of the wrong type without constraints is not checked here. It is checked only if
        it is used, because the request may contain a value instead.
        """
        if not schema.has_default:
            return
        default = node.value["default" if self.grammar.hot else "Default"]
        try:
            value = parse_value(schema.type, schema.default)
        except ValueError as error:
            if schema.judged_late:
                return
            raise _bad(f"default: {error}", default, WRONG_DEFAULT) from None
        text = wrong(schema, value)
        if text is not None:
            raise _bad(f"default: {text}", default, WRONG_DEFAULT)

    def hot(self, name: str, node: Node, at: Span, wrongs: list[_Bad]) -> ParameterSchema:
        fields: dict[str, Node] = node.value
        kind = self.type_of(
            fields.get("type"), node, {str(ptype): ptype for ptype in ParameterType}
        )
        tags = fields["tags"].plain() if "tags" in fields else []
        if not isinstance(tags, list):
            raise _bad("tags must be a list", fields["tags"])
        constraints: list[Constraint] = []
        if "constraints" in fields:
            section = fields["constraints"]
            if not isinstance(section.value, list | None):
                raise _bad("constraints must be a list", section)
            for entry in section.value or ():
                try:
                    constraints.append(self.constraint(entry, kind))
                except _Bad as bad:
                    wrongs.append(bad)
        return ParameterSchema(
            name=name,
            type=kind,
            description=_value(fields, "description", ""),
            label=_value(fields, "label"),
            default=_value(fields, "default", UNSET),
            hidden=_flag(fields, "hidden"),
            immutable=_flag(fields, "immutable"),
            constraints=tuple(constraints),
            tags=tuple(tags),
            at=at,
        )

    def type_of(
        self, node: Node | None, owner: Node, names: Mapping[str, ParameterType]
    ) -> ParameterType:
        if node is None:
            raise _bad("the type is missing", owner)
        kind = names.get(node.value) if isinstance(node.value, str) else None
        if kind is None:
            message = f'there is no type "{node.plain()}"'
            raise _unknown(message, str(node.value), names, node, at_key=False)
        return kind

    def constraint(self, node: Node, kind: ParameterType) -> Constraint:
        if not isinstance(node.value, dict):
            raise _bad("a constraint must be a map", node)
        fields = node.value
        for key in fields:
            if key != "description" and key not in self.grammar.constraints:
                message, keys = f'"{key}" is not a constraint', self.grammar.constraints
                raise _unknown(message, key, keys, fields[key], at_key=True)
        for key in self.grammar.constraints:
            if key in fields:
                try:
                    constraint = BUILD[key](fields[key], kind)
                except _Bad as bad:
                    bad.args = (f"{key}: {bad}",)
                    raise
                text = _value(fields, "description")
                return constraint if text is None else replace(constraint, description=str(text))
        raise _bad(f"expected one of the constraints {', '.join(self.grammar.constraints)}", node)

    def cfn(self, name: str, node: Node, at: Span) -> ParameterSchema:
        fields: dict[str, Node] = node.value
        names = {word: kind for kind, word in CFN_NAMES.items()}
        kind = self.type_of(fields.get("Type"), node, names)
        constraints: list[Constraint] = []
        if "MinValue" in fields or "MaxValue" in fields:
            low, high = _bounds(fields, "MinValue", "MaxValue", integral=False)
            constraints.append(Range(min=low, max=high))
        if "MinLength" in fields or "MaxLength" in fields:
            low, high = _bounds(fields, "MinLength", "MaxLength", integral=True)
            constraints.append(Length(min=low, max=high))
        if "AllowedValues" in fields:
            constraints.append(_allowed_values(fields["AllowedValues"], kind))
        if "AllowedPattern" in fields:
            constraints.append(_allowed_pattern(fields["AllowedPattern"], kind))
        text = _value(fields, "ConstraintDescription")
        if text is not None:
            constraints = [replace(constraint, description=str(text)) for constraint in constraints]
        return ParameterSchema(
            name=name,
            type=kind,
            description=_value(fields, "Description", ""),
            label=_value(fields, "Label"),
            default=_value(fields, "Default", UNSET),
            hidden=str(_value(fields, "NoEcho")).lower() == "true",
            constraints=tuple(constraints),
            at=at,
        )


def _value(fields: Mapping[str, Node], key: str, absent: Any = None) -> Any:
    return fields[key].plain() if key in fields else absent


def _flag(fields: Mapping[str, Node], key: str) -> bool:
    value = _value(fields, key)
    if value is None or isinstance(value, bool):
        return bool(value)
    word = str(value).lower()
    if word in ("true", "false"):
        return word == "true"
    raise _bad(f"{key} must be true or false", fields[key])


def _bounds(fields: Mapping[str, Node], low: str, high: str, *, integral: bool) -> tuple[Any, Any]:
    bounds = []
    for key in (low, high):
        try:
            bounds.append(bound(_value(fields, key), integral))
        except ValueError as error:
            raise _Bad(f"{key}: {error}", fields[key], InvalidBound) from None
        except TypeError as error:
            raise _bad(f"{key}: {error}", fields[key]) from None
    return bounds[0], bounds[1]


def _two_bounds(
    node: Node, names: tuple[str, str], *, integral: bool, complete: bool
) -> tuple[Any, Any]:
    if not isinstance(node.value, dict):
        raise _bad(f"expected a map with the keys {' and '.join(names)}", node)
    for key in node.value:
        if key not in names:
            raise _unknown(f'unknown bound "{key}"', key, names, node.value[key], at_key=True)
    absent = [name for name in names if name not in node.value]
    if len(absent) > (0 if complete else 1):
        raise _bad(
            f"expected the keys {' and '.join(names)}; {' and '.join(absent)} is missing",
            node,
        )
    low, high = _bounds(node.value, *names, integral=integral)
    if low is None and high is None:
        raise _bad(f"expected {' or '.join(names)} or both", node)
    return low, high


def _length(node: Node, kind: ParameterType) -> Constraint:
    low, high = _two_bounds(node, ("min", "max"), integral=True, complete=False)
    return Length(min=low, max=high)


def _range(node: Node, kind: ParameterType) -> Constraint:
    low, high = _two_bounds(node, ("min", "max"), integral=False, complete=False)
    return Range(min=low, max=high)


def _modulo(node: Node, kind: ParameterType) -> Constraint:
    step, offset = _two_bounds(node, ("step", "offset"), integral=True, complete=True)
    if not step or abs(offset) >= abs(step) or step * offset < 0:
        message = "the offset must be smaller than the step and have the same sign"
        raise _bad(f"step {step} and offset {offset}: {message}", node)
    return Modulo(step=step, offset=offset)


def _allowed_values(node: Node, kind: ParameterType) -> Constraint:
    values = node.plain()
    if not isinstance(values, list):
        raise _bad("the allowed values must be a list", node)
    if kind not in (ParameterType.NUMBER, ParameterType.STRING, ParameterType.BOOLEAN):
        return AllowedValues(tuple(values))
    compared = []
    for value in values:
        try:
            compared.append(parse_value(kind, value))
        except ValueError:
            compared.append(value)
    return AllowedValues(tuple(values), compared=tuple(compared))


def _allowed_pattern(node: Node, kind: ParameterType) -> Constraint:
    if not isinstance(node.value, str):
        raise _bad("the pattern must be a string", node)
    try:
        compiled(node.value)
    except (re.error, RecursionError, OverflowError) as error:
        raise _bad(f"the pattern is invalid: {error}", node) from None
    return AllowedPattern(node.value)


def _custom(node: Node, kind: ParameterType) -> Constraint:
    if not isinstance(node.value, str):
        raise _bad("the name of a custom constraint must be a string", node)
    return Custom(node.value)


BUILD: dict[str, Callable[[Node, ParameterType], Constraint]] = {
    "length": _length,
    "range": _range,
    "modulo": _modulo,
    "allowed_values": _allowed_values,
    "allowed_pattern": _allowed_pattern,
    "custom_constraint": _custom,
}
