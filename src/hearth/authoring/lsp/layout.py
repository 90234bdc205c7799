"""The division of a text into sections and blocks; each block is parsed separately and only once.

A section is a top-level key with its value. A block is one entry of a section, such as a resource,
a parameter or an output. Only the indentation shows where a block begins. Blocks are cached by
their text, so after an edit only the edited block is parsed again, even if other blocks have moved.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TypeVar

from msgspec import Struct

from hearth.authoring.lsp.parser import KEY, LINE, key_of, parse
from hearth.authoring.lsp.syntax_tree import Entry, Map, Node, Scalar

Note = TypeVar("Note")


class Block:
    """A part of a text. The offsets in it count from its beginning, so they stay valid if the block
    moves.
    """

    def __init__(self, text: str, *, json: bool = False) -> None:
        self.text = text
        self.json = json
        self._notes: dict[object, object] = {}

    @cached_property
    def root(self) -> Node:
        """The syntax tree of the block."""
        return parse(self.text, json=self.json)

    @cached_property
    def key(self) -> Scalar | None:
        """The key with which the block begins, or None."""
        first = JSON_START.match(self.text) if self.json else LINE.search(self.text)
        if first is None:
            return None
        match = KEY.match(self.text, first.end(1))
        return key_of(match) if match else None

    def note(self, about: object, find: Callable[[], Note]) -> Note:
        """Return the result of `find` for this block; it is cached under the key `about`."""
        if about not in self._notes:
            self._notes[about] = find()
        return self._notes[about]  # type: ignore[return-value]


class Placed(Struct, frozen=True):
    """A block with its offset in the text."""

    start: int
    block: Block

    @property
    def end(self) -> int:
        return self.start + len(self.block.text)


class Item(Struct, frozen=True):
    """An entry of a section. The offsets in `key` and `value` are relative to `base`."""

    name: str
    key: Scalar
    base: int
    end: int
    _value: Node | None
    _block: Block

    def note(self, about: object, find: Callable[[], Note]) -> Note:
        """Return the result of `find` for this entry.

        It is cached under the key `about` until the text of the entry changes.
        """
        return self._block.note(about, find)

    @property
    def start(self) -> int:
        """The offset of the entry's key."""
        return self.base + self.key.start

    @property
    def value(self) -> Node:
        """The syntax tree of the entry's value."""
        if self._value is not None:
            return self._value
        root = self._block.root
        assert isinstance(root, Map)
        for entry in root.entries:
            if entry.key.start == self.key.start:
                return entry.value
        return Scalar(self.key.end, self.key.end, "", missing=True)


class Section(Struct, frozen=True):
    """A top-level key of a text, with the blocks of its value.

    If `whole` is true, the section is a single block and `value` is its value; otherwise each entry
    has a block. The offsets in `key` are relative to `base`.
    """

    key: Scalar
    base: int
    end: int
    blocks: tuple[Placed, ...]
    value: Node | None = None
    colon: bool = True

    @property
    def start(self) -> int:
        """The offset of the section's key."""
        return self.base + self.key.start

    def block_at(self, offset: int) -> Placed | None:
        """Return the block that contains an offset of the text, or None."""
        index = bisect_right([placed.start for placed in self.blocks], offset)
        return self.blocks[index - 1] if index else None

    @property
    def whole(self) -> bool:
        return self.value is not None

    def items(self) -> Iterator[Item]:
        """Yield the entries of the section in order, except those whose key has no colon yet."""
        if isinstance(self.value, Map):
            (placed,) = self.blocks
            for entry in self.value.entries:
                if entry.colon:
                    end = placed.start + max(entry.key.end, entry.value.end)
                    key, value = entry.key, entry.value
                    yield Item(key.text, key, placed.start, end, value, placed.block)
        elif self.value is None:
            for placed in self.blocks:
                key_here = placed.block.key
                if key_here is not None:
                    base, block = placed.start, placed.block
                    yield Item(key_here.text, key_here, base, placed.end, None, block)


