"""The words that a completion offers: the keys of a map, or the values of a scalar."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from hearth.authoring.lsp import words as fixed
from hearth.authoring.lsp.choice import Sort, Word, described, words
from hearth.authoring.lsp.describe import (
    attribute_text,
    property_line,
    property_text,
    type_line,
)
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import Files, is_template_name, local
from hearth.authoring.lsp.locations import Location, What, functions_at
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.syntax_tree import Map, scalar_text
from hearth.authoring.types import AuthorCatalog
from hearth.model.state import Hook, RestrictedAction
from hearth.schema import Custom
from hearth.template.parameters import CFN_NAMES, ParameterType
from hearth.template.versions import HOT_KEY, VERSION_KEYS, function_text, versions_of

# -- properties, types and files ----------------------------------------------------------------


def properties(schemas: Schemas, document: Document, location: Location) -> Iterator[Word]:
    """Yield the names of the properties that are allowed at a location, required ones first."""
    entries = schemas.entries(document, location) or {}
    top = schemas.top_prop(document, location)
    for name, prop in entries.items():
        support = prop.support
        if support is not None and support.hidden:
            continue
        yield Word(
            name,
            Sort.PROPERTY,
            property_line(prop),
            property_text(name, prop, top),
            rank=1 if prop.required else 3,
            deprecated=support is not None and support.status == "DEPRECATED",
        )


def types(schemas: Schemas, path: Path) -> Iterator[Word]:
    """Yield the names of the resource types that the file `path` can use, except template files.

    These are the types of its environments, and all types of the catalogue that are not hidden.
    """
    words_by_name = types_of(schemas.catalog)
    for name in schemas.mapped_names(path):
        if name not in words_by_name:
            yield Word(name, Sort.TYPE, "environment", rank=2)
    yield from words_by_name.values()


@cache
def types_of(catalog: AuthorCatalog) -> Mapping[str, Word]:
    """Return a Word for each type of a catalogue that is not hidden, by name. The first call is
    slow.
    """
    words_by_name = {}
    for name in catalog.names():
        info = catalog.find(name)
        support = info.support if info else None
        if name.startswith("<") or (support is not None and support.hidden):
            continue  # stands for nothing that could be written
        old = support is not None and support.status == "DEPRECATED"
        words_by_name[name] = Word(name, Sort.TYPE, "", type_line(info), 9 if old else 5, old)
    return words_by_name


def paths(files: Files, origin: Path, typed: str, *, templates: bool = False) -> Iterator[Word]:
    """Yield the files and folders in the folder to which the typed path leads.

    The path is relative to the file `origin`, which is left out. If `templates` is true, other
    files than templates are left out. The editor selects the names that begin with the typed text.
    """
    folder_part = typed.rpartition("/")[0] + "/" if "/" in typed else ""
    folder = local(folder_part or ".", origin)
    if folder is None:
        return
    for entry in files.names(folder):
        name = folder_part + entry.name
        if entry == origin:
            continue
        if os.path.isdir(entry):
            yield Word(name + "/", Sort.FOLDER, rank=7)
        elif not templates or is_template_name(entry.name):
            yield Word(name, Sort.FILE, rank=6)


# -- names that a document defines --------------------------------------------------------------


def beginnings() -> Iterator[Word]:
    """Yield the keys with which a template may begin."""
    for name in VERSION_KEYS:
        yield Word(name, Sort.KEYWORD, text=fixed.SECTIONS[name], rank=1 + (name != HOT_KEY))


def _sections(document: Document) -> Iterator[Word]:
    for name, ours in document.grammar.sections.items():
        rank = 2 if ours == "resources" else 5
        yield Word(name, Sort.KEYWORD, text=fixed.SECTIONS.get(ours, ""), rank=rank)


def _ours(keys: Mapping[str, str], texts: Mapping[str, str]) -> Iterator[Word]:
    for name, ours in keys.items():
        rank = 1 if ours in ("type", "value") else 2 if ours == "properties" else 5
        yield Word(name, Sort.KEYWORD, text=texts[ours], rank=rank)


def _listed(
    names: Iterable[str], texts: Mapping[str, str], first: Iterable[str] = ()
) -> Iterator[Word]:
    for name in names:
        rank = 1 if name in first else 5
        yield Word(name, Sort.KEYWORD, text=texts.get(name, ""), rank=rank)


def functions(document: Document, location: Location) -> Iterator[Word]:
    """Yield the functions that may be called at a location."""
    for name, function in functions_at(location, document.grammar).items():
        if function is not None:
            yield Word(name, Sort.FUNCTION, text=function_text(name), rank=4)


def _parameters(document: Document) -> Iterator[Word]:
    for name in document.items("parameters"):
        kind = scalar_text(document.field("parameters", name, "type")) or ""
        yield Word(name, Sort.PARAMETER, kind, rank=1)
    for name in sorted(document.grammar.pseudo_parameters):
        text = fixed.PSEUDO_PARAMETERS.get(name, "")
        yield Word(name, Sort.PARAMETER, "pseudo parameter", text, rank=6)


def _resources(document: Document) -> Iterator[Word]:
    for item in document.items("resources").values():
        yield Word(item.name, Sort.RESOURCE, document.type_of(item.name) or "", rank=2)


def _conditions(document: Document) -> list[Word]:
    return words(document.items("conditions"), Sort.CONDITION, rank=1)


def _references(document: Document, location: Location) -> Iterator[Word]:
    yield from _parameters(document)
    if not location.conditional:
        yield from _resources(document)


def _parameter_types(document: Document) -> list[Word]:
    names = [str(ptype) if document.grammar.hot else CFN_NAMES[ptype] for ptype in ParameterType]
    return words(names, Sort.VALUE)


def _attributes(schemas: Schemas, document: Document, location: Location) -> Iterator[Word]:
    kin = schemas.of_resource(document, location.name)
    if kin is None:
        return
    for name, attribute in kin.attributes.items():
        if attribute.support is None or not attribute.support.hidden:
            kind = str(attribute.kind) if attribute.kind else ""
            yield Word(name, Sort.ATTRIBUTE, kind, attribute_text(name, attribute), rank=1)
    if "show" not in kin.attributes:
        yield Word(
            "show",
            Sort.ATTRIBUTE,
            "map",
            "All fields of the object that the service returns.",
            rank=6,
        )
    if kin.child is not None:
        for name in kin.child.items("resources"):
            yield Word(f"resource.{name}", Sort.RESOURCE, "inside", rank=6)


def _mapping(document: Document, *steps: str) -> list[Word]:
    (name, *path) = steps
    item = document.items("mappings").get(name)
    node = item.value if item else None
    for step in path:
        node = node.get(step) if isinstance(node, Map) else None
    keys = [entry.key.text for entry in node.entries] if isinstance(node, Map) else []
    return words(keys, Sort.VALUE)


def _custom(schemas: Schemas, document: Document, location: Location) -> list[Word]:
    if location.name != "custom_constraint":
        return []
    return words(_custom_names(schemas.catalog), Sort.VALUE)


@cache
def _custom_names(catalog: AuthorCatalog) -> list[str]:
    names: set[str] = set()
    waiting = []
    for name in catalog.names():
        info = catalog.find(name)
        waiting += list(info.properties.values()) if info else []
    for prop in waiting:
        names.update(
            constraint.name for constraint in prop.constraints if isinstance(constraint, Custom)
        )
        waiting += list((prop.entries or {}).values())
        waiting += [prop.item] if prop.item else []
    return sorted(names)


def _parameters_beside(schemas: Schemas, document: Document, location: Location) -> Iterator[Word]:
    names = set()
    for neighbour in schemas.files.beside(document.path):
        if neighbour.genre is Genre.TEMPLATE:
            for name in neighbour.items("parameters"):
                if name not in names:
                    names.add(name)
                    yield Word(name, Sort.PARAMETER, neighbour.path.name)


def _resources_beside(schemas: Schemas, document: Document, location: Location) -> list[Word]:
    neighbours = schemas.files.beside(document.path)
    resource_maps = (
        neighbour.items("resources")
        for neighbour in neighbours
        if neighbour.genre is Genre.TEMPLATE
    )
    return words(sorted({name for items in resource_maps for name in items}), Sort.RESOURCE)


def _parameter_keys(schemas: Schemas, document: Document, location: Location) -> Iterator[Word]:
    keys = document.grammar.parameter_keys - {"schema"}
    yield from _listed(sorted(keys), fixed.PARAMETER_KEYS, ("type", "Type"))


def _registry(schemas: Schemas, document: Document, location: Location) -> Iterator[Word]:
    yield Word("resources", Sort.KEYWORD, text="What counts for single resources.")
    yield from types(schemas, document.path)


def _registry_resource(schemas: Schemas, document: Document, location: Location) -> Iterator[Word]:
    yield from words(("hooks", "restricted_actions"), Sort.KEYWORD)
    yield from types(schemas, document.path)


Names = Callable[[Schemas, Document, Location], Iterable[Word]]

KEYS: Mapping[What, Names] = {
    What.ROOT: lambda schemas, document, location: _sections(document),
    What.ENVIRONMENT: lambda schemas, document, location: described(fixed.ENVIRONMENT_SECTIONS),
    What.PARAMETER: _parameter_keys,
    What.RESOURCE: lambda schemas, document, location: _ours(
        document.grammar.resource_keys, fixed.RESOURCE_KEYS
    ),
    What.OUTPUT: lambda schemas, document, location: _ours(
        document.grammar.output_keys, fixed.OUTPUT_KEYS
    ),
    What.CONSTRAINT: lambda schemas, document, location: _listed(
        (*document.grammar.constraints, "description"), fixed.CONSTRAINTS
    ),
    What.BOUNDS: lambda schemas, document, location: described(fixed.BOUNDS.get(location.name, {})),
    What.GROUP: lambda schemas, document, location: described(fixed.GROUP_KEYS),
    What.VALUE: properties,
    What.ARGUMENT: lambda schemas, document, location: described(
        fixed.FUNCTION_KEYS.get(location.name, {})
    ),
    What.ENV_PARAMETERS: _parameters_beside,
    What.REGISTRY: _registry,
    What.REGISTRY_RESOURCES: _resources_beside,
    What.REGISTRY_RESOURCE: _registry_resource,
}
"""For each kind of location, a function that returns the keys that a map there may have."""

NAMES: Mapping[What, Names] = {
    What.VERSION: lambda schemas, document, location: words(
        reversed(versions_of(location.name)), Sort.VALUE
    ),
    What.PARAMETER_TYPE: lambda schemas, document, location: _parameter_types(document),
    What.PARAMETER_NAME: lambda schemas, document, location: _parameters(document),
    What.RESOURCE_NAME: lambda schemas, document, location: _resources(document),
    What.REF: lambda schemas, document, location: _references(document, location),
    What.OPERAND: lambda schemas, document, location: _conditions(document),
    What.ATTRIBUTE: _attributes,
    What.POLICY: lambda schemas, document, location: words(
        sorted(document.grammar.deletion_policies), Sort.VALUE, rank=1
    ),
    What.FACADE: lambda schemas, document, location: words(
        fixed.FACADES_HOT if document.grammar.hot else fixed.FACADES_CFN, Sort.VALUE
    ),
    What.ALGORITHM: lambda schemas, document, location: words(fixed.ALGORITHMS, Sort.VALUE),
    What.MAPPING_NAME: lambda schemas, document, location: words(
        document.items("mappings"), Sort.VALUE
    ),
    What.MAPPING_KEY: lambda schemas, document, location: _mapping(document, location.name),
    What.MAPPING_FIELD: lambda schemas, document, location: _mapping(
        document, location.name, location.root
    ),
    What.BOUNDS: _custom,
    What.HOOK: lambda schemas, document, location: words(list(Hook), Sort.VALUE),
    What.RESTRICTED_ACTION: lambda schemas, document, location: words(
        list(RestrictedAction), Sort.VALUE
    ),
    What.STRATEGY: lambda schemas, document, location: words(fixed.STRATEGIES, Sort.VALUE),
}
"""For each kind of location, a function that returns the values that a scalar there may have."""

CALLED = frozenset({What.VALUE, What.CONDITION, What.OPERAND})
"""The kinds of locations at which functions are offered."""

ARGUMENTS: Mapping[str, str] = {"get_attr": "[$1]", "Fn::GetAtt": "[$1]", "Fn::FindInMap": "[$1]"}
