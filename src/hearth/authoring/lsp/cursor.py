"""The context of the cursor: the scalar at an offset, and the path to it from the root of the
text.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hearth.authoring.lsp.document import Document
from hearth.authoring.lsp.locations import Location, at_index, at_scalar, under_key
from hearth.authoring.lsp.syntax_tree import Entry, List, Map, Node, Scalar
from hearth.authoring.lsp.text import Text

CURSOR = "\ufdd0"
"""A placeholder for the text that is typed next. It is a Unicode noncharacter, which does not occur
in texts.
"""


class Hop(Struct, frozen=True):
    """One step of a path from the root: to an entry of a map or an item of a list.

    `location` is the location of the map or list.
    """

    container: Map | List
    index: int
    location: Location

    @property
    def entry(self) -> Entry | None:
        """The entry of the map, or None if the container is a list."""
        return self.container.entries[self.index] if isinstance(self.container, Map) else None


class CursorContext(Struct, frozen=True):
    """The scalar at the cursor, with the maps and lists that contain it.

    Offsets in nodes are relative to `base`. If `is_key` is true, the scalar is a key of the map in
    the last hop, and `location` is the location of that map. Otherwise `location` is that of the
    scalar.
    """

    document: Document
    scalar: Scalar
    is_key: bool
    location: Location
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
        """Whether the scalar is inside braces or brackets."""
        return bool(self.hops) and self.hops[-1].container.flow

    @property
    def colon(self) -> bool:
        """Whether the scalar is a key with a colon."""
        entry = self.hops[-1].entry if self.hops else None
        return self.is_key and entry is not None and entry.colon

    @property
    def own_line(self) -> bool:
        """Whether the scalar is the first text in its line, apart from dashes."""
        line = self.document.text.line_of(self.start)
        before = self.document.text.source[self.document.text.starts[line] : self.start]
        return not before.strip(" \t-")


def context_at(document: Document, offset: int) -> CursorContext | None:
    """Return the context of an offset; None in a comment, in white space, or outside of all
    blocks.
    """
    section = document.layout.section_at(offset)
    if section is None:
        return None
    if section.whole:
        (placed,) = section.blocks
        return _find(document, placed.block.root, document.root_location, placed.start, offset, ())
    key = section.key
    top = Map(key.start, key.end, [Entry(key, Scalar(key.end, key.end, "", missing=True))])
    hop = Hop(top, 0, document.root_location)
    if key.start <= offset - section.base <= key.end:
        return CursorContext(document, key, True, document.root_location, (hop,), section.base)
    placed_block = section.block_at(offset)
    if placed_block is None:
        return None
    # the map must not look like a call, so it has no other keys
    location = under_key(document.root_location, top, top.entries[0], document.grammar)
    return _find(document, placed_block.block.root, location, placed_block.start, offset, (hop,))


def completion_context(document: Document, offset: int) -> CursorContext | None:
    """Return the context of a text that is typed next at an offset, even if there is no text yet.

    The scalar contains CURSOR; the document of the context is the text with CURSOR inserted. Return
    None where `context_at` does.
    """
    source = document.text.source
    text = Text(source[:offset] + CURSOR + source[offset:])
    return context_at(Document(text, document.path, document), offset)


def _find(
    document: Document,
    root: Node,
    location: Location,
    base: int,
    offset: int,
    hops: tuple[Hop, ...],
) -> CursorContext | None:
    at = offset - base
    node = root
    path = list(hops)
    while True:
        if isinstance(node, Scalar):
            if not node.start <= at <= node.end:
                return None
            return CursorContext(document, node, False, at_scalar(location), path, base)
        index, on_key = _within(node, at)
        if index < 0:
            return None
        path.append(Hop(node, index, location))
        if isinstance(node, Map):
            entry = node.entries[index]
            if on_key:
                return CursorContext(document, entry.key, True, location, path, base)
            location = under_key(location, node, entry, document.grammar)
            node = entry.value
        else:
            location = at_index(location, node, index)
            node = node.items[index]


def _within(node: Map | List, at: int) -> tuple[int, bool]:
    """Return (index of the entry or item at an offset, whether the offset is in its key).

    The index is -1 if no entry or item contains the offset.
    """
    if isinstance(node, List):
        for index, item in enumerate(node.items):
            if item.start <= at <= item.end:
                return index, False
        return -1, False
    for index, entry in enumerate(node.entries):
        key = entry.key
        if key.start <= at <= key.end and not key.missing:
            return index, True
        if entry.value.start <= at <= entry.value.end and not (
            isinstance(entry.value, Scalar) and entry.value.missing
        ):
            return index, False
    return -1, False
