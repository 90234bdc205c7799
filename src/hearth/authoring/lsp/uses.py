"""The references in a text to parameters, resources, conditions, types, files and so on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto

from msgspec import Struct

from hearth.authoring.lsp.document import Document
from hearth.authoring.lsp.layout import Placed
from hearth.authoring.lsp.locations import (
    Location,
    What,
    at_index,
    at_scalar,
    called,
    under_key,
)
from hearth.authoring.lsp.syntax_tree import Entry, List, Map, Node, Scalar
from hearth.template.versions import Grammar


class Of(Enum):
    """The kinds of objects to which a name may refer."""

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


class Use(Struct, frozen=True):
    """A name that refers to an object, with its offsets from the beginning of its block."""

    of: Of
    name: str
    start: int
    end: int
    owner: str = ""
    steps: tuple[str | int, ...] = ()  # of a property: the path of the map that contains it


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
    """Yield (offset of a block, the references in it) for each block of a document, in order."""
    grammar = document.grammar
    about = (grammar.key, grammar.value)
    last_start = -1
    for section in document.layout.sections:
        if section.whole:
            (placed,) = section.blocks
            if placed.start != last_start:  # in braces all sections are one block
                last_start = placed.start
                location = document.root_location
                yield placed.start, _of_block(placed, location, grammar, ("uses", *about, ""))
            continue
        entry = Entry(section.key, section.key)
        location = under_key(document.root_location, Map(0, 0, [entry]), entry, grammar)
        key = ("uses", *about, section.key.text)
        for placed in section.blocks:
            yield placed.start, _of_block(placed, location, grammar, key)


def _of_block(placed: Placed, location: Location, grammar: Grammar, about: object) -> list[Use]:
    block = placed.block
    return block.note(about, lambda: _references(block.root, location, grammar))


def _references(root: Node, top: Location, grammar: Grammar) -> list[Use]:
    uses: list[Use] = []
    waiting: list[tuple[Node, Location]] = [(root, top)]
    while waiting:
        node, location = waiting.pop()
        match node:
            case Scalar():
                reference = _scalar(node, at_scalar(location))
                if reference is not None:
                    uses.append(reference)
            case List():
                inside = [
                    (item, at_index(location, node, index)) for index, item in enumerate(node.items)
                ]
                waiting += reversed(inside)
            case Map():
                uses += _keys(node, location, grammar)
                inside = [
                    (entry.value, under_key(location, node, entry, grammar))
                    for entry in node.entries
                ]
                waiting += reversed(inside)
    return sorted(uses, key=lambda use: use.start)


def _scalar(node: Scalar, location: Location) -> Use | None:
    of = SCALARS.get(location.what)
    if location.steps and location.steps[-1] == "type" and TYPE_NAME.search(node.text):
        of = Of.TYPE  # of a resource that is inside a property, as it seems
    if of is None or node.missing or node.style in TEXT_STYLES:
        return None
    if of is Of.REF and location.conditional:
        of = Of.PARAMETER
    return Use(of, node.text, node.start, node.end, location.name)


def _keys(node: Map, location: Location, grammar: Grammar) -> Iterator[Use]:
    if location.what is What.ENV_PARAMETERS:
        of, owner = Of.VALUE, location.name
    elif has_properties(location):
        of, owner = Of.PROPERTY, location.name
        if called(location, node, grammar) is not None:
            return
    else:
        return
    for entry in node.entries:
        if entry.colon:
            key = entry.key
            yield Use(of, key.text, key.start, key.end, owner, location.steps or ())


def has_properties(location: Location) -> bool:
    """Return whether the map at a location contains the properties of a resource.

    The resource may be defined inside a property of another one, such as a group.
    """
    if location.what is not What.VALUE or location.root != "properties" or location.steps is None:
        return False
    return not location.steps or (len(location.steps) > 1 and location.steps[-1] == "properties")
