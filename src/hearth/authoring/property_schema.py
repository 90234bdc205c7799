"""JSON Schemas of the properties of resource types, generated from their declarations.

A schema accepts all values that Hearth converts: numbers as text, `null` as "not given", and
function calls everywhere. Words that are booleans or numbers in YAML 1.1 but text in YAML 1.2 are
also accepted, because editors read YAML 1.2. Source: docs/spec/hot.md, section 6.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from hearth.schema import (
    AllowedPattern,
    AllowedValues,
    Length,
    Prop,
    Range,
    SupportStatus,
    ValueKind,
)
from hearth.schema.translation import Replace
from hearth.template.types import TypeInfo
from hearth.template.versions import Grammar

Schema = dict[str, Any]

FUNCTION = "function"
CALL = "call"
COMPUTED = "computed"
MAP_SCHEMA = "else"  # the keyword that holds the schema of a map with known keys
INTEGER_TEXT = r"^\s*[-+]?[0-9][0-9a-fA-FxXoO_:]*\s*$"
NUMBER_TEXT = (
    r"^\s*[-+]?(\.?[0-9][0-9a-fA-FxXoO_:.+-]*|\.?[iI][nN][fF]([iI]nity)?|\.?[nN][aA][nN])\s*$"
)
FLAG_TEXT = "[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]"
BOOLEAN_TEXT = f"^({FLAG_TEXT}|[yY]es|YES|[nN]o|NO|[oO]n|ON|[oO]ff|OFF)$"


def text_like(pattern: str, expected: str) -> Schema:
    """Return the schema of a text that Hearth converts to another type.

    Editors show `expected`, a description of the expected value.
    """
    return {"pattern": pattern, "patternErrorMessage": f"{expected} is needed"}


TAKES: Mapping[ValueKind, Schema] = {
    ValueKind.STRING: {"type": ["string", "integer", "boolean"]},
    ValueKind.INTEGER: {
        "type": ["integer", "number", "boolean", "string"],
        **text_like(INTEGER_TEXT, "a whole number"),
    },
    ValueKind.NUMBER: {
        "type": ["number", "boolean", "string"],
        **text_like(NUMBER_TEXT, "a number"),
    },
    ValueKind.BOOLEAN: {"type": ["boolean", "string"], **text_like(BOOLEAN_TEXT, "true or false")},
    ValueKind.LIST: {"type": ["array"]},
    ValueKind.MAP: {"type": []},  # any map, including functions
}
CONVERTED = {ValueKind.LIST: ["string"], ValueKind.MAP: ["string", "array"]}
"""The additional types of values that a property of each type accepts if it is a parameter of a
nested template.
"""


def ref(name: str) -> Schema:
    """Return a reference to the definition with this name."""
    return {"$ref": f"#/definitions/{name.replace('~', '~0').replace('/', '~1')}"}


def of_functions(grammars: Sequence[Grammar]) -> Schema:
    """Return the definitions of a function call, and of each property type: a value or a function
    call.

    A function that some versions have removed is included if another version still has it.
    """
    names: dict[str, Schema | None] = {}
    for grammar in grammars:
        for name, ours in grammar.functions.items():
            if ours is not None:
                names[name] = {}
            elif names.setdefault(name, None) is not None:
                names[name] = {"doNotSuggest": True}
    functions = {name: schema for name, schema in names.items() if schema is not None}
    one_key = {"minProperties": 1, "maxProperties": 1}
    return {
        # applies only to maps
        FUNCTION: {**one_key, "properties": functions, "additionalProperties": False},
        CALL: {"type": "object", **one_key, "propertyNames": {"enum": list(names)}},
        COMPUTED: {"type": ["object", "null"], "allOf": [ref(FUNCTION)]},
        **{kind.value: _kind(kind) for kind in TAKES},
    }


def _kind(kind: ValueKind) -> Schema:
    takes = TAKES[kind]
    schema: Schema = {**takes, "type": [*takes["type"], "object", "null"]}
    return schema if kind is ValueKind.MAP else {**schema, "allOf": [ref(FUNCTION)]}


def properties_schema(type_info: TypeInfo) -> Schema:
    """Return the schema of all properties of a type."""
    if getattr(type_info, "accepts_any_property", False):
        return {"type": "object"}
    schema = _entries(type_info.properties)
    schema["type"] = "object"
    older = {
        rule.path[0]: rule.value_path[0]
        for rule in getattr(type_info, "translation", ())
        if isinstance(rule, Replace) and len(rule.path) == 1 and rule.value_path
    }
    names = schema.pop("required", [])
    either = [
        {"anyOf": [{"required": [name]}, {"required": [older[name]]}]}
        for name in names
        if name in older
    ]
    if either:
        schema["allOf"] = either
    required = [name for name in names if name not in older]
    return {**schema, "required": required} if required else schema


def property_schema(prop: Prop) -> Schema:
    """Return the schema of one property."""
    about = _about(prop)
    if prop.kind is ValueKind.ANY or (prop.kind is ValueKind.STRING and prop.allow_conversion):
        return about
    values = _allowed(prop)
    if values is not None and prop.kind is not ValueKind.LIST:
        return {**about, "anyOf": [values, ref(COMPUTED)]}
    if prop.kind is ValueKind.MAP and prop.schema is not None and not prop.allow_conversion:
        return {**about, **_map(prop)}
    base = ref(prop.kind.value)
    if prop.kind in CONVERTED and prop.allow_conversion:
        base = {"type": ["array", "object", "null", "string"]}
    limits = dict(_limits(prop))
    if prop.kind is ValueKind.LIST:
        items = [property_schema(prop.item)] if prop.item is not None else []
        if values is not None:
            items.append({"anyOf": [values, ref(COMPUTED)]})
        if items:
            limits["items"] = items[0] if len(items) == 1 else {"allOf": items}
    if not about and not limits:
        return base
    return {**about, "allOf": [base], **limits}


def _map(prop: Prop) -> Schema:
    """Return the schema of a map whose keys are known, which a function call may replace."""
    if prop.entries is not None:
        entries = _entries(prop.entries)
    else:
        assert prop.item is not None
        entries = {"type": ["object", "null"], "additionalProperties": property_schema(prop.item)}
    return {"if": ref(CALL), "then": ref(FUNCTION), MAP_SCHEMA: entries}


def _entries(props: Mapping[str, Prop]) -> Schema:
    schema: Schema = {
        "type": ["object", "null"],
        "properties": {name: property_schema(prop) for name, prop in props.items()},
        "additionalProperties": False,
    }
    required = [name for name, prop in props.items() if prop.required and not prop.has_default]
    return {**schema, "required": required} if required else schema


def _about(prop: Prop) -> Schema:
    """Return the part of the schema with the description that editors show."""
    about: Schema = {}
    if prop.description:
        about["description"] = prop.description
    if prop.has_default and isinstance(prop.default, str | int | float):
        about["default"] = prop.default
    support = prop.support
    if not prop.implemented:
        about |= {"deprecationMessage": "Not implemented.", "doNotSuggest": True}
    elif support is not None and support.status != SupportStatus.SUPPORTED:
        message = support.message or f"{str(support.status).capitalize()} since {support.version}."
        about["deprecationMessage"] = message
        if support.hidden:
            about["doNotSuggest"] = True
    return about


def _allowed(prop: Prop) -> Schema | None:
    """Return a schema that accepts the allowed values, or None if all values are allowed.

    The schema also accepts a number that is written as a string. For a string property, it also
    accepts an integer in place of a string of digits. Hearth converts both.
    """
    for constraint in prop.constraints:
        if isinstance(constraint, AllowedValues):
            kind = prop.kind
            if kind is ValueKind.LIST:
                kind = prop.item.kind if prop.item is not None else ValueKind.ANY
            spell = _SPELLED.get(kind, _as_it_is)
            spellings = [
                spelling for spelling in map(spell, constraint.values) if spelling is not None
            ]
            spelled = [*constraint.values, *spellings]
            return {"enum": list({json.dumps(value): value for value in spelled}.values())}
    return None


def _as_it_is(value: Any) -> Any:
    return None


def _number_or_text_of(value: Any) -> Any:
    if isinstance(value, str):
        return int(value) if re.fullmatch("0|[1-9][0-9]*", value) else None
    return _text_of(value)


def _text_of(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) else None


_SPELLED: Mapping[ValueKind, Callable[[Any], Any]] = {
    ValueKind.STRING: _number_or_text_of,
    ValueKind.INTEGER: _text_of,
    ValueKind.NUMBER: _text_of,
}


def _limits(prop: Prop) -> Iterator[tuple[str, Any]]:
    """Yield the limits of a property as keywords of JSON Schema.

    A minimum number of items is left out, because an `if` may remove items.
    """
    for constraint in prop.constraints:
        match constraint:
            case Range(min=low, max=high):
                yield from _bounds(minimum=low, maximum=high)
            case Length(min=low, max=high) if prop.kind is ValueKind.STRING:
                yield from _bounds(minLength=low, maxLength=high)
            case Length(min=low) if prop.kind is ValueKind.LIST:
                yield from _bounds(minItems=low)
            case AllowedPattern(pattern=pattern) if _means_the_same(pattern):
                yield "pattern", f"^(?:{pattern})$"


def _bounds(**bounds: float | None) -> Iterator[tuple[str, float]]:
    return ((name, bound) for name, bound in bounds.items() if bound is not None)


def _means_the_same(pattern: str) -> bool:
    """Return whether a regular expression has the same meaning in JavaScript and in Python."""
    return not re.search(r"\(\?(?!:)|\\[^dDsSwW.^$*+?()\[\]{}|/\\-]", pattern)


def referred(definitions: Schema, roots: Iterable[Any]) -> Schema:
    """Return those definitions to which the schemas in `roots` refer, directly or through other
    definitions.
    """
    reachable: Schema = {}
    texts = [json.dumps(root) for root in roots]
    while texts:
        for name in re.findall(r'"#/definitions/([^"]+)"', texts.pop()):
            name = name.replace("~1", "/").replace("~0", "~")
            if name not in reachable:
                reachable[name] = definitions[name]
                texts.append(json.dumps(definitions[name]))
    return {name: schema for name, schema in definitions.items() if name in reachable}
