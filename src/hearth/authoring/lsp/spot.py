"""What is at a place in a text: the scalar, and the way to it from the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hearth.authoring.lsp.document import Document
from hearth.authoring.lsp.pieces import Entry, List, Map, Piece, Scalar
from hearth.authoring.lsp.places import Place, at_index, at_scalar, under_key
from hearth.authoring.lsp.text import Text

CURSOR = "\ufdd0"
"""Stands for what is about to be typed. No text has this character: Unicode keeps it free."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step down: into an entry or an item. `place` is that of the container."""

    container: Map | List
    index: int
    place: Place

    @property
    def entry(self) -> Entry | None:
        """The entry, if the container is a map."""
        return self.container.entries[self.index] if isinstance(self.container, Map) else None


@dataclass(frozen=True, slots=True)
class Spot:
    """A scalar with all that it stands in.

    `base` is to be added to the places in pieces. `is_key` says that the scalar is a key of the
    last hop's map. `place` is that of the map if it is a key, else that of the scalar itself.
    """

    document: Document
    scalar: Scalar
    is_key: bool
    place: Place
    hops: Sequence[Hop]
    base: int

    @property
    def start(self) -> int:
        return self.base + self.scalar.start

    @property
    def end(self) -> int:
        return self.base + self.scalar.end

    @property
    def flow(self) -> bool:
        """Whether it stands in braces or brackets."""
        return bool(self.hops) and self.hops[-1].container.flow

    @property
    def colon(self) -> bool:
        """Whether the key that it is has a colon."""
        entry = self.hops[-1].entry if self.hops else None
        return self.is_key and entry is not None and entry.colon

    @property
    def own_line(self) -> bool:
        """Whether nothing but dashes stands before it in its line."""
        line = self.document.text.line_of(self.start)
        before = self.document.text.source[self.document.text.starts[line] : self.start]
        return not before.strip(" \t-")


def spot_at(document: Document, offset: int) -> Spot | None:
    """What is at an offset; None in comments, in white space and where nothing can be told."""
    section = document.layout.section_at(offset)
    if section is None:
        return None
    if section.whole:
        (placed,) = section.blocks
        return _find(document, placed.block.root, document.root_place, placed.start, offset, ())
    key = section.key
    top = Map(key.start, key.end, [Entry(key, Scalar(key.end, key.end, "", missing=True))])
    hop = Hop(top, 0, document.root_place)
    if key.start <= offset - section.base <= key.end:
        return Spot(document, key, True, document.root_place, (hop,), section.base)
    found = section.block_at(offset)
    if found is None:
        return None
    # the map must not look like a call, so it has no other keys
    place = under_key(document.root_place, top, top.entries[0], document.grammar)
    return _find(document, found.block.root, place, found.start, offset, (hop,))


def at_cursor(document: Document, offset: int) -> Spot | None:
    """What one is about to type at an offset, even where there is nothing yet.

    The scalar holds CURSOR; the document of the spot is the text with it.
    """
    source = document.text.source
    text = Text(source[:offset] + CURSOR + source[offset:])
    return spot_at(Document(text, document.path, document), offset)


def _find(
    document: Document, root: Piece, place: Place, base: int, offset: int, hops: tuple[Hop, ...]
) -> Spot | None:
    at = offset - base
    piece = root
    way = list(hops)
    while True:
        if isinstance(piece, Scalar):
            if not piece.start <= at <= piece.end:
                return None
            return Spot(document, piece, False, at_scalar(place), way, base)
        index, on_key = _within(piece, at)
        if index < 0:
            return None
        way.append(Hop(piece, index, place))
        if isinstance(piece, Map):
            entry = piece.entries[index]
            if on_key:
                return Spot(document, entry.key, True, place, way, base)
            place = under_key(place, piece, entry, document.grammar)
            piece = entry.value
        else:
            place = at_index(place, piece, index)
            piece = piece.items[index]


def _within(piece: Map | List, at: int) -> tuple[int, bool]:
    """The entry or item around a place, and whether it is on the key; -1 if there is none."""
    if isinstance(piece, List):
        for index, item in enumerate(piece.items):
            if item.start <= at <= item.end:
                return index, False
        return -1, False
    for index, entry in enumerate(piece.entries):
        key = entry.key
        if key.start <= at <= key.end and not key.missing:
            return index, True
        if entry.value.start <= at <= entry.value.end and not (
            isinstance(entry.value, Scalar) and entry.value.missing
        ):
            return index, False
    return -1, False
