"""Where a text names something: parameters, resources, conditions and more."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from hearth.authoring.lsp.document import Document
from hearth.authoring.lsp.layout import Placed
from hearth.authoring.lsp.pieces import Entry, List, Map, Piece, Scalar
from hearth.authoring.lsp.places import (
    Place,
    What,
    at_index,
    at_scalar,
    called,
    under_key,
)
from hearth.template.versions import Grammar


class Of(Enum):
    """What is named."""

    PARAMETER = auto()
    RESOURCE = auto()
    CONDITION = auto()
    MAPPING = auto()
    OUTPUT = auto()
    REF = auto()  # a resource if there is one, else a parameter
    ATTRIBUTE = auto()  # of the resource that is the owner
    PROPERTY = auto()  # of the resource that is the owner
    TYPE = auto()  # of the resource that is the owner
    FILE = auto()
    VALUE = auto()  # of a parameter, in an environment


@dataclass(frozen=True, slots=True)
class Use:
    """A name and where it stands, from the beginning of its block."""

    of: Of
    name: str
    start: int
    end: int
    owner: str = ""
    steps: tuple[str | int, ...] = ()  # of a property: where the properties are that it is among


SCALARS: Mapping[What, Of] = {
    What.PARAMETER_NAME: Of.PARAMETER,
    What.RESOURCE_NAME: Of.RESOURCE,
    What.OPERAND: Of.CONDITION,
    What.MAPPING_NAME: Of.MAPPING,
    What.REF: Of.REF,
    What.ATTRIBUTE: Of.ATTRIBUTE,
    What.TYPE: Of.TYPE,
    What.REGISTRY_TARGET: Of.FILE,
    What.FILE: Of.FILE,
}
TYPE_NAME = re.compile(r"::|\.(?:yaml|template)\Z")
TEXT_STYLES = frozenset({"|", ">", "*"})


def uses_in(document: Document) -> Iterator[tuple[int, list[Use]]]:
    """All uses with the offset of their block, in order."""
    grammar = document.grammar
    about = (grammar.key, grammar.value)
    seen = -1
    for section in document.layout.sections:
        if section.whole:
            (placed,) = section.blocks
            if placed.start != seen:  # in braces all sections are one block
                seen = placed.start
                place = document.root_place
                yield placed.start, _of_block(placed, place, grammar, ("uses", *about, ""))
            continue
        entry = Entry(section.key, section.key)
        place = under_key(document.root_place, Map(0, 0, [entry]), entry, grammar)
        key = ("uses", *about, section.key.text)
        for placed in section.blocks:
            yield placed.start, _of_block(placed, place, grammar, key)


def _of_block(placed: Placed, place: Place, grammar: Grammar, about: object) -> list[Use]:
    block = placed.block
    return block.note(about, lambda: _found(block.root, place, grammar))


def _found(root: Piece, top: Place, grammar: Grammar) -> list[Use]:
    uses: list[Use] = []
    waiting: list[tuple[Piece, Place]] = [(root, top)]
    while waiting:
        piece, place = waiting.pop()
        match piece:
            case Scalar():
                found = _scalar(piece, at_scalar(place))
                if found is not None:
                    uses.append(found)
            case List():
                inside = [
                    (item, at_index(place, piece, index)) for index, item in enumerate(piece.items)
                ]
                waiting += reversed(inside)
            case Map():
                uses += _keys(piece, place, grammar)
                inside = [
                    (entry.value, under_key(place, piece, entry, grammar))
                    for entry in piece.entries
                ]
                waiting += reversed(inside)
    return sorted(uses, key=lambda use: use.start)


def _scalar(piece: Scalar, place: Place) -> Use | None:
    of = SCALARS.get(place.what)
    if place.steps and place.steps[-1] == "type" and TYPE_NAME.search(piece.text):
        of = Of.TYPE  # of a resource that is inside a property, as it seems
    if of is None or piece.missing or piece.style in TEXT_STYLES:
        return None
    if of is Of.REF and place.conditional:
        of = Of.PARAMETER
    return Use(of, piece.text, piece.start, piece.end, place.name)


def _keys(piece: Map, place: Place, grammar: Grammar) -> Iterator[Use]:
    if place.what is What.ENV_PARAMETERS:
        of, owner = Of.VALUE, place.name
    elif has_properties(place):
        of, owner = Of.PROPERTY, place.name
        if called(place, piece, grammar) is not None:
            return
    else:
        return
    for entry in piece.entries:
        if entry.colon:
            key = entry.key
            yield Use(of, key.text, key.start, key.end, owner, place.steps or ())


def has_properties(place: Place) -> bool:
    """Whether a map at a place holds properties: of a resource, or of one inside a property."""
    if place.what is not What.VALUE or place.root != "properties" or place.steps is None:
        return False
    return not place.steps or (len(place.steps) > 1 and place.steps[-1] == "properties")
