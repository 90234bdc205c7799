"""What may stand where: a place for each map, list and scalar of a template or environment.

A place is found by going down from the top, one key or index at a time. It needs nothing but the
grammar of the version: what a property is, and which type a resource has, is asked later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto

from hearth.authoring.lsp.pieces import Entry, List, Map, scalar_text
from hearth.template.versions import Grammar


class What(Enum):
    """What is expected at a place."""

    NOTHING = auto()
    ROOT = auto()
    VERSION = auto()
    PARAMETERS = auto()
    PARAMETER = auto()
    PARAMETER_TYPE = auto()
    FLAG = auto()
    CONSTRAINTS = auto()
    CONSTRAINT = auto()
    BOUNDS = auto()
    GROUPS = auto()
    GROUP = auto()
    GROUP_PARAMETERS = auto()
    CONDITIONS = auto()
    CONDITION = auto()  # a definition: a function or a boolean
    OPERAND = auto()  # the name of a condition, or a function
    MAPPINGS = auto()
    RESOURCES = auto()
    RESOURCE = auto()
    TYPE = auto()
    DEPENDS = auto()
    POLICY = auto()
    OUTPUTS = auto()
    OUTPUT = auto()
    VALUE = auto()
    ARGUMENT = auto()
    PARAMETER_NAME = auto()
    RESOURCE_NAME = auto()
    ATTRIBUTE = auto()
    REF = auto()
    FILE = auto()
    FACADE = auto()
    ALGORITHM = auto()
    MAPPING_NAME = auto()
    MAPPING_KEY = auto()
    MAPPING_FIELD = auto()
    ENVIRONMENT = auto()
    ENV_PARAMETERS = auto()
    REGISTRY = auto()
    REGISTRY_TARGET = auto()
    REGISTRY_RESOURCES = auto()
    REGISTRY_RESOURCE = auto()
    HOOK = auto()
    RESTRICTED_ACTION = auto()
    STRATEGIES = auto()
    STRATEGY = auto()


@dataclass(frozen=True, slots=True)
class Place:
    """What is expected, and of what.

    `name` is the resource, parameter, function, constraint or mapping that it belongs to. In a
    VALUE, `steps` lead from the `root` of a resource (its properties, say) to it; None where no
    schema speaks of it. `outer` is where the function call stands whose ARGUMENT it is.
    `conditional` places know the functions of conditions only.
    """

    what: What
    name: str = ""
    root: str = ""
    steps: tuple[str | int, ...] | None = None
    outer: Place | None = None
    conditional: bool = False


NOTHING = Place(What.NOTHING)
ROOT = Place(What.ROOT)
ENVIRONMENT = Place(What.ENVIRONMENT)
FREE = Place(What.VALUE)
IN_CONDITION = Place(What.VALUE, conditional=True)
OPERAND = Place(What.OPERAND, conditional=True)


def functions_at(place: Place, grammar: Grammar) -> Mapping[str, str | None]:
    """The functions that may be called at a place."""
    return grammar.condition_functions if place.conditional else grammar.functions


def called(place: Place, piece: Map, grammar: Grammar) -> str | None:
    """The function that a map calls: its only key is one."""
    if len(piece.entries) != 1 or place.what not in CALLS:
        return None
    name = piece.entries[0].key.text
    return name if name in functions_at(place, grammar) else None


def under_key(place: Place, piece: Map, entry: Entry, grammar: Grammar) -> Place:
    """The place of the value of an entry of a map that stands at `place`."""
    function = called(place, piece, grammar)
    if function is not None:
        outer = place if place.what is not What.ARGUMENT else _free(place)
        return Place(What.ARGUMENT, function, outer=outer, conditional=place.conditional)
    rule = KEYS.get(place.what)
    return rule(place, entry.key.text, grammar) if rule else NOTHING


def at_index(place: Place, piece: List, index: int) -> Place:
    """The place of an item of a list that stands at `place`."""
    match place.what:
        case What.VALUE:
            if place.steps is None:
                return place
            return replace(place, steps=(*place.steps, index))
        case What.ARGUMENT:
            rule = ITEMS.get(place.name)
            return rule(place, piece, index) if rule else _free(place)
        case what:
            return Place(INSIDE[what], place.name) if what in INSIDE else NOTHING


def at_scalar(place: Place) -> Place:
    """The place of a scalar where `place` would also take a map or list."""
    if place.what is What.ARGUMENT:
        found = ALONE.get(place.name)
        return Place(found, conditional=place.conditional) if found else _free(place)
    if place.what is What.DEPENDS:
        return Place(What.RESOURCE_NAME)
    return place


def _free(place: Place) -> Place:
    return IN_CONDITION if place.conditional else FREE


# -- by key -------------------------------------------------------------------------------------

KeyRule = Callable[[Place, str, Grammar], Place]


def _root(place: Place, key: str, grammar: Grammar) -> Place:
    ours = grammar.sections.get(key, "")
    if key == grammar.key:
        return Place(What.VERSION, key)
    return Place(SECTIONS[ours]) if ours in SECTIONS else NOTHING


def _named(what: What) -> KeyRule:
    return lambda place, key, grammar: Place(what, key)


def _parameter(place: Place, key: str, grammar: Grammar) -> Place:
    found = PARAMETER_KEYS.get(key)
    return Place(found, place.name) if found else NOTHING


def _resource(place: Place, key: str, grammar: Grammar) -> Place:
    match grammar.resource_keys.get(key):
        case "type":
            return Place(What.TYPE, place.name)
        case "properties" | "update_policy" as root:
            return Place(What.VALUE, place.name, root, ())
        case "metadata" | "external_id":
            return FREE
        case "depends_on":
            return Place(What.DEPENDS)
        case "condition":
            return OPERAND
        case "deletion_policy":
            return Place(What.POLICY)
        case _:
            return NOTHING


def _output(place: Place, key: str, grammar: Grammar) -> Place:
    match grammar.output_keys.get(key):
        case "value":
            return FREE
        case "condition":
            return OPERAND
        case _:
            return NOTHING


def _value(place: Place, key: str, grammar: Grammar) -> Place:
    if place.steps is None:
        return place
    return replace(place, steps=(*place.steps, key))


def _argument(place: Place, key: str, grammar: Grammar) -> Place:
    if place.name == "repeat" and key == "template" and place.outer is not None:
        outer = place.outer
        return outer if outer.steps is None else replace(outer, steps=(*outer.steps, 0))
    return _free(place)


def _group(place: Place, key: str, grammar: Grammar) -> Place:
    return Place(What.GROUP_PARAMETERS) if key == "parameters" else NOTHING


def _environment(place: Place, key: str, grammar: Grammar) -> Place:
    match key:
        case "parameters" | "parameter_defaults":
            return Place(What.ENV_PARAMETERS, key)
        case "resource_registry":
            return Place(What.REGISTRY)
        case "parameter_merge_strategies":
            return Place(What.STRATEGIES)
        case _:
            return NOTHING


def _registry(place: Place, key: str, grammar: Grammar) -> Place:
    if key == "resources":
        return Place(What.REGISTRY_RESOURCES)
    return Place(What.REGISTRY_TARGET, key)


def _registry_resource(place: Place, key: str, grammar: Grammar) -> Place:
    match key:
        case "hooks":
            return Place(What.HOOK)
        case "restricted_actions":
            return Place(What.RESTRICTED_ACTION)
        case _ if "::" in key or key.endswith((".yaml", ".template")):
            return Place(What.REGISTRY_TARGET, key)
        case _:
            return Place(What.REGISTRY_RESOURCE, key)


SECTIONS: Mapping[str, What] = {
    "parameters": What.PARAMETERS,
    "parameter_groups": What.GROUPS,
    "conditions": What.CONDITIONS,
    "mappings": What.MAPPINGS,
    "resources": What.RESOURCES,
    "outputs": What.OUTPUTS,
}
PARAMETER_KEYS: Mapping[str, What] = {
    "type": What.PARAMETER_TYPE,
    "Type": What.PARAMETER_TYPE,
    "hidden": What.FLAG,
    "immutable": What.FLAG,
    "NoEcho": What.FLAG,
    "constraints": What.CONSTRAINTS,
}
KEYS: Mapping[What, KeyRule] = {
    What.ROOT: _root,
    What.PARAMETERS: _named(What.PARAMETER),
    What.PARAMETER: _parameter,
    What.CONSTRAINT: _named(What.BOUNDS),
    What.GROUP: _group,
    What.CONDITIONS: lambda place, key, grammar: Place(What.CONDITION, key, conditional=True),
    What.RESOURCES: _named(What.RESOURCE),
    What.RESOURCE: _resource,
    What.OUTPUTS: _named(What.OUTPUT),
    What.OUTPUT: _output,
    What.VALUE: _value,
    What.ARGUMENT: _argument,
    What.ENVIRONMENT: _environment,
    What.REGISTRY: _registry,
    What.REGISTRY_RESOURCES: _named(What.REGISTRY_RESOURCE),
    What.REGISTRY_RESOURCE: _registry_resource,
    What.STRATEGIES: _named(What.STRATEGY),
}
CALLS = frozenset({What.VALUE, What.ARGUMENT, What.CONDITION, What.OPERAND, What.POLICY})
"""Where a map may be a call."""

# -- by index -----------------------------------------------------------------------------------

INSIDE: Mapping[What, What] = {
    What.CONSTRAINTS: What.CONSTRAINT,
    What.GROUPS: What.GROUP,
    What.GROUP_PARAMETERS: What.PARAMETER_NAME,
    What.DEPENDS: What.RESOURCE_NAME,
    What.HOOK: What.HOOK,
    What.RESTRICTED_ACTION: What.RESTRICTED_ACTION,
}
ALONE: Mapping[str, What] = {
    "get_param": What.PARAMETER_NAME,
    "get_resource": What.RESOURCE_NAME,
    "get_file": What.FILE,
    "resource_facade": What.FACADE,
    "Ref": What.REF,
    "Fn::ResourceFacade": What.FACADE,
    "not": What.OPERAND,
}
"""Functions whose argument may be a mere word."""

ItemRule = Callable[[Place, List, int], Place]


def _get_param(place: Place, piece: List, index: int) -> Place:
    return Place(What.PARAMETER_NAME) if index == 0 else _free(place)


def _get_attr(place: Place, piece: List, index: int) -> Place:
    if index == 0:
        return Place(What.RESOURCE_NAME)
    return Place(What.ATTRIBUTE, _text(piece, 0)) if index == 1 else FREE


def _if(place: Place, piece: List, index: int) -> Place:
    if index == 0:
        return OPERAND
    return place.outer or FREE


def _outer(place: Place, piece: List, index: int) -> Place:
    return place.outer or _free(place)


def _operands(place: Place, piece: List, index: int) -> Place:
    return OPERAND


def _digest(place: Place, piece: List, index: int) -> Place:
    return Place(What.ALGORITHM) if index == 0 else FREE


def _find_in_map(place: Place, piece: List, index: int) -> Place:
    match index:
        case 0:
            return Place(What.MAPPING_NAME)
        case 1:
            return Place(What.MAPPING_KEY, _text(piece, 0))
        case 2:
            return Place(What.MAPPING_FIELD, _text(piece, 0), _text(piece, 1))
        case _:
            return NOTHING


def _text(piece: List, index: int) -> str:
    return scalar_text(piece.items[index]) or ""


ITEMS: Mapping[str, ItemRule] = {
    "get_param": _get_param,
    "get_attr": _get_attr,
    "Fn::GetAtt": _get_attr,
    "if": _if,
    "Fn::If": _if,
    "map_merge": _outer,
    "list_concat": _outer,
    "list_concat_unique": _outer,
    "and": _operands,
    "or": _operands,
    "Fn::And": _operands,
    "Fn::Or": _operands,
    "Fn::Not": _operands,
    "digest": _digest,
    "Fn::FindInMap": _find_in_map,
}

__all__ = [
    "ENVIRONMENT",
    "ROOT",
    "Place",
    "What",
    "at_index",
    "at_scalar",
    "called",
    "functions_at",
    "under_key",
]
