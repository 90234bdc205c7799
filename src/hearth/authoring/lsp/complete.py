"""What may be typed at the cursor."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.authoring.lsp.choice import Choice, Hand, Sort, Word, words
from hearth.authoring.lsp.describe import shown
from hearth.authoring.lsp.document import Document, Genre
from hearth.authoring.lsp.offers import (
    ARGUMENTS,
    CALLED,
    KEYS,
    NAMES,
    beginnings,
    functions,
    paths,
    types,
)
from hearth.authoring.lsp.pieces import Map
from hearth.authoring.lsp.places import Place, What
from hearth.authoring.lsp.schemas import Schemas
from hearth.authoring.lsp.spot import Spot, at_cursor
from hearth.schema import AllowedValues, Kind


class Completion:
    """Choices at a place of a document."""

    def __init__(self, schemas: Schemas) -> None:
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
            empty = len(spot.document.layout.sections) == 1 and not spot.hops
            return [hand.key(word) for word in beginnings()] if empty else []
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
            yield from rule(self.schemas, spot.document, place)
        whole = place.what is What.VALUE and place.steps == ()
        if alone and place.what in CALLED and not whole:
            yield from functions(spot.document, spot.place)

    # -- values ---------------------------------------------------------------------------------

    def values(self, spot: Spot, hand: Hand) -> Iterator[Choice]:
        """What may be the scalar at the cursor."""
        place, document = spot.place, spot.document
        match place.what:
            case What.VALUE:
                yield from self._schema_values(spot, hand)
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
                named = NAMES[what](self.schemas, document, place)
                itself = _resource_around(spot) if what is What.RESOURCE_NAME else None
                yield from (hand.scalar(word) for word in named if word.name != itself)
        if place.what in CALLED and not spot.scalar.style and not _may_be_key(spot):
            yield from (
                hand.call(word, ARGUMENTS.get(word.name, "$1"))
                for word in functions(spot.document, spot.place)
            )

    def _schema_values(self, spot: Spot, hand: Hand) -> Iterator[Choice]:
        document, place = spot.document, spot.place
        if self.schemas.names_type(document, place):
            yield from map(hand.scalar, types(self.schemas, document.path))
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
    return not spot.flow
