"""Completion at the cursor."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.authoring.lsp.choice import Choice, Hand, Sort, Word, words
from hearth.authoring.lsp.completion_items import (
    ARGUMENTS,
    CALLED,
    KEYS,
    NAMES,
    beginnings,
    functions,
    paths,
    types,
)
from hearth.authoring.lsp.cursor import CursorContext, completion_context
from hearth.authoring.lsp.describe import shown
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.locations import Location, What
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.syntax_tree import Map
from hearth.schema import AllowedValues, ValueKind


class Completion:
    """Finds the completions at an offset of a document."""

    def __init__(self, schemas: Schemas) -> None:
        self.schemas = schemas

    def at(self, document: Document, offset: int, *, snippets: bool = False) -> list[Choice]:
        """Return the choices at an offset of a document; empty if Hearth knows none.

        `snippets` is true if the editor supports snippets.
        """
        context = completion_context(document, offset)
        if context is None or context.scalar.style in ("|", ">", "*"):
            return []
        hand = Hand(context, offset, snippets=snippets)
        if "\n" in hand.typed:  # a text of several lines
            return []
        if context.document.genre is Genre.NOTHING:
            empty = len(context.document.layout.sections) == 1 and not context.hops
            return [hand.key(word) for word in beginnings()] if empty else []
        if context.is_key:
            return [hand.key(word) for word in self.keys(context)]
        choices = list(self.values(context, hand))
        if _may_be_key(context):
            choices += [hand.key(word) for word in self.keys(context)]
        return choices

    # -- keys -----------------------------------------------------------------------------------

    def keys(self, context: CursorContext) -> list[Word]:
        """Return the keys that the map at the cursor may have, except those that it already has."""
        present = _present_keys(context)
        alone = not present
        return [word for word in self._keys(context, alone) if word.name not in present]

    def _keys(self, context: CursorContext, alone: bool) -> Iterator[Word]:
        location = context.location
        rule = KEYS.get(location.what)
        if rule is not None:
            yield from rule(self.schemas, context.document, location)
        whole_section = location.what is What.VALUE and location.steps == ()
        if alone and location.what in CALLED and not whole_section:
            yield from functions(context.document, context.location)

    # -- values ---------------------------------------------------------------------------------

    def values(self, context: CursorContext, hand: Hand) -> Iterator[Choice]:
        """Yield the choices for a scalar at the cursor."""
        location, document = context.location, context.document
        match location.what:
            case What.VALUE:
                yield from self._schema_values(context, hand)
            case What.FILE:
                yield from map(hand.scalar, paths(self.schemas.files, document.path, hand.typed))
            case What.TYPE | What.REGISTRY_TARGET:
                yield from map(hand.scalar, types(self.schemas, document.path))
                yield from map(
                    hand.scalar,
                    paths(self.schemas.files, document.path, hand.typed, templates=True),
                )
            case What.FLAG:
                yield from map(hand.literal, words(("true", "false"), Sort.VALUE))
            case what if what in NAMES:
                candidates = NAMES[what](self.schemas, document, location)
                itself = _resource_around(context) if what is What.RESOURCE_NAME else None
                yield from (hand.scalar(word) for word in candidates if word.name != itself)
        if location.what in CALLED and not context.scalar.style and not _may_be_key(context):
            yield from (
                hand.call(word, ARGUMENTS.get(word.name, "$1"))
                for word in functions(context.document, context.location)
            )

    def _schema_values(self, context: CursorContext, hand: Hand) -> Iterator[Choice]:
        document, location = context.document, context.location
        if self.schemas.names_type(document, location):
            yield from map(hand.scalar, types(self.schemas, document.path))
            return
        prop = self.schemas.prop(document, location)
        if prop is None and location.steps and isinstance(location.steps[-1], int):
            holder = Location(location.what, location.name, location.root, location.steps[:-1])
            prop = self.schemas.prop(document, holder) if holder.steps else None
        if prop is None:
            return
        if prop.kind is ValueKind.BOOLEAN:
            yield from map(hand.literal, words(("true", "false"), Sort.VALUE, rank=1))
        for constraint in prop.constraints:
            if isinstance(constraint, AllowedValues):
                for value in constraint.values:
                    word = Word(shown(value), Sort.VALUE, rank=1)
                    yield hand.scalar(word) if isinstance(value, str) else hand.literal(word)


def _resource_around(context: CursorContext) -> str | None:
    """Return the name of the resource that contains the cursor; None outside of resources.

    A resource cannot refer to itself, so this name is not offered.
    """
    for hop in context.hops:
        if hop.location.what is What.RESOURCES and hop.entry is not None:
            return hop.entry.key.text
    return None


# -- what is there ------------------------------------------------------------------------------


def _present_keys(context: CursorContext) -> set[str]:
    """Return the keys of the map at the cursor, except the one that is being typed."""
    if context.location.what in (What.ROOT, What.ENVIRONMENT):
        sections = context.document.layout.sections
        return {
            section.key.text
            for section in sections
            if section.colon and section.start != context.start
        }
    if not context.is_key:
        return set()
    hop = context.hops[-1]
    assert isinstance(hop.container, Map)
    entries = enumerate(hop.container.entries)
    return {entry.key.text for index, entry in entries if index != hop.index and entry.colon}


def _may_be_key(context: CursorContext) -> bool:
    """Return whether the scalar at the cursor may become a key, because no colon follows yet."""
    if context.is_key or not context.own_line or context.scalar.style not in ("", '"', "'"):
        return False
    return not context.flow
