"""A text with positions as editors count them: lines from 0, and columns in a unit that they
choose.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import StrEnum
from functools import cached_property

LINE_END = re.compile(r"\r\n|\n|\r")
YAML_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


class Units(StrEnum):
    """The units in which an editor counts columns; UTF-16 unless it chooses another one."""

    UTF8 = "utf-8"
    UTF16 = "utf-16"
    UTF32 = "utf-32"

    def of(self, text: str) -> int:
        """Return the length of a text in this unit."""
        if self is Units.UTF32 or text.isascii():
            return len(text)
        if self is Units.UTF16:
            return len(text) + sum(char > "\uffff" for char in text)
        return len(text.encode("utf-8", "surrogatepass"))


class Text:
    """A text and the offsets of its lines. All offsets count characters."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def starts(self) -> list[int]:
        """The offsets at which lines begin, by the protocol's definition of lines."""
        return [0, *(match.end() for match in LINE_END.finditer(self.source))]

    @cached_property
    def _yaml_starts(self) -> list[int]:
        return [0, *(match.end() for match in YAML_LINE_END.finditer(self.source))]

    def line_of(self, offset: int) -> int:
        """Return the number of the line that contains an offset."""
        return bisect_right(self.starts, offset) - 1

    def line(self, number: int) -> str:
        """Return a line without its line break; empty text if there is no such line."""
        if not 0 <= number < len(self.starts):
            return ""
        last = number + 1 == len(self.starts)
        end = len(self.source) if last else self.starts[number + 1]
        return self.source[self.starts[number] : end].rstrip("\r\n")

    def position(self, offset: int, units: Units = Units.UTF16) -> tuple[int, int]:
        """Return (line, column) of an offset."""
        line = self.line_of(offset)
        return line, units.of(self.source[self.starts[line] : offset])

    def offset(self, line: int, column: int, units: Units = Units.UTF16) -> int:
        """Return the offset of a position; if the position does not exist, the nearest one."""
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.source)
        content = self.line(line)
        if units is Units.UTF32 or content.isascii():
            return self.starts[line] + max(0, min(column, len(content)))
        count = 0
        for index, char in enumerate(content):
            count += units.of(char)
            if count > column:
                return self.starts[line] + index
        return self.starts[line] + len(content)

    def offset_of_mark(self, line: int, column: int) -> int:
        """Return the offset of a position that the compiler reports.

        Its line and column are counted from 1, in characters.
        """
        starts = self._yaml_starts
        if line < 1:
            return 0
        if line > len(starts):
            return len(self.source)
        end = starts[line] - 1 if line < len(starts) else len(self.source)
        return max(starts[line - 1], min(starts[line - 1] + column - 1, end))

    def changed(self, start: int, end: int, new: str) -> Text:
        """Return a text in which the part from `start` to `end` is replaced."""
        end = max(start, end)
        return Text(self.source[:start] + new + self.source[end:])
