"""What the grammar expects at each map, list and scalar of a template or an environment.

A location is determined from the root downwards, one key or index at a time. It depends only on the
grammar of the version; the properties of a resource type are looked up later. It is not a Location
of the Language Server Protocol, which is a range in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto

from msgspec import Struct
from msgspec.structs import replace

from hearth.authoring.lsp.syntax_tree import Entry, List, Map, scalar_text
from hearth.template.versions import Grammar


class What(Enum):
    """The kinds of content that the grammar may expect at a location."""

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


class Location(Struct, frozen=True):
    """The content that the grammar expects at a place, and the object to which it belongs.

    `name` is the name of the resource, parameter, function, constraint or mapping. In a VALUE,
    `steps` lead to it from the `root` of a resource, such as its properties; they are None if there
    is no schema. In an ARGUMENT, `outer` is the location of the function call. If `conditional` is
    true, only functions of conditions are allowed.
    """

    what: What
    name: str = ""
    root: str = ""
    steps: tuple[str | int, ...] | None = None
    outer: Location | None = None
    conditional: bool = False


NOTHING = Location(What.NOTHING)
ROOT = Location(What.ROOT)
ENVIRONMENT = Location(What.ENVIRONMENT)
FREE = Location(What.VALUE)
IN_CONDITION = Location(What.VALUE, conditional=True)
OPERAND = Location(What.OPERAND, conditional=True)


def functions_at(location: Location, grammar: Grammar) -> Mapping[str, str | None]:
    """Return the functions that may be called at a location, from the grammar."""
    return grammar.condition_functions if location.conditional else grammar.functions


def called(location: Location, node: Map, grammar: Grammar) -> str | None:
    """Return the name of the function that a map with a single key calls; None if it is no call."""
    if len(node.entries) != 1 or location.what not in CALLS:
        return None
    name = node.entries[0].key.text
    return name if name in functions_at(location, grammar) else None


def under_key(location: Location, node: Map, entry: Entry, grammar: Grammar) -> Location:
    """Return the location of the value in an entry of the map at `location`."""
    function = called(location, node, grammar)
    if function is not None:
        outer = location if location.what is not What.ARGUMENT else _free(location)
        return Location(What.ARGUMENT, function, outer=outer, conditional=location.conditional)
    rule = KEYS.get(location.what)
    return rule(location, entry.key.text, grammar) if rule else NOTHING


def at_index(location: Location, node: List, index: int) -> Location:
    """Return the location of an item in the list at `location`."""
    match location.what:
        case What.VALUE:
            if location.steps is None:
                return location
            return replace(location, steps=(*location.steps, index))
        case What.ARGUMENT:
            rule = ITEMS.get(location.name)
            return rule(location, node, index) if rule else _free(location)
        case what:
            return Location(INSIDE[what], location.name) if what in INSIDE else NOTHING


def at_scalar(location: Location) -> Location:
    """Return the location for a scalar at a place where the grammar also allows a map or a list."""
    if location.what is What.ARGUMENT:
        kind = ALONE.get(location.name)
        return Location(kind, conditional=location.conditional) if kind else _free(location)
    if location.what is What.DEPENDS:
        return Location(What.RESOURCE_NAME)
    return location


def _free(location: Location) -> Location:
    return IN_CONDITION if location.conditional else FREE


# -- by key -------------------------------------------------------------------------------------

KeyRule = Callable[[Location, str, Grammar], Location]


def _root(location: Location, key: str, grammar: Grammar) -> Location:
    ours = grammar.sections.get(key, "")
    if key == grammar.key:
        return Location(What.VERSION, key)
    return Location(SECTIONS[ours]) if ours in SECTIONS else NOTHING


def _to_name(kind: What) -> KeyRule:
    return lambda location, key, grammar: Location(kind, key)


def _parameter(location: Location, key: str, grammar: Grammar) -> Location:
    kind = PARAMETER_KEYS.get(key)
    return Location(kind, location.name) if kind else NOTHING


def _resource(location: Location, key: str, grammar: Grammar) -> Location:
    match grammar.resource_keys.get(key):
        case "type":
            return Location(What.TYPE, location.name)
        case "properties" | "update_policy" as root:
            return Location(What.VALUE, location.name, root, ())
        case "metadata" | "external_id":
            return FREE
        case "depends_on":
            return Location(What.DEPENDS)
        case "condition":
            return OPERAND
        case "deletion_policy":
            return Location(What.POLICY)
        case _:
            return NOTHING


def _output(location: Location, key: str, grammar: Grammar) -> Location:
    match grammar.output_keys.get(key):
        case "value":
            return FREE
        case "condition":
            return OPERAND
        case _:
            return NOTHING


def _value(location: Location, key: str, grammar: Grammar) -> Location:
    if location.steps is None:
        return location
    return replace(location, steps=(*location.steps, key))


def _argument(location: Location, key: str, grammar: Grammar) -> Location:
    if location.name == "repeat" and key == "template" and location.outer is not None:
        outer = location.outer
        return outer if outer.steps is None else replace(outer, steps=(*outer.steps, 0))
    return _free(location)


def _group(location: Location, key: str, grammar: Grammar) -> Location:
    return Location(What.GROUP_PARAMETERS) if key == "parameters" else NOTHING


def _environment(location: Location, key: str, grammar: Grammar) -> Location:
    match key:
        case "parameters" | "parameter_defaults":
            return Location(What.ENV_PARAMETERS, key)
        case "resource_registry":
            return Location(What.REGISTRY)
        case "parameter_merge_strategies":
            return Location(What.STRATEGIES)
        case _:
            return NOTHING


def _registry(location: Location, key: str, grammar: Grammar) -> Location:
    if key == "resources":
        return Location(What.REGISTRY_RESOURCES)
    return Location(What.REGISTRY_TARGET, key)


def _registry_resource(location: Location, key: str, grammar: Grammar) -> Location:
    match key:
        case "hooks":
            return Location(What.HOOK)
        case "restricted_actions":
            return Location(What.RESTRICTED_ACTION)
        case _ if "::" in key or key.endswith((".yaml", ".template")):
            return Location(What.REGISTRY_TARGET, key)
        case _:
            return Location(What.REGISTRY_RESOURCE, key)


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
    What.PARAMETERS: _to_name(What.PARAMETER),
    What.PARAMETER: _parameter,
    What.CONSTRAINT: _to_name(What.BOUNDS),
    What.GROUP: _group,
    What.CONDITIONS: lambda location, key, grammar: Location(What.CONDITION, key, conditional=True),
    What.RESOURCES: _to_name(What.RESOURCE),
    What.RESOURCE: _resource,
    What.OUTPUTS: _to_name(What.OUTPUT),
    What.OUTPUT: _output,
    What.VALUE: _value,
    What.ARGUMENT: _argument,
    What.ENVIRONMENT: _environment,
    What.REGISTRY: _registry,
    What.REGISTRY_RESOURCES: _to_name(What.REGISTRY_RESOURCE),
    What.REGISTRY_RESOURCE: _registry_resource,
    What.STRATEGIES: _to_name(What.STRATEGY),
}
CALLS = frozenset({What.VALUE, What.ARGUMENT, What.CONDITION, What.OPERAND, What.POLICY})
"""The kinds of locations at which a map may be a function call."""

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
"""The functions whose argument may be a single name, with the kind of that name."""

ItemRule = Callable[[Location, List, int], Location]


def _get_param(location: Location, node: List, index: int) -> Location:
    return Location(What.PARAMETER_NAME) if index == 0 else _free(location)


def _get_attr(location: Location, node: List, index: int) -> Location:
    if index == 0:
        return Location(What.RESOURCE_NAME)
    return Location(What.ATTRIBUTE, _text(node, 0)) if index == 1 else FREE


def _if(location: Location, node: List, index: int) -> Location:
    if index == 0:
        return OPERAND
    return location.outer or FREE


def _outer(location: Location, node: List, index: int) -> Location:
    return location.outer or _free(location)


def _operands(location: Location, node: List, index: int) -> Location:
    return OPERAND


def _digest(location: Location, node: List, index: int) -> Location:
    return Location(What.ALGORITHM) if index == 0 else FREE


def _find_in_map(location: Location, node: List, index: int) -> Location:
    match index:
        case 0:
            return Location(What.MAPPING_NAME)
        case 1:
            return Location(What.MAPPING_KEY, _text(node, 0))
        case 2:
            return Location(What.MAPPING_FIELD, _text(node, 0), _text(node, 1))
        case _:
            return NOTHING


def _text(node: List, index: int) -> str:
    return scalar_text(node.items[index]) or ""


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
    "Location",
    "What",
    "at_index",
    "at_scalar",
    "called",
    "functions_at",
    "under_key",
]
