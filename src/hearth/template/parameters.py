"""Parameters: declarations, values, and their representation as text.

Source: docs/spec/hot.md, section 4; docs/spec/cfn-template.md, section 2.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hearth.model.json_text import decode_json, too_deep
from hearth.model.span import Span
from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind
from hearth.schema import AllowedPattern, AllowedValues, Constraint, Custom, Length, Modulo, Range
from hearth.schema.prop import UNSET, Prop

MASK = "******"


class ParameterType(StrEnum):
    """The type of a parameter, by its HOT name."""

    STRING = "string"
    NUMBER = "number"
    LIST = "comma_delimited_list"
    JSON = "json"
    BOOLEAN = "boolean"


CFN_NAMES = {
    ParameterType.STRING: "String",
    ParameterType.NUMBER: "Number",
    ParameterType.LIST: "CommaDelimitedList",
    ParameterType.JSON: "Json",
    ParameterType.BOOLEAN: "Boolean",
}

KINDS = {
    ParameterType.STRING: ValueKind.STRING,
    ParameterType.NUMBER: ValueKind.NUMBER,
    ParameterType.LIST: ValueKind.LIST,
    ParameterType.JSON: ValueKind.MAP,
    ParameterType.BOOLEAN: ValueKind.BOOLEAN,
}


class ParameterSchema(Struct, frozen=True):
    """The declaration of a parameter."""

    name: str
    type: ParameterType
    description: Any = ""
    label: Any = None
    default: Any = UNSET
    hidden: bool = False
    immutable: bool = False
    constraints: tuple[Constraint, ...] = ()
    tags: tuple[Any, ...] = ()
    at: Span | None = None

    @property
    def has_default(self) -> bool:
        return self.default is not UNSET and self.default is not None

    @property
    def judged_late(self) -> bool:
        """Whether a default of the wrong type is an error only if it is used."""
        if self.type is ParameterType.LIST:
            return False
        return self.type is ParameterType.JSON or not self.constraints

    def as_property(self, required: bool) -> Prop:
        """Return the property that this parameter becomes if the template is used as a resource
        type.

        `required` is whether the property must be given.
        """
        return Prop(
            KINDS[self.type],
            str(self.description or ""),
            required=required,
            nullable=True,
            update_allowed=True,
            immutable=self.immutable,
            constraints=tuple(
                constraint for constraint in self.constraints if not _of_text(constraint, self.type)
            ),
            allow_conversion=self.type in (ParameterType.LIST, ParameterType.JSON),
        )


class ParameterValue(Struct, frozen=True):
    """The value of a parameter, with its declaration; `value` may be Unknown."""

    schema: ParameterSchema
    value: Any
    given: bool = True

    @property
    def hidden(self) -> bool:
        return self.schema.hidden

    @property
    def text(self) -> str:
        """The value as text, as `stack show` prints it."""
        if self.schema.hidden:
            return MASK
        return text_form(self.schema.type, self.value)


def _of_text(constraint: Constraint, kind: ParameterType) -> bool:
    """Return whether a constraint checks the text of a value instead of the parsed value."""
    return kind is ParameterType.JSON and isinstance(constraint, Length)


def text_form(kind: ParameterType, value: Any) -> str:
    """Return a parsed value as text; empty text for null and for an Unknown."""
    if isinstance(value, Unknown) or value is None:
        return ""
    match kind:
        case ParameterType.LIST:
            return ",".join(str(item) for item in value)
        case ParameterType.JSON:
            return json.dumps(value)
        case _:
            return str(value)


def parse_value(kind: ParameterType, value: Any) -> Any:
    """Return the value converted to the type; an Unknown is kept.

    Raises ValueError if the value cannot be converted, or is nested too deep.
    """
    if isinstance(value, Unknown):
        return value
    if isinstance(value, Mapping | list) and too_deep(value):
        raise ValueError("the value is nested too deep")
    parsed = PARSE[kind](value)
    if kind is ParameterType.JSON and isinstance(value, str) and too_deep(parsed):
        raise ValueError("the value is nested too deep")
    return parsed


def unquoted(schema: ParameterSchema, value: Any) -> str | None:
    """Return the error if the value of a parameter must be a string but is not; else None.

    This concerns parameters of type string whose length or pattern is checked.
    """
    if schema.type is not ParameterType.STRING or isinstance(value, str | Unknown):
        return None
    if any(isinstance(constraint, Length | AllowedPattern) for constraint in schema.constraints):
        return f"{value!r} must be given as a string, because its length or pattern is checked"
    return None


def wrong(schema: ParameterSchema, value: Any) -> str | None:
    """Return the message of the first constraint that the value violates, or None.

    Custom constraints are not checked, because that needs the cloud.
    """
    for constraint in schema.constraints:
        if isinstance(constraint, Custom):
            continue
        try:
            text = constraint.wrong(value)
        except TypeError:
            text = f"{value!r} has the wrong type for a constraint"
        if text is not None:
            return text
    return None


def lookups(schema: ParameterSchema) -> list[Custom]:
    """Return the constraints of a parameter that can only be checked in the cloud."""
    return [constraint for constraint in schema.constraints if isinstance(constraint, Custom)]


def _string(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _number(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        for convert in (int, float):
            try:
                return convert(value)
            except ValueError:
                continue
    raise ValueError(f'"{value}" is not a number')


def _list(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) if not isinstance(item, str) else item for item in value]
    if isinstance(value, str):
        return value.split(",") if value else []
    raise ValueError(f'expected a list or a string with commas, got "{value}"')


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else _key(key): inner for key, inner in value.items()}
    if isinstance(value, list | bool | int | float):
        return value
    if isinstance(value, str):
        if not value:
            return value
        try:
            return decode_json(value)
        except (ValueError, RecursionError):
            raise ValueError(f'"{value[:80]}" is not JSON') from None
    raise ValueError(f'"{value}" is not JSON')


def _key(key: Any) -> str:
    return str(json.loads(json.dumps({key: 0}, skipkeys=True).join("[]"))[0].popitem()[0])


TRUE = frozenset({"t", "true", "on", "y", "yes", "1"})
FALSE = frozenset({"f", "false", "off", "n", "no", "0"})


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ValueError(f'"{value}" is not a boolean')


PARSE: dict[ParameterType, Callable[[Any], Any]] = {
    ParameterType.STRING: _string,
    ParameterType.NUMBER: _number,
    ParameterType.LIST: _list,
    ParameterType.JSON: _json,
    ParameterType.BOOLEAN: _boolean,
}


FITS: dict[type, frozenset[ParameterType]] = {
    Length: frozenset({ParameterType.STRING, ParameterType.LIST, ParameterType.JSON}),
    Range: frozenset({ParameterType.NUMBER}),
    Modulo: frozenset({ParameterType.NUMBER}),
    AllowedValues: frozenset(ParameterType) - {ParameterType.JSON},
    AllowedPattern: frozenset({ParameterType.STRING}),
    Custom: frozenset(ParameterType) - {ParameterType.JSON},
}
"""The types of parameters to which each class of constraint can be applied."""


def bound(value: Any, integral: bool = False) -> Any:
    """Return the limit in a constraint, which is a number or the text of a number.

    None stays None. Raises ValueError if the limit is not a number. If `integral` is true, raises
    TypeError if it is not an integer.
    """
    if value is None:
        return None
    number = value
    if isinstance(value, str):
        number = _number(value)
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or (isinstance(number, float) and math.isnan(number)):
        raise ValueError(f'"{value}" is not a number')
    if integral and isinstance(number, float) and not number.is_integer():
        raise TypeError(f'"{value}" is not a whole number')
    return int(number) if integral else number
