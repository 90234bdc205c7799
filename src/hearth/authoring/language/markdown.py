"""Helpers to write Markdown: tables, inline code, code blocks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with a header row; its cells may contain any text without line
    breaks.
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in lines
    )


def code(word: object) -> str:
    """Return a text as inline code, in Markdown."""
    text = str(word)
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def codes(texts: Iterable[object]) -> str:
    """Return texts as inline code in Markdown, separated by commas."""
    return ", ".join(map(code, texts))


def block(text: str, language: str = "yaml") -> str:
    """Return a text as a Markdown code block; `language` selects its syntax highlighting."""
    return f"```{language}\n{text.rstrip()}\n```"


def as_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)
