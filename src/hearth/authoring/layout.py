"""The YAML style: the formatter changes only the white space between tokens.

The tokens come from the scanner of `hearth.template.load`. Unlike a syntax tree, they contain
comments, anchors, quotes and duplicate keys. Lines are never joined or split. docs/fmt.md describes
the style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml.tokens as yt
from msgspec import Struct
from yaml.cyaml import CParser  # type: ignore[attr-defined]

STEP = 2
"""The indentation of one level, in columns."""
COMMENT_GAP = 2
"""The number of columns between the text of a line and a comment after it."""

BREAKS = "\n\x85\u2028\u2029"
BREAK = re.compile(f"([{BREAKS}])")
COMMENT = re.compile(f"#[^{BREAKS}]*")
IN_GAP = re.compile(f"#[^{BREAKS}]*|[{BREAKS}]")
HEADER = re.compile(r"[|>][-+0-9]*")

KINDS: dict[type[yt.Token], str] = {
    yt.BlockEntryToken: "-",
    yt.KeyToken: "?",
    yt.ValueToken: ":",
    yt.FlowSequenceStartToken: "[",
    yt.FlowMappingStartToken: "{",
    yt.FlowSequenceEndToken: "]",
    yt.FlowMappingEndToken: "}",
    yt.FlowEntryToken: ",",
    yt.AnchorToken: "&",
    yt.AliasToken: "*",
    yt.TagToken: "!",
    yt.ScalarToken: "s",
    yt.DirectiveToken: "%",
    yt.DocumentStartToken: "---",
    yt.DocumentEndToken: "...",
    yt.StreamEndToken: "end",
}
"""A short code for each type of token."""
OWN_LINE = ("%", "---", "...", "end")
UNFINISHED = ("-", "?", ":", "&", "!")
"""Tokens after which a value is optional."""


def laid_out(text: str) -> str:
    """Return the text in Hearth's style. It must be valid YAML whose line breaks are `\n`."""
    return _Writer(text).run()


def signature(text: str) -> list[tuple[Any, ...]]:
    """Return everything in a text that the formatter must not change, in order.

    These are the tokens with their styles, and the comments. A scalar is represented by its value;
    trailing spaces of comments are ignored. Raises YAMLError.
    """
    parts: list[tuple[Any, ...]] = []
    end = 0
    for token in tokens(text):
        start = token.start_mark.index
        parts += _comments(text[end:start])
        end = max(end, token.end_mark.index)
        match token:
            case yt.ScalarToken():
                parts.append((token.value, token.plain, token.style))
                if token.style in ("|", ">"):
                    parts += _comments(BREAK.split(text[start:end], maxsplit=1)[0])
            case yt.AnchorToken() | yt.AliasToken() | yt.TagToken() | yt.DirectiveToken():
                parts.append((type(token), token.value))
            case yt.BlockSequenceStartToken() | yt.BlockEndToken():
                pass  # a list in the column of its key has none
            case _:
                parts.append((type(token),))
    return parts


def tokens(text: str) -> Iterator[Any]:
    """Yield the scanner's tokens. Raises YAMLError."""
    parser = CParser(text)
    while (token := parser.get_token()) is not None:
        yield token


def _comments(gap: str) -> list[tuple[str]]:
    return [(comment.rstrip(" \t"),) for comment in COMMENT.findall(gap)] if "#" in gap else []


class OutputLine(Struct):
    """A line of the formatted text: its text, its comment, and the original column of the comment.

    If a line has only a comment, `text` is the white space before it.
    """

    text: str
    comment: str = ""
    column: int = 0

    @property
    def says(self) -> bool:
        """Whether the line has text apart from a comment."""
        return bool(self.text.strip(" "))


class _OpenBlock(Struct, frozen=True):
    """A list or map in block style, with its original and its new column."""

    is_list: bool
    was: int
    column: int
    dashes_at_key: bool = False  # a list at the column of its key: it has no tokens of its own


