"""JSON Schemas of templates, for editors: generated from the grammars and from the declared types.

They use draft 7, which every YAML language server supports; later drafts have no advantage here. A
schema accepts what Hearth accepts, and rejects what Hearth refuses, as far as a single file shows
it. It also rejects unknown keys of outputs and of parameter groups, which Hearth ignores.
"""

from __future__ import annotations

import inspect
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from hearth.authoring.property_schema import (
    BOOLEAN_TEXT,
    FUNCTION,
    MAP_SCHEMA,
    Schema,
    of_functions,
    properties_schema,
    property_schema,
    ref,
    referred,
    text_like,
)
from hearth.model.problem import hint, nearest
from hearth.resources.base import ResourceType
from hearth.schema import MAP, Prop
from hearth.template.parameters import CFN_NAMES, ParameterType
from hearth.template.types import TypeCatalog, TypeInfo
from hearth.template.versions import BY_VERSION, GRAMMARS, Grammar

DIALECT = "http://json-schema.org/draft-07/schema#"
CONDITION = "condition"
SHARED_MIN = 200  # characters of a schema that several properties share

FLAG: Schema = {"type": ["boolean", "string"], **text_like(BOOLEAN_TEXT, "true or false")}
CONDITIONAL: Schema = {"type": ["boolean", "string", "object"], "allOf": [ref(CONDITION)]}
GROUP: Schema = {
    "type": "object",
    "properties": {
        "label": {},
        "description": {},
        "parameters": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["parameters"],
    "additionalProperties": False,
}
BOUND: Schema = {"type": ["number", "string", "null"]}
BOUNDS: Schema = {
    "type": "object",
    "properties": {"min": BOUND, "max": BOUND},
    "additionalProperties": False,
    "minProperties": 1,
}
CONSTRAINTS: Mapping[str, Schema] = {
    "length": BOUNDS,
    "range": BOUNDS,
    "modulo": {
        "type": "object",
        "properties": {"step": BOUND, "offset": BOUND},
        "additionalProperties": False,
        "required": ["step", "offset"],
    },
    "allowed_values": {"type": "array"},
    "allowed_pattern": {"type": "string"},
    "custom_constraint": {"type": "string"},
}


class NoSuch(LookupError):
    """The requested version or type does not exist. The message suggests the most similar name."""


def grammars_of(form: str, version: str | None) -> tuple[Grammar, ...]:
    """Return the grammars of all versions of a format ("hot" or "cfn"), or that of one version.

    Raises NoSuch if the format does not have the version.
    """
    if version is None:
        return tuple(grammar for grammar in GRAMMARS if grammar.type == form)
    by_version = {
        name: grammar for (_, name), grammar in BY_VERSION.items() if grammar.type == form
    }
    if version not in by_version:
        near = hint(nearest(version, by_version))
        raise NoSuch(f"there is no version {version} of {form} templates{near}")
    return (by_version[version],)


def template_schema(grammars: Sequence[Grammar], catalog: TypeCatalog) -> Schema:
    """Return one schema for templates of several versions, which must have the same format."""
    last = grammars[-1]
    types = {
        name: type_info for name in catalog.names() if (type_info := catalog.find(name)) is not None
    }
    keys = list(dict.fromkeys(grammar.key for grammar in grammars))
    sections = _union(grammar.sections for grammar in grammars)
    schema: Schema = {
        "$schema": DIALECT,
        "title": f"{'Heat' if last.hot else 'CloudFormation'} template for Hearth",
        "type": "object",
        "properties": {
            **{key: {"enum": _versions(grammars, key)} for key in keys},
            **{word: _section(ours) for word, ours in sections.items() if word not in keys},
        },
        "additionalProperties": False,
    }
    if len(keys) == 1:
        schema["required"] = keys
    else:
        schema["oneOf"] = [{"required": [key]} for key in keys]
    if len(grammars) > 1:
        schema["allOf"] = [_narrowed(grammar, grammars) for grammar in grammars]
    schema["definitions"] = {
        "resource": _resource(grammars, types),
        "parameter": _parameter(grammars),
        "output": _output(grammars),
        CONDITION: _condition(grammars),
        **of_functions(grammars),
        **_written_once(_definitions(types)),
    }
    return schema


def type_schema(grammars: Sequence[Grammar], catalog: TypeCatalog, name: str) -> Schema:
    """Return the schema of the properties of a resource type.

    Raises NoSuch if the catalogue does not contain the type.
    """
    type_info = catalog.find(name)
    if type_info is None:
        near = hint(nearest(name, catalog.names()))
        raise NoSuch(f"there is no resource type {name}{near}")
    definitions = {**of_functions(grammars), **_definitions({name: type_info})}
    root = definitions.pop(name)
    return {
        "$schema": DIALECT,
        "title": f"Properties of {name}",
        **root,
        "definitions": referred(definitions, [root]),
    }


def as_text(schema: Schema) -> str:
    """Return a schema as JSON with one line per definition, so that two schemas can be compared."""
    lines = []
    for key, value in schema.items():
        if key == "definitions":
            inner = ",\n".join(
                f"{_json(name)}:{_json(definition)}" for name, definition in value.items()
            )
            lines.append(f'"definitions":{{\n{inner}\n}}')
        else:
            lines.append(f"{_json(key)}:{_json(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# -- versions -----------------------------------------------------------------------------------


def _union(maps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the union of several maps; later maps take precedence and determine the order."""
    union: dict[str, Any] = {}
    for mapping in reversed(list(maps)):
        union |= {key: value for key, value in mapping.items() if key not in union}
    return union


def _versions(grammars: Sequence[Grammar], key: str) -> list[str]:
    """Return the values of a version key, newest first, in which order editors show them."""
    with_key = [grammar for grammar in grammars if grammar.key == key]
    return [name for grammar in reversed(with_key) for name in (grammar.value, *grammar.aliases)]


def _narrowed(grammar: Grammar, grammars: Sequence[Grammar]) -> Schema:
    """Return the restrictions for templates of one version that lacks features of the other
    versions.
    """
    then: Schema = {}
    if set(grammar.sections) != set(_union(other_grammar.sections for other_grammar in grammars)):
        then["propertyNames"] = {"enum": list(grammar.sections)}
    inner: Schema = {}
    if grammar.hot:
        for section, keys in (
            ("resources", "resource_keys"),
            ("outputs", "output_keys"),
            ("parameters", "parameter_keys"),
        ):
            names = set(getattr(grammar, keys))
            if names != {key for other_grammar in grammars for key in getattr(other_grammar, keys)}:
                inner[section] = {"propertyNames": {"enum": sorted(names)}}
        if set(grammar.constraints) != {
            key for other_grammar in grammars for key in other_grammar.constraints
        }:
            kinds = {"enum": [*grammar.constraints, "description"]}
            within = {"constraints": {"items": {"propertyNames": kinds}}}
            inner.setdefault("parameters", {})["properties"] = within
    if inner:
        then["properties"] = {
            key: {"additionalProperties": restriction} for key, restriction in inner.items()
        }
    version = {"enum": [grammar.value, *grammar.aliases]}
    return {
        "if": {"required": [grammar.key], "properties": {grammar.key: version}},
        "then": then,
    }


# -- sections -----------------------------------------------------------------------------------


def _section(ours: str) -> Schema:
    match ours:
        case "parameters":
            return _map_of(ref("parameter"))
        case "resources":
            return {**_map_of(ref("resource")), "propertyNames": {"pattern": "^[^/]*$"}}
        case "outputs":
            return _map_of(ref("output"))
        case "mappings":
            return _map_of({"type": "object", "additionalProperties": {"type": "object"}})
        case "conditions":  # must not be null
            definition = {"type": ["boolean", "object"], **_all(CONDITION)}
            return {"type": "object", "additionalProperties": definition}
        case "parameter_groups":
            return {"type": ["array", "null"], "items": GROUP}
        case _:
            return {}


def _map_of(schema: Schema) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": schema}


def _parameter(grammars: Sequence[Grammar]) -> Schema:
    last = grammars[-1]
    names = [str(kind) if last.hot else CFN_NAMES[kind] for kind in ParameterType]
    kinds = list(_union(dict.fromkeys(grammar.constraints) for grammar in grammars))
    schemas: Mapping[str, Schema] = {
        "type": {"enum": names},
        "hidden": FLAG,
        "immutable": FLAG,
        "tags": {"type": "array"},
        "constraints": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {**{kind: CONSTRAINTS[kind] for kind in kinds}, "description": {}},
                "additionalProperties": False,
                "anyOf": [{"required": [kind]} for kind in kinds],
            },
        },
        "Type": {"enum": names},
        "AllowedValues": CONSTRAINTS["allowed_values"],
        "AllowedPattern": CONSTRAINTS["allowed_pattern"],
        **dict.fromkeys(("MinLength", "MaxLength", "MinValue", "MaxValue"), BOUND),
    }
    keys = sorted({key for grammar in grammars for key in grammar.parameter_keys})
    return {
        "type": "object",
        "properties": {key: schemas.get(key, {}) for key in keys},
        "required": [last.word("type") if last.hot else "Type"],
        "additionalProperties": False,
    }


def _output(grammars: Sequence[Grammar]) -> Schema:
    last = grammars[-1]
    schemas = {"condition": CONDITIONAL}
    keys = _union(grammar.output_keys for grammar in grammars)
    return {
        "type": "object",
        "properties": {word: schemas.get(ours, {}) for word, ours in keys.items()},
        "required": [last.word("value")],
        "additionalProperties": not last.hot,
    }


def _condition(grammars: Sequence[Grammar]) -> Schema:
    """Return the schema for function calls in conditions. It applies only to maps."""
    names = _union(grammar.condition_functions for grammar in grammars)
    return {
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {name: {} for name in names},
        "additionalProperties": False,
    }


def _resource(grammars: Sequence[Grammar], types: Mapping[str, TypeInfo]) -> Schema:
    last = grammars[-1]
    policies = sorted({policy for grammar in grammars for policy in grammar.deletion_policies})
    schemas: Mapping[str, Schema] = {
        "type": {"anyOf": [{"enum": _offered(types)}, {"type": "string", "minLength": 1}]},
        "properties": {"type": "object"},
        "metadata": {"type": "object"},
        "update_policy": {"type": "object"},
        "depends_on": {"type": ["string", "array"], "items": {"type": "string"}},
        "deletion_policy": {"anyOf": [{"enum": policies}, {"type": "object", **_all(FUNCTION)}]},
        "external_id": {"type": ["string", "object"], **_all(FUNCTION)},
        "condition": CONDITIONAL,
        "description": {"type": "string"},
    }
    keys = _union(grammar.resource_keys for grammar in grammars)
    keywords = {ours: word for word, ours in keys.items()}
    return {
        "type": "object",
        "properties": {word: schemas[ours] for word, ours in keys.items()},
        "required": [keywords["type"]],
        "additionalProperties": not last.hot,
        "if": {"required": [keywords["type"]]},
        "then": {"allOf": list(_by_type(types, keywords))},
    }


def _offered(types: Mapping[str, TypeInfo]) -> list[str]:
    return [
        name
        for name, type_info in types.items()
        if type_info.support is None or not type_info.support.hidden
    ]


def _by_type(types: Mapping[str, TypeInfo], keywords: Mapping[str, str]) -> Iterator[Schema]:
    kind = keywords["type"]
    without_policy = []
    for name, type_info in types.items():
        then: Schema = {"properties": {keywords["properties"]: ref(name)}}
        if type_info.update_policy:
            policy = Prop(MAP, schema=type_info.update_policy)
            then["properties"][keywords["update_policy"]] = property_schema(policy)
        else:
            without_policy.append(name)
        if _needs(type_info):
            then["required"] = [keywords["properties"]]
        yield {"if": _is(kind, {"const": name}), "then": then}
    none = {keywords["update_policy"]: property_schema(Prop(MAP, schema={}))}
    yield {"if": _is(kind, {"enum": without_policy}), "then": {"properties": none}}


def _is(key: str, schema: Schema) -> Schema:
    return {"properties": {key: schema}}


def _needs(type_info: TypeInfo) -> bool:
    """Return whether a resource type has required properties."""
    return any(prop.required and not prop.has_default for prop in type_info.properties.values())


def _definitions(types: Mapping[str, TypeInfo]) -> Schema:
    return {
        name: {**_description(type_info), **properties_schema(type_info)}
        for name, type_info in types.items()
    }


def _written_once(definitions: Schema) -> Schema:
    """Return the definitions of types; a map that several properties take becomes a definition of
    its own.
    """
    maps = [(_json(schema), schema) for schema in _maps(definitions)]
    counts, schemas = Counter(text for text, _ in maps), dict(maps)
    repeated = [text for text, count in counts.items() if count > 1 and len(text) >= SHARED_MIN]
    names = {text: f"map-{number}" for number, text in enumerate(repeated, 1)}

    def with_refs(value: Any) -> Any:
        match value:
            case dict():
                return {
                    key: ref(names[text])
                    if key == MAP_SCHEMA and (text := _json(inner)) in names
                    else with_refs(inner)
                    for key, inner in value.items()
                }
            case list():
                return [with_refs(inner) for inner in value]
        return value

    shared = {name: with_refs(schemas[text]) for text, name in names.items()}
    return {**with_refs(definitions), **shared}


def _maps(value: Any) -> Iterator[Schema]:
    """Yield the schemas of all maps with known keys in a schema."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _maps(part)
    if isinstance(value, dict) and MAP_SCHEMA in value:
        yield value[MAP_SCHEMA]


def _description(type_info: TypeInfo) -> Schema:
    text = inspect.getdoc(type(type_info)) if isinstance(type_info, ResourceType) else None
    return {"description": text.split("\n\n")[0].replace("\n", " ")} if text else {}


def _all(name: str) -> Schema:
    """Return a reference to a definition, wrapped in `allOf`.

    Draft 7 ignores other keywords beside `$ref`.
    """
    return {"allOf": [ref(name)]}
