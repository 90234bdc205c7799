"""What may be typed at the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

from hearth.authoring.lsp import words as fixed
from hearth.authoring.lsp.choice import Choice, Hand, Sort, Word, words
from hearth.authoring.lsp.describe import (
    attribute_text,
    function_text,
    property_line,
    property_text,
    shown,
    type_line,
)
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.files import Files, is_template_name, local
from hearth.authoring.lsp.pieces import Map, Scalar, scalar_text
from hearth.authoring.lsp.places import Place, What, functions_at
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.spot import Spot, at_cursor
from hearth.authoring.types import AuthorCatalog
from hearth.model.state import Hook, RestrictedAction
from hearth.schema import AllowedValues, Custom, Kind, Prop
from hearth.template.parameters import CFN_NAMES, ParameterType
from hearth.template.versions import HOT_KEY, VERSION_KEYS, versions_of


class Completion:
    """Choices at a place of a document."""

    def __init__(self, files: Files, schemas: Schemas) -> None:
        self.files = files
        self.schemas = schemas

    def at(self, document: Document, offset: int, *, snippets: bool = False) -> list[Choice]:
        """What may be typed at an offset of a text; nothing where that is anything."""
        spot = at_cursor(document, offset)
        if spot is None or spot.scalar.style in ("|", ">", "*"):
            return []
        hand = Hand(spot, offset, snippets=snippets)
        if "\n" in hand.typed:  # a text of several lines
            return []
        if spot.document.genre is Genre.NOTHING:
            return [hand.key(word) for word in _beginnings(spot)]
        if spot.is_key:
            return [hand.key(word) for word in self.keys(spot)]
        found = list(self.values(spot, hand))
        if _may_be_key(spot):
            found += [hand.key(word) for word in self.keys(spot)]
        return found

    # -- keys -----------------------------------------------------------------------------------

    def keys(self, spot: Spot) -> list[Word]:
        """What may be the key at the cursor: those that are not there yet."""
        given = _given(spot)
        alone = not given
        return [word for word in self._keys(spot, alone) if word.name not in given]

    def _keys(self, spot: Spot, alone: bool) -> Iterator[Word]:
        place = spot.place
        rule = KEYS.get(place.what)
        if rule is not None:
            yield from rule(self, spot.document, place)
        whole = place.what is What.VALUE and place.steps == ()
        if alone and place.what in CALLED and not whole:
            yield from _functions(spot)

    def properties(self, document: Document, place: Place) -> Iterator[Word]:
        """The properties at a place, required ones first."""
        entries = self.schemas.entries(document, place) or {}
        top = self._top(document, place)
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

    def _top(self, document: Document, place: Place) -> Prop | None:
        if not place.steps:
            return None
        first = Place(place.what, place.name, place.root, place.steps[:1])
        return self.schemas.prop(document, first)

    # -- values ---------------------------------------------------------------------------------

    def values(self, spot: Spot, hand: Hand) -> Iterator[Choice]:
        """What may be the scalar at the cursor."""
        place, document = spot.place, spot.document
        match place.what:
            case What.VALUE:
                yield from self._schema_values(spot, hand)
            case What.FILE:
                yield from map(hand.scalar, self.paths(document.path, hand.typed))
            case What.TYPE | What.REGISTRY_TARGET:
                yield from map(hand.scalar, self.types(document.path))
                yield from map(hand.scalar, self.paths(document.path, hand.typed, templates=True))
            case What.FLAG:
                yield from map(hand.literal, words(("true", "false"), Sort.VALUE))
            case what if what in NAMES:
                named = NAMES[what](self, document, place)
                itself = _resource_around(spot) if what is What.RESOURCE_NAME else None
                yield from (hand.scalar(word) for word in named if word.name != itself)
        if place.what in CALLED and not spot.scalar.style and not _may_be_key(spot):
            yield from (
                hand.call(word, ARGUMENTS.get(word.name, "$1")) for word in _functions(spot)
            )

    def _schema_values(self, spot: Spot, hand: Hand) -> Iterator[Choice]:
        document, place = spot.document, spot.place
        if self.schemas.names_type(document, place):
            yield from map(hand.scalar, self.types(document.path))
            return
        prop = self.schemas.prop(document, place)
        if prop is None and place.steps and isinstance(place.steps[-1], int):
            holder = Place(place.what, place.name, place.root, place.steps[:-1])
            prop = self.schemas.prop(document, holder) if holder.steps else None
        if prop is None:
            return
        if prop.kind is Kind.BOOLEAN:
            yield from map(hand.literal, words(("true", "false"), Sort.VALUE, rank=1))
        for constraint in prop.constraints:
            if isinstance(constraint, AllowedValues):
                for value in constraint.values:
                    word = Word(shown(value), Sort.VALUE, rank=1)
                    yield hand.scalar(word) if isinstance(value, str) else hand.literal(word)

    def types(self, path: Path) -> Iterator[Word]:
        """The names of types, without files."""
        known = types_of(self.schemas.catalog)
        for name in self.schemas.names(path):
            yield known.get(name) or Word(name, Sort.TYPE, "environment", rank=2)

    def paths(self, beside: Path, typed: str, *, templates: bool = False) -> Iterator[Word]:
        """The files in the folder that a path which is being typed leads to."""
        folder_part = typed.rpartition("/")[0] + "/" if "/" in typed else ""
        folder = local(folder_part or ".", beside)
        if folder is None:
            return
        for found in self.files.names(folder):
            name = folder_part + found.name
            if found == beside:
                continue
            if found.is_dir():
                yield Word(name + "/", Sort.FOLDER, rank=7)
            elif not templates or is_template_name(found.name):
                yield Word(name, Sort.FILE, rank=6)


# -- words of a kind ----------------------------------------------------------------------------


def _beginnings(spot: Spot) -> Iterator[Word]:
    """How a template begins, where there is nothing else yet."""
    if len(spot.document.layout.sections) == 1 and not spot.hops:
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


def _functions(spot: Spot) -> Iterator[Word]:
    for name, known in functions_at(spot.place, spot.document.grammar).items():
        if known is not None:
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


def _references(document: Document, place: Place) -> Iterator[Word]:
    yield from _parameters(document)
    if not place.conditional:
        yield from _resources(document)


def _parameter_types(document: Document) -> list[Word]:
    names = [str(one) if document.grammar.hot else CFN_NAMES[one] for one in ParameterType]
    return words(names, Sort.VALUE)


def _attributes(self: Completion, document: Document, place: Place) -> Iterator[Word]:
    kin = self.schemas.of_resource(document, place.name)
    if kin is None:
        return
    for name, attribute in kin.attributes.items():
        if attribute.support is None or not attribute.support.hidden:
            kind = str(attribute.kind) if attribute.kind else ""
            yield Word(name, Sort.ATTRIBUTE, kind, attribute_text(name, attribute), rank=1)
    if "show" not in kin.attributes:
        yield Word("show", Sort.ATTRIBUTE, "map", "All that the service shows of it.", rank=6)
    if kin.child is not None:
        for name in kin.child.items("resources"):
            yield Word(f"resource.{name}", Sort.RESOURCE, "inside", rank=6)


def _mapping(document: Document, *steps: str) -> list[Word]:
    (name, *rest) = steps
    item = document.items("mappings").get(name)
    piece = item.value if item else None
    for step in rest:
        piece = piece.get(step) if isinstance(piece, Map) else None
    keys = [entry.key.text for entry in piece.entries] if isinstance(piece, Map) else []
    return words(keys, Sort.VALUE)


def _custom(self: Completion, document: Document, place: Place) -> list[Word]:
    if place.name != "custom_constraint":
        return []
    return words(_custom_names(self.schemas.catalog), Sort.VALUE)


@cache
def types_of(catalog: AuthorCatalog) -> Mapping[str, Word]:
    """All types as words. It takes a while to find them for the first time."""
    found = {}
    for name in catalog.names():
        info = catalog.find(name)
        support = info.support if info else None
        if support is None or not support.hidden:
            old = support is not None and support.status == "DEPRECATED"
            found[name] = Word(name, Sort.TYPE, "", type_line(info), 9 if old else 5, old)
    return found


@cache
def _custom_names(catalog: AuthorCatalog) -> list[str]:
    found: set[str] = set()
    waiting = []
    for name in catalog.names():
        info = catalog.find(name)
        waiting += list(info.properties.values()) if info else []
    for prop in waiting:
        found.update(one.name for one in prop.constraints if isinstance(one, Custom))
        waiting += list((prop.entries or {}).values())
        waiting += [prop.item] if prop.item else []
    return sorted(found)


def _parameters_beside(self: Completion, document: Document, place: Place) -> Iterator[Word]:
    seen = set()
    for other in self.files.beside(document.path):
        if other.genre is Genre.TEMPLATE:
            for name in other.items("parameters"):
                if name not in seen:
                    seen.add(name)
                    yield Word(name, Sort.PARAMETER, other.path.name)


def _resources_beside(self: Completion, document: Document, place: Place) -> list[Word]:
    others = self.files.beside(document.path)
    named = (one.items("resources") for one in others if one.genre is Genre.TEMPLATE)
    return words(sorted({name for items in named for name in items}), Sort.RESOURCE)


def _parameter_keys(self: Completion, document: Document, place: Place) -> Iterator[Word]:
    keys = document.grammar.parameter_keys - {"schema"}
    yield from _listed(sorted(keys), fixed.PARAMETER_KEYS, ("type", "Type"))


def _registry(self: Completion, document: Document, place: Place) -> Iterator[Word]:
    yield Word("resources", Sort.KEYWORD, text="What counts for single resources.")
    yield from self.types(document.path)


def _registry_resource(self: Completion, document: Document, place: Place) -> Iterator[Word]:
    yield from words(("hooks", "restricted_actions"), Sort.KEYWORD)
    yield from self.types(document.path)


Names = Callable[[Completion, Document, Place], Iterable[Word]]

KEYS: Mapping[What, Names] = {
    What.ROOT: lambda self, document, place: _sections(document),
    What.ENVIRONMENT: lambda self, document, place: words(fixed.ENVIRONMENT_SECTIONS, Sort.KEYWORD),
    What.PARAMETER: _parameter_keys,
    What.RESOURCE: lambda self, document, place: _ours(
        document.grammar.resource_keys, fixed.RESOURCE_KEYS
    ),
    What.OUTPUT: lambda self, document, place: _ours(
        document.grammar.output_keys, fixed.OUTPUT_KEYS
    ),
    What.CONSTRAINT: lambda self, document, place: _listed(
        (*document.grammar.constraints, "description"), fixed.CONSTRAINTS
    ),
    What.BOUNDS: lambda self, document, place: words(
        fixed.BOUNDS.get(place.name, {}), Sort.KEYWORD
    ),
    What.GROUP: lambda self, document, place: words(fixed.GROUP_KEYS, Sort.KEYWORD),
    What.VALUE: Completion.properties,
    What.ARGUMENT: lambda self, document, place: words(
        fixed.FUNCTION_KEYS.get(place.name, {}), Sort.KEYWORD
    ),
    What.ENV_PARAMETERS: _parameters_beside,
    What.REGISTRY: _registry,
    What.REGISTRY_RESOURCES: _resources_beside,
    What.REGISTRY_RESOURCE: _registry_resource,
}
"""The keys that a map may have."""

NAMES: Mapping[What, Names] = {
    What.VERSION: lambda self, document, place: words(
        reversed(versions_of(place.name)), Sort.VALUE
    ),
    What.PARAMETER_TYPE: lambda self, document, place: _parameter_types(document),
    What.PARAMETER_NAME: lambda self, document, place: _parameters(document),
    What.RESOURCE_NAME: lambda self, document, place: _resources(document),
    What.REF: lambda self, document, place: _references(document, place),
    What.OPERAND: lambda self, document, place: _conditions(document),
    What.ATTRIBUTE: _attributes,
    What.POLICY: lambda self, document, place: words(
        sorted(document.grammar.deletion_policies), Sort.VALUE, rank=1
    ),
    What.FACADE: lambda self, document, place: words(
        fixed.FACADES_HOT if document.grammar.hot else fixed.FACADES_CFN, Sort.VALUE
    ),
    What.ALGORITHM: lambda self, document, place: words(fixed.ALGORITHMS, Sort.VALUE),
    What.MAPPING_NAME: lambda self, document, place: words(document.items("mappings"), Sort.VALUE),
    What.MAPPING_KEY: lambda self, document, place: _mapping(document, place.name),
    What.MAPPING_FIELD: lambda self, document, place: _mapping(document, place.name, place.root),
    What.BOUNDS: _custom,
    What.HOOK: lambda self, document, place: words(list(Hook), Sort.VALUE),
    What.RESTRICTED_ACTION: lambda self, document, place: words(list(RestrictedAction), Sort.VALUE),
    What.STRATEGY: lambda self, document, place: words(fixed.STRATEGIES, Sort.VALUE),
}
"""The names that may stand at a place."""

CALLED = frozenset({What.VALUE, What.CONDITION, What.OPERAND})
"""Where functions are offered."""

ARGUMENTS: Mapping[str, str] = {"get_attr": "[$1]", "Fn::GetAtt": "[$1]", "Fn::FindInMap": "[$1]"}


def _resource_around(spot: Spot) -> str | None:
    """The resource in whose definition the cursor is; it can not refer to itself."""
    for hop in spot.hops:
        if hop.place.what is What.RESOURCES and hop.entry is not None:
            return hop.entry.key.text
    return None


# -- what is there ------------------------------------------------------------------------------


def _given(spot: Spot) -> set[str]:
    """The other keys of the map in which the cursor is."""
    if spot.place.what in (What.ROOT, What.ENVIRONMENT):
        sections = spot.document.layout.sections
        return {one.key.text for one in sections if one.colon and one.start != spot.start}
    if not spot.is_key:
        return set()
    hop = spot.hops[-1]
    assert isinstance(hop.container, Map)
    entries = enumerate(hop.container.entries)
    return {entry.key.text for index, entry in entries if index != hop.index and entry.colon}


def _may_be_key(spot: Spot) -> bool:
    """Whether the word at the cursor, which is a scalar so far, may become a key."""
    if spot.is_key or not spot.own_line or spot.scalar.style not in ("", '"', "'"):
        return False
    return not spot.flow and isinstance(spot.scalar, Scalar)