class _Flow(Struct, frozen=True):
    """A list in brackets or a map in braces, with the columns for its items and its closing
    bracket.

    If the first item is on the same line as the opening bracket, the items on the lines that follow
    are aligned with the first item.
    """

    inner: int
    closer: int


class _TopKey(Struct):
    """A key at the top level, given by its first line and the last line of its value."""

    first: int
    last: int
    keeps_blanks: bool = False  # its value ends with blank lines that count


class _Writer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines: list[OutputLine] = []
        self.line: list[str] = []  # of the current line
        self.width = 0  # of the current line
        self.blocks: list[_OpenBlock] = []
        self.before: list[_OpenBlock] = []  # those open at the last token
        self.flows: list[_Flow] = []
        self.end = 0  # where the last token ended
        self.end_column = 0  # in the source
        self.kind = ""  # of the last token
        self.at_key = False  # an implicit key starts with the next token
        self.logical = 0  # column of the first token of the line that is no dash
        self.fresh = True  # there have been only dashes in this line
        self.entries: list[_TopKey] = []
        self.keeps_blanks = False  # the last token ended with blank lines that count
        self.ends_open = False  # the text ends in a block scalar, without a line break

    def run(self) -> str:
        for token in tokens(self.text):
            match token:
                case yt.BlockMappingStartToken() | yt.BlockSequenceStartToken():
                    self.open(token, isinstance(token, yt.BlockSequenceStartToken))
                case yt.BlockEndToken():
                    self.close_dashes()
                    self.blocks.pop()
                case yt.StreamStartToken():
                    pass
                case _:
                    self.structure(token)
                    if token.end_mark.index > token.start_mark.index or KINDS[type(token)] == "end":
                        self.put(token)
        self.set_off_entries()
        text = "\n".join(_joined(self.lines))
        return text if self.ends_open or not text else text + "\n"

    # -- what encloses what -----------------------------------------------------------------

    def open(self, token: Any, is_list: bool, *, dashes_at_key: bool = False) -> None:
        column = self.blocks[-1].column + STEP if self.blocks else 0
        self.blocks.append(_OpenBlock(is_list, token.start_mark.column, column, dashes_at_key))

    def close_dashes(self) -> None:
        if self.blocks and self.blocks[-1].dashes_at_key:
            self.blocks.pop()

    def structure(self, token: Any) -> None:
        """Update the enclosing blocks for a token, before the token is written."""
        if self.flows:
            return
        match token:
            case yt.BlockEntryToken():
                if not self.blocks[-1].is_list:
                    self.open(token, is_list=True, dashes_at_key=True)
            case yt.KeyToken():
                self.close_dashes()
                self.at_key = True
            case yt.ValueToken():
                self.close_dashes()

    # -- tokens -----------------------------------------------------------------------------

    def put(self, token: Any) -> None:
        kind = KINDS[type(token)]
        start, end = token.start_mark.index, token.end_mark.index
        leads = not self.flows and (kind == "-" or (kind == "?" and end > start))
        gap = self.text[self.end : start]
        breaks = not self.lines and not self.line
        if "\n" in gap or "#" in gap or kind in OWN_LINE or BREAK.search(gap):
            breaks = self.gap(gap, kind) or breaks
        if kind == "end":
            self.end_line()
            return
        if breaks:
            self.logical = self.column(kind)
            self.fresh = True
            self.add(" " * self.logical)
            leads = leads or (kind == ":" and not self.flows)
        else:
            self.add(_space(self.kind, kind))
            if self.kind in ("[", "{") and kind not in ("]", "}"):
                column = self.width
                self.flows[-1] = _Flow(inner=column, closer=column - 1)
        self.note_entry(breaks)
        self.at_key = self.keeps_blanks = False
        self.end = end
        self.end_column = token.end_mark.column
        if kind == "s":
            self.scalar(token)
        else:
            self.add(self.text[start:end])
            self.brackets(kind)
        if leads:
            self.logical = self.blocks[-1].column + STEP
        else:
            self.fresh = False
        self.kind = kind
        self.before = list(self.blocks)
        if self.entries:
            self.entries[-1].last = len(self.lines)
            self.entries[-1].keeps_blanks = self.keeps_blanks

    def column(self, kind: str) -> int:
        """Return the column of a line that begins with a token of this kind."""
        if kind in OWN_LINE:
            return 0
        if self.flows:
            return self.flows[-1].closer if kind in "]}" else self.flows[-1].inner
        if not self.blocks:
            return 0
        at_block = self.at_key or kind in ("-", ":")
        return self.blocks[-1].column + (0 if at_block else STEP)

    def brackets(self, kind: str) -> None:
        if kind in ("[", "{"):
            # a line of a value must be deeper than its key, as strict parsers require
            least = self.blocks[-1].column + STEP if self.blocks else 0
            closer = max(self.logical, least)
            self.flows.append(_Flow(inner=max(self.logical + STEP, least), closer=closer))
        elif kind in ("]", "}"):
            self.flows.pop()

    def note_entry(self, breaks: bool) -> None:
        if self.at_key and breaks and len(self.blocks) == 1 and not self.flows:
            self.entries.append(_TopKey(first=len(self.lines), last=len(self.lines)))

    def scalar(self, token: Any) -> None:
        text = self.text[token.start_mark.index : token.end_mark.index]
        if token.style in ("|", ">"):
            self.block_scalar(token, text)
            return
        parts = BREAK.split(text)
        if len(parts) == 1:
            self.add(text)
            return
        indent = " " * self.continuation()
        folded = _trimmed_end(parts[0], token.style)
        for at in range(1, len(parts), 2):
            inside = parts[at + 1].lstrip(" \t")
            if at + 2 < len(parts):
                inside = _trimmed_end(inside, token.style)
            folded += parts[at] + (indent + inside if inside else "")
        self.add_lines(folded)

    def continuation(self) -> int:
        """Return the column for the second and further lines of the next scalar."""
        if self.flows:
            inner = self.flows[-1].inner
            return inner if self.width == inner else inner + STEP
        if not self.blocks:
            return STEP
        return self.logical + (0 if self.fresh else STEP)

    def block_scalar(self, token: Any, text: str) -> None:
        """Write the header of a block scalar and, below it, its lines with only the indentation
        changed.
        """
        start = token.start_mark.index
        match = HEADER.match(text)
        assert match
        header = match[0]
        first, *body_parts = BREAK.split(text)
        self.add(header)
        self.keeps_blanks = "+" in header
        comment = COMMENT.search(first, match.end())
        if comment:
            self.comment(comment[0], token.start_mark.column + comment.start())
        self.end = start + len(first)
        if not body_parts:
            return
        lines = [(body_parts[at], body_parts[at + 1]) for at in range(0, len(body_parts), 2)]
        digits = re.search("[1-9]", header)
        block = self.blocks[-1] if self.blocks else None
        if digits:
            was = (block.was if block else 0) + int(digits[0])
            column = (block.column if block else 0) + int(digits[0])
        else:
            was = _found_indent([line for _, line in lines], block.was if block else -1)
            column = block.column + STEP if block else STEP
        counted = len(lines) - 1 if "+" in header else 0  # the last is what follows the last break
        for at, (_, line) in enumerate(lines):
            if line[:was].strip(" ") or len(line) > was:
                counted = max(counted, at + 1)
        if not counted:
            return
        indent = " " * column
        body = ""
        for at, (mark, line) in enumerate(lines[:counted]):
            self.end += len(mark) + len(line)
            body += (mark if at else "") + (indent + line[was:] if len(line) > was else "")
        if counted < len(lines) and lines[counted][0] in "\u2028\u2029":  # part of the text
            body += lines[counted][0]
        self.ends_open = self.end == len(self.text)
        self.end_line()
        self.add_lines(body)

    # -- between tokens ---------------------------------------------------------------------

    def gap(self, gap: str, kind: str) -> bool:
        """Write the comments and blank lines between two tokens.

        Return whether the second token begins a line.
        """
        following = self.column(kind)
        breaks = 2 if not self.lines and not self.line else 0
        start = True  # there has been no comment
        line_starts = -self.end_column
        for match in IN_GAP.finditer(gap):
            if match[0] in BREAKS:
                breaks += 1
                line_starts = match.end()
                continue
            column = match.start() - line_starts
            if not breaks:
                self.comment(match[0], column)
            else:
                self.new_line(blank=breaks > 1 and bool(self.lines or self.line))
                self.add(" " * self.comment_column(column, following))
                self.comment(match[0], column)
            breaks = 0
            start = False
        if kind == "end":
            return True
        if not breaks and start:
            return kind in OWN_LINE
        self.new_line(blank=breaks > 1 and bool(self.lines or self.line))
        return True

    def comment_column(self, was: int, following: int) -> int:
        """Return the column of a comment that has its own line.

        The comment is indented like the text after it. If it was indented like a block that ends
        before it, it is still indented like that block.
        """
        if self.flows:
            return self.flows[-1].inner
        column, reached = following, -1
        levels = [(block.was, block.column) for block in self.before]
        if levels and self.kind in UNFINISHED:
            levels.append((levels[-1][0] + 1, levels[-1][1] + STEP))
        for level, becomes in levels:
            if becomes == following:
                reached = level
            elif becomes > following and reached < level <= was:
                column, reached = becomes, level
        return column

    def comment(self, text: str, column: int) -> None:
        self.lines.append(OutputLine("".join(self.line), text.rstrip(" \t"), column))
        self.line, self.width = [], 0

    def add(self, text: str) -> None:
        self.line.append(text)
        self.width += len(text)

    def add_lines(self, text: str) -> None:
        """Append text with line breaks to the current line; each line break starts a new line."""
        *done, last = ("".join(self.line) + text).split("\n")
        self.lines += [OutputLine(line_text) for line_text in done]
        self.line, self.width = [last], len(last)

    def end_line(self) -> None:
        if self.line:
            self.lines.append(OutputLine("".join(self.line)))
            self.line, self.width = [], 0

    def new_line(self, *, blank: bool) -> None:
        self.end_line()
        if blank:
            self.lines.append(OutputLine(""))

    def set_off_entries(self) -> None:
        """Add a blank line before and after each top-level entry with several lines."""
        for at in range(len(self.entries) - 1, 0, -1):
            above, below = self.entries[at - 1], self.entries[at]
            apart = below.first != above.last + 1 or above.keeps_blanks
            if not apart and (above.first < above.last or below.first < below.last):
                self.lines.insert(below.first, OutputLine(""))