class Layout:
    """The sections of a text. `before` is the layout of the text before an edit."""

    def __init__(self, source: str, before: Layout | None = None) -> None:
        self.source = source
        self._known: Mapping[tuple[str, bool], Block] = before._kept if before else {}
        self._kept: dict[tuple[str, bool], Block] = {}
        opening = JSON_OPEN.match(source)
        self.braces = opening is not None
        if opening is None:
            self.sections = tuple(self._yaml())
        else:
            self.sections = tuple(self._json(opening.end()))
        self._known = {}

    def block(self, start: int, end: int, *, json: bool = False) -> Placed:
        """Return the block for a part of the text; a block with the same text is reused.

        `json` is true if the part is an entry of a JSON object, and so has no opening brace of its
        own.
        """
        text = self.source[start:end]
        key = (text, json)
        block = self._known.get(key) or self._kept.get(key) or Block(text, json=json)
        self._kept[key] = block
        return Placed(start, block)

    def section_at(self, offset: int) -> Section | None:
        """Return the last section that begins at or before an offset; None if there is none."""
        index = bisect_right([section.start for section in self.sections], offset)
        return self.sections[index - 1] if index else None

    # -- YAML -----------------------------------------------------------------------------------

    def _yaml(self) -> Iterator[Section]:
        starts = [match.start() for match in TOP.finditer(self.source)]
        for start, end in _parts(starts, len(self.source)):
            match = KEY.match(self.source, start)
            if match is None:
                yield self._lone(start, end)
                continue
            value_at = VALUE.match(self.source, match.end())
            assert value_at is not None
            blocks = () if value_at.group(1) else tuple(self._entries(match.end(), end))
            if blocks:
                yield Section(_shifted(key_of(match), -start), start, end, blocks)
            else:
                yield self._whole(start, end, json=False)

    def _whole(self, start: int, end: int, *, json: bool) -> Section:
        placed = self.block(start, end, json=json)
        root = placed.block.root
        if not isinstance(root, Map) or not root.entries or not root.entries[0].colon:
            return self._lone(start, end)
        entry = root.entries[0]
        return Section(entry.key, start, end, (placed,), entry.value)

    def _lone(self, start: int, end: int) -> Section:
        """Return a section for a top-level word without a colon, which is usually still being
        typed.
        """
        placed = self.block(start, end)
        width = len(placed.block.text.splitlines()[0].rstrip()) if end > start else 0
        key = Scalar(0, width, placed.block.text[:width])
        return Section(key, start, end, (placed,), placed.block.root, colon=False)

    def _entries(self, start: int, end: int) -> Iterator[Placed]:
        first = LINE.search(self.source, start, end)
        if first is None or LISTED.match(self.source, first.end(1)):
            return
        indent = len(first.group(1))
        if indent == 0:
            return
        nearer = [
            match.end() - match.start() for match in _lines(indent - 1, self.source, start, end)
        ]
        if len(nearer) > 1:  # then it is the first entry that is out of line
            indent = min(nearer)
        starts = [match.start() for match in _lines(indent, self.source, start, end)]
        if not starts or starts[0] > first.start():
            starts.insert(0, first.start())
        for begin, stop in _parts(starts, end):
            yield self.block(begin, stop)

    # -- JSON -----------------------------------------------------------------------------------

    def _json(self, start: int) -> Iterator[Section]:
        """Yield the sections of a JSON text in which each key has its own line, using the
        indentation.
        """
        first = JSON_LINE.search(self.source, start)
        if first is None or self.source[start : first.start()].strip():
            yield from self._braces()
            return
        lines = _json_lines(len(first.group(1)))
        starts = [match.start() for match in lines.finditer(self.source, start)]
        if len(starts) == len(JSON_LINE.findall(self.source, start)):  # nothing is indented
            yield from self._braces()
            return
        for begin, end in _parts(starts, len(self.source)):
            yield self._json_section(begin, end, len(first.group(1)))

    def _json_section(self, start: int, end: int, indent: int) -> Section:
        match = KEY.match(self.source, start + indent)
        opened = JSON_BODY.match(self.source, match.end(), end) if match else None
        first = JSON_LINE.match(self.source, opened.end(), end) if opened else None
        if match is None or opened is None or first is None or len(first.group(1)) <= indent:
            return self._whole(start, end, json=True)
        lines = _json_lines(len(first.group(1)))
        starts = [line.start() for line in lines.finditer(self.source, opened.end(), end)]
        blocks = tuple(self.block(begin, stop, json=True) for begin, stop in _parts(starts, end))
        return Section(_shifted(key_of(match), -start), start, end, blocks)

    def _braces(self) -> Iterator[Section]:
        """Yield the sections of a text in braces, which is parsed as a whole."""
        placed = self.block(0, len(self.source))
        root = placed.block.root
        for entry in root.entries if isinstance(root, Map) else ():
            end = max(entry.key.end, entry.value.end)
            yield Section(entry.key, 0, end, (placed,), entry.value, entry.colon)


TOP = re.compile(r"""^(?:[^\s\#\-\[\]{},&*!|>%@`.:]|[-.:](?![\s\-.]))[^\r\n]*""", re.M)
VALUE = re.compile(r"[ \t]*(?:&[^\s]*[ \t]*)?([^\s#][^\r\n]*)?")
LISTED = re.compile(r"-(?=\s|\Z)")
JSON_OPEN = re.compile(r"(?:\s++|#[^\r\n]*+)*+\{")
JSON_START = re.compile(r"(\s*)")
JSON_LINE = re.compile(r"""^([ \t]*)"(?=[^"\r\n]*"[ \t]*:)""", re.M)
JSON_BODY = re.compile(r"[ \t]*\{[ \t]*\r?\n(?:[ \t]*\r?\n)*")


@lru_cache(maxsize=64)
def _indented(indent: int) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]{{1,{indent}}}(?=[^\s#\]}},])", re.M)


def _lines(indent: int, text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield the lines that are indented by at least 1 and at most `indent` characters."""
    return _indented(indent).finditer(text, start, end) if indent > 0 else iter(())


@lru_cache(maxsize=64)
def _json_lines(indent: int) -> re.Pattern[str]:
    return re.compile(rf"""^[ \t]{{{indent}}}"(?=[^"\r\n]*"[ \t]*:)""", re.M)


def _parts(starts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the parts between consecutive starts; the last part ends at `end`."""
    return zip(starts, [*starts[1:], end], strict=False)


def _shifted(key: Scalar, by: int) -> Scalar:
    return Scalar(key.start + by, key.end + by, key.text, key.style)


__all__ = ["Block", "Entry", "Item", "Layout", "Placed", "Section"]
