"""Markdown: tables, words as code, blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells may hold anything but line breaks."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
                     for row in lines)  # fmt: skip


def code(word: object) -> str:
    """A word of the language."""
    text = str(word)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def codes(words: Iterable[object]) -> str:
    """Words of the language, one after the other."""
    return ", ".join(map(code, words))


def block(text: str, language: str = "yaml") -> str:
    """Text as it is."""
    return f"```{language}\n{text.rstrip()}\n```"


def as_json(value: Any) -> str:
    """A value in one line."""
    return json.dumps(value, ensure_ascii=False)