def _space(before: str, after: str) -> str:
    """Return the white space between two tokens of one line."""
    if after in ("]", "}", ","):
        return " " if before in UNFINISHED else ""
    if before in ("[", "{"):
        return ""
    if after == ":":
        return "" if before in ("s", "]", "}") else " "
    return " "


def _trimmed_end(line: str, style: str | None) -> str:
    """Return a line of a scalar without trailing spaces, if they are not significant."""
    trimmed = line.rstrip(" \t")
    if style == '"' and trimmed != line:
        backslashes = len(trimmed) - len(trimmed.rstrip("\\"))
        if backslashes % 2:
            return line[: len(trimmed) + 1]
    return trimmed


def _found_indent(lines: list[str], parent: int) -> int:
    """Return the indentation of a block scalar whose header does not state it."""
    deepest = max(parent + 1, 1)
    for line in lines:
        spaces = len(line) - len(line.lstrip(" "))
        deepest = max(deepest, spaces)
        if spaces < len(line):
            break
    return deepest


def _joined(lines: list[OutputLine]) -> Iterator[str]:
    """Return lines with their comments; comments that were aligned stay aligned."""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.comment or not line.says:
            yield line.text + line.comment
            continue
        run = [line]
        while at < len(lines) and lines[at].comment and lines[at].column == line.column:
            run.append(lines[at])
            at += 1
        column = max(len(aligned.text) for aligned in run if aligned.says) + COMMENT_GAP
        for aligned in run:
            yield (aligned.text if aligned.says else "").ljust(column) + aligned.comment
