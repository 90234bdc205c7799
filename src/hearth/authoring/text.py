"""The lines of a text, as YAML defines them, and the words in them."""

from __future__ import annotations

import re

LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*'")
WORD = re.compile(r"[^\s,\[\]{}]*[^\s,\[\]{}:]")


def lines_of(text: str) -> list[str]:
    """Return the lines of a text without their line breaks."""
    return LINE_END.split(text)


def length_at(line: str, column: int) -> int:
    """Return the length of the word that begins at a column, counted from 1; the result is at least
    1.
    """
    start = column - 1
    match = QUOTED.match(line, start) or WORD.match(line, start)
    return max(1, match.end() - start) if match else 1
