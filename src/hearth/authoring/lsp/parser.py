"""A parser that builds a syntax tree of any text and never fails.

If a YAML loader accepts the text, the tree has the values that the loader returns, except for
escapes and aliases. Otherwise, as usual while an author types, the tree is a guess. Indentation
then determines the structure. A single word among the keys of a map is a key without a colon, and
open brackets and quotes end before keys that are indented less.

Offsets are relative to the beginning of the parsed text.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from msgspec import Struct

from hearth.authoring.lsp.syntax_tree import Entry, List, Map, Node, Scalar


def parse(text: str, *, json: bool = False) -> Node:
    """Return the syntax tree of a text.

    If `json` is true, the text is the content of a map in braces, without the opening brace.
    """
    parser = _Parser(text)
    if json:
        return parser.flow_map(0, 0, -1)
    return parser.document()


DEPTH_MAX = 80
"""The maximum depth of nested lists and maps. Deeper ones are treated as text."""

LINE = re.compile(r"^([ \t]*)(?=[^\s#])[^\r\n]*", re.M)
MARKER = re.compile(r"(?:---|\.\.\.)(?=\s|\Z)|%")
KEY = re.compile(
    r"""(?:"(?P<double>(?:[^"\\\r\n]|\\.)*)"|'(?P<single>(?:[^'\r\n]|'')*)'"""
    r"""|(?P<plain>(?:[^\s\-?:,\[\]{}\#&*!|>'"%@`]|[-?:](?=\S))(?:[^\r\n:\#]|:(?=\S)|(?<=\S)\#)*?))"""
    r"""(?<=\S)[ \t]*:(?=\s|\Z)"""
)
PROPS = re.compile(r"(?:[&!][^\s,\[\]{}]*[ \t]*)*")
HEADER = re.compile(r"[|>][-+0-9]*[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
SPACE = re.compile(r"[ \t]*")
GAP = re.compile(r"(?:[ \t\r\n]+|(?:(?<=\s)|\A)#[^\r\n]*)*")
DOUBLE = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
SINGLE = re.compile(r"'(?:[^']|'')*'")
OPEN_QUOTE = re.compile(r"""["'][^\r\n,\]}]*""")
COMMENT = re.compile(r"(?<![ \t])[ \t]+#")
FLOW_PLAIN = re.compile(
    r"(?:[^,\[\]{}:\s#]|:(?=[^\s,\[\]{}])|(?<=\S)#|[ \t]+(?=[^\s,\[\]{}:#]|:[^\s,\[\]{}]))+"
)
FLOW_COLON = re.compile(r":(?=[\s,\[\]{}]|\Z)")


class _SourceLine(Struct):
    """A line that is not empty: it has `indent` characters of white space, and text from `start` to
    `end`.
    """

    indent: int
    start: int
    end: int


class _Parser:
    """Parses a text; `at` is the index of the next line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.lines: list[_SourceLine] = []
        for match in LINE.finditer(text):
            indent = len(match.group(1))
            if indent == 0 and MARKER.match(text, match.start()):
                continue
            end = match.start() + len(match.group().rstrip())
            self.lines.append(_SourceLine(indent, match.start() + indent, end))
        self.starts = [line.start for line in self.lines]

    def document(self) -> Node:
        if not self.lines:
            return _missing(0)
        first = self.lines[0]
        root = self.block(first.start, first.indent, -1)
        while self.at < len(self.lines):  # whatever is left stands less indented than it began
            before = self.at
            line = self.lines[self.at]
            following = self.block(line.start, line.indent, -1)
            if isinstance(root, Map) and isinstance(following, Map):
                root.entries += following.entries
                root.end = following.end
            elif isinstance(root, List) and isinstance(following, List):
                root.items += following.items
                root.end = following.end
            self.at = max(self.at, before + 1)
        return root

    # -- block style ----------------------------------------------------------------------------

    def block(self, pos: int, column: int, outer: int) -> Node:
        """Return the value that begins at the offset `pos` in the next line.

        `outer` is the column of the node that contains it.
        """
        if self.depth >= DEPTH_MAX:
            return self.rest(pos)
        self.depth += 1
        try:
            if self.dash(pos):
                return self.list(pos, column)
            if KEY.match(self.text, pos) or self.starts_map(pos, column):
                return self.map(pos, column)
            return self.inline(pos, outer)
        finally:
            self.depth -= 1

    def rest(self, pos: int) -> Scalar:
        """Return the rest of the line as a scalar, without parsing it."""
        end = self.lines[self.at].end
        self.at += 1
        return Scalar(pos, end, self.text[pos:end])

    def dash(self, pos: int) -> bool:
        return self.text[pos] == "-" and self.text[pos + 1 : pos + 2] in ("", " ", "\t", "\r", "\n")

    def starts_map(self, pos: int, column: int) -> bool:
        """Return whether a word without a colon is the first key of a map whose next key is in the
        next line. The word begins at the offset `pos`, in this column.
        """
        if self.text[pos] in "\"'{[|>*":
            return False
        if self.at + 1 >= len(self.lines):
            return False
        after = self.lines[self.at + 1]
        return after.indent == column and KEY.match(self.text, after.start) is not None

    def list(self, pos: int, column: int) -> List:
        node = List(pos, pos + 1)
        while True:
            line = self.lines[self.at]
            after = _after(SPACE, self.text, pos + 1)
            after = _after(PROPS, self.text, after)
            if after >= line.end or self.text[after] == "#":
                self.at += 1
                node.items.append(self.nested(column, min(after, line.end), lists=False))
            elif HEADER.match(self.text, after):
                node.items.append(self.literal(after, column))
            else:
                width = after - line.start + line.indent
                node.items.append(self.block(after, width, column))
            self.strays(node, column)
            node.end = max(after, node.items[-1].end)
            if self.at >= len(self.lines):
                break
            line = self.lines[self.at]
            if line.indent != column or not self.dash(line.start):
                break
            pos = line.start
        return node

    def strays(self, node: List, column: int) -> None:
        """Add the misplaced lines below a list, which are indented deeper than its dashes, to the
        list.

        If these lines form a map and the last item is a map, too, the entries are added to that
        item.
        """
        while self.at < len(self.lines) and self.lines[self.at].indent > column:
            line = self.lines[self.at]
            misplaced = self.block(line.start, line.indent, column)
            last = node.items[-1]
            if isinstance(last, Map) and isinstance(misplaced, Map):
                last.entries += misplaced.entries
                last.end = misplaced.end
            else:
                node.items.append(misplaced)

    def map(self, pos: int, column: int) -> Map:
        node = Map(pos, pos)
        while True:
            entry = self.entry(pos, column)
            node.entries.append(entry)
            node.end = max(entry.key.end, entry.value.end)
            if self.at >= len(self.lines) or self.lines[self.at].indent < column:
                break
            pos = self.lines[self.at].start
        return node

    def entry(self, pos: int, column: int) -> Entry:
        match = KEY.match(self.text, pos)
        if match is None:
            if self.dash(pos):
                return Entry(_missing(pos), self.list(pos, self.lines[self.at].indent), colon=False)
            lone = self.inline(pos, column)
            if isinstance(lone, Scalar):
                return Entry(lone, _missing(lone.end), colon=False)
            return Entry(_missing(pos), lone, colon=False)
        return Entry(key_of(match), self.value(match.end(), column))

    def value(self, pos: int, column: int) -> Node:
        line = self.lines[self.at]
        after = _after(PROPS, self.text, _after(SPACE, self.text, pos))
        if after >= line.end or self.text[after] == "#":
            self.at += 1
            return self.nested(column, min(after, line.end), lists=True)
        if HEADER.match(self.text, after):
            return self.literal(after, column)
        return self.inline(after, column)

    def nested(self, column: int, empty: int, *, lists: bool) -> Node:
        """Return the value in the following lines, which must be indented deeper than `column`.

        If `lists` is true, a list may also begin at that column. If there is no value, return a
        missing scalar at the offset `empty`.
        """
        if self.at < len(self.lines):
            line = self.lines[self.at]
            if line.indent > column or (lists and line.indent == column and self.dash(line.start)):
                return self.block(line.start, line.indent, column)
        return _missing(empty)

    def literal(self, pos: int, column: int) -> Scalar:
        """Return a block scalar, which begins with `|` or `>`."""
        self.at += 1
        while self.at < len(self.lines) and self.lines[self.at].indent > column:
            self.at += 1
        end = self.lines[self.at - 1].end
        if self.at < len(self.lines):  # comments and empty lines belong to it
            line = self.lines[self.at]
            end = max(end, len(self.text[: line.start - line.indent].rstrip()))
        else:
            end = max(end, len(self.text.rstrip()))
        return Scalar(pos, end, self.text[pos:end], self.text[pos])

    def inline(self, pos: int, outer: int) -> Node:
        """Return the value that begins at `pos` in the current line: quoted, in brackets or braces,
        or plain. `outer` is the column of the node that contains it; -1 at the top.
        """
        char = self.text[pos]
        if char in "\"'":
            node: Node = self.quoted(pos, outer)
            end = min(node.end + 1, len(self.text))
        elif char in "{[":
            node = self.flow(pos, outer)
            end = node.end
        else:
            return self.plain(pos, outer)
        self.at = max(self.at + 1, bisect_left(self.starts, end))
        return node

    def plain(self, pos: int, outer: int) -> Node:
        line = self.lines[self.at]
        comment = COMMENT.search(self.text, pos, line.end)
        end = comment.start() if comment else line.end
        style = "*" if self.text[pos] == "*" else ""
        text = self.text[pos:end]
        self.at += 1
        while self.at < len(self.lines) and self.lines[self.at].indent > outer:
            line = self.lines[self.at]
            if KEY.match(self.text, line.start) or self.dash(line.start):
                return self.led(Scalar(pos, end, text, style), outer)
            end = line.end
            text += " " + self.text[line.start : end]
            self.at += 1
        return Scalar(pos, end, text, style)

    def led(self, lead: Scalar, outer: int) -> Node:
        """Return the value in the lines below a misplaced word; the word becomes its first entry or
        item. `outer` is the column of the node that contains it.
        """
        line = self.lines[self.at]
        below = self.block(line.start, line.indent, outer)
        if isinstance(below, Map):
            below.entries.insert(0, Entry(lead, _missing(lead.end), colon=False))
        elif isinstance(below, List):
            below.items.insert(0, lead)
        below.start = lead.start
        return below

    def quoted(self, pos: int, outer: int) -> Scalar:
        style = self.text[pos]
        match = (DOUBLE if style == '"' else SINGLE).match(self.text, pos)
        if match is None or not self.may_span(match.start(), match.end(), outer):
            match = OPEN_QUOTE.match(self.text, pos)
            assert match is not None
            end = pos + len(match.group().rstrip())
            return Scalar(pos + 1, max(end, pos + 1), self.text[pos + 1 : end], style)
        raw = self.text[pos + 1 : match.end() - 1]
        return Scalar(pos + 1, match.end() - 1, _unquoted(raw, style), style)

    def may_span(self, start: int, end: int, outer: int) -> bool:
        """Return whether a value can extend from `start` to `end`, because its lines are indented
        deeper than the column `outer` of the node that contains it.

        If `outer` is -1, as in JSON, no value extends over several lines.
        """
        if "\n" not in self.text[start:end]:
            return True
        if outer < 0:  # in JSON no text is longer than its line
            return False
        first = bisect_left(self.starts, start + 1)
        return all(line.indent > outer for line in self._until(first, end))

    def _until(self, first: int, end: int) -> Iterator[_SourceLine]:
        for index in range(first, len(self.lines)):
            if self.lines[index].start >= end:
                return
            yield self.lines[index]

    # -- flow style -----------------------------------------------------------------------------

    def flow(self, pos: int, outer: int) -> Node:
        if self.depth >= DEPTH_MAX:
            return Scalar(pos, pos + 1, self.text[pos])
        self.depth += 1
        is_map = self.text[pos] == "{"
        node = self.flow_map(pos, pos + 1, outer) if is_map else self.flow_list(pos, outer)
        self.depth -= 1
        return node

    def gap(self, pos: int, outer: int) -> int:
        """Return the offset after white space and comments at `pos`, inside brackets.

        Return -1 if the content of the brackets does not continue there.
        """
        after = _after(GAP, self.text, pos)
        if after >= len(self.text):
            return -1
        if outer >= 0 and "\n" in self.text[pos:after]:
            line_start = self.text.rfind("\n", 0, after) + 1
            if after - line_start <= outer and (KEY.match(self.text, after) or self.dash(after)):
                return -1
        return after

    def flow_map(self, start: int, pos: int, outer: int) -> Map:
        node = Map(start, pos, flow=True)
        while True:
            after = self.gap(pos, outer)
            if after < 0:
                node.end = max(pos, node.end)
                return node
            char = self.text[after]
            if char == "}":
                node.end = after + 1
                return node
            if char == "]":
                node.end = after
                return node
            if char == "," or (char == ":" and FLOW_COLON.match(self.text, after)):
                pos = after + 1
                continue
            entry, pos = self.flow_entry(after, outer)
            node.entries.append(entry)
            node.end = pos

    def flow_entry(self, pos: int, outer: int) -> tuple[Entry, int]:
        key, pos = self.flow_node(pos, outer)
        if isinstance(key, Scalar):
            colon = self.colon(pos, outer, quoted=key.style != "")
            if colon >= 0:
                value, pos = self.flow_value(colon + 1, outer)
                return Entry(key, value), pos
            return Entry(key, _missing(key.end), colon=False), pos
        return Entry(_missing(key.start), key, colon=False), pos

    def colon(self, pos: int, outer: int, *, quoted: bool) -> int:
        """Return the offset of the colon after a key in braces, or -1 if there is none.

        `pos` is the end of the key. Unless the key is `quoted`, white space, a comma or a bracket
        must follow the colon.
        """
        after = self.gap(pos, outer)
        if after < 0 or self.text[after] != ":":
            return -1
        return after if quoted or FLOW_COLON.match(self.text, after) else -1

    def flow_value(self, pos: int, outer: int) -> tuple[Node, int]:
        after = self.gap(pos, outer)
        if after < 0 or self.text[after] in ",]}":
            return _missing(pos), pos
        return self.flow_node(after, outer)

    def flow_list(self, pos: int, outer: int) -> List:
        node = List(pos, pos + 1, flow=True)
        pos += 1
        while True:
            after = self.gap(pos, outer)
            if after < 0:
                node.end = max(pos, node.end)
                return node
            char = self.text[after]
            if char == "]":
                node.end = after + 1
                return node
            if char == "}":
                node.end = after
                return node
            if char == ",":
                pos = after + 1
                continue
            entry, pos = self.flow_entry(after, outer)
            if entry.colon:
                node.items.append(Map(after, pos, [entry], flow=True))
            else:
                node.items.append(entry.value if entry.key.missing else entry.key)
            node.end = pos

    def flow_node(self, pos: int, outer: int) -> tuple[Node, int]:
        pos = _after(PROPS, self.text, pos)
        if pos >= len(self.text) or self.text[pos] in ",]}":
            return _missing(pos), pos
        char = self.text[pos]
        if char in "{[":
            node = self.flow(pos, outer)
            return node, node.end
        if char in "\"'":
            quoted = self.quoted(pos, outer)
            closed = self.text[quoted.end : quoted.end + 1] == char
            return quoted, quoted.end + (1 if closed else 0)
        match = FLOW_PLAIN.match(self.text, pos)
        if match is None:  # a sign that begins nothing
            return Scalar(pos, pos + 1, char), pos + 1
        style = "*" if char == "*" else ""
        return Scalar(pos, match.end(), match.group(), style), match.end()


def _after(pattern: re.Pattern[str], text: str, pos: int) -> int:
    match = pattern.match(text, pos)
    return match.end() if match else pos


def _missing(pos: int) -> Scalar:
    return Scalar(pos, pos, "", missing=True)


def key_of(match: re.Match[str]) -> Scalar:
    """Return the key that the pattern KEY has matched."""
    style = {"double": '"', "single": "'", "plain": ""}[match.lastgroup or "plain"]
    start, end = match.span(match.lastgroup or "plain")
    return Scalar(start, end, _unquoted(match.group(match.lastgroup or "plain"), style), style)


def _unquoted(raw: str, style: str) -> str:
    if style == "'":
        return raw.replace("''", "'")
    if style == '"' and "\\" in raw:
        return raw.replace('\\"', '"').replace("\\\\", "\\")
    return raw
