"""The syntax tree of a text: maps, lists and scalars with their offsets.

Offsets count from the beginning of the parsed text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

from hearth.template.load import MERGE, yaml_scalar


@dataclass(slots=True)
class Scalar:
    """A scalar; `style` is its quote, `|`, `>`, `*`, or empty.

    `start` and `end` exclude the quotes. `missing` is true where a value is expected but nothing is
    written.
    """

    start: int
    end: int
    text: str
    style: str = ""
    missing: bool = False


@dataclass(slots=True)
class Entry:
    """A key of a map and its value; `colon` is false if the key has no colon yet."""

    key: Scalar
    value: Node
    colon: bool = True


@dataclass(slots=True)
class Map:
    """Entries by key, in order; `flow` if it is written with braces."""

    start: int
    end: int
    entries: list[Entry] = field(default_factory=list)
    flow: bool = False

    def get(self, name: str) -> Node | None:
        """Return the value of a key; None if the map does not have the key."""
        for entry in self.entries:
            if entry.key.text == name and entry.colon:
                return entry.value
        return None


@dataclass(slots=True)
class List:
    """Items in order; `flow` if it is written with brackets."""

    start: int
    end: int
    items: list[Node] = field(default_factory=list)
    flow: bool = False


Node = Scalar | Map | List


def scalar_text(node: Node | None) -> str | None:
    """Return the text of a scalar that is not missing; None for anything else."""
    return node.text if isinstance(node, Scalar) and not node.missing else None


def plain(node: Node) -> Any:
    """Return the value of a node as a loader returns it, except aliases; None if it is missing."""
    match node:
        case Map():
            return {entry.key.text: plain(entry.value) for entry in node.entries if entry.colon}
        case List():
            return [plain(item) for item in node.items]
        case Scalar(missing=True):
            return None
        case Scalar(style="|" | ">"):
            return dedent(node.text.partition("\n")[2])
        case Scalar(style=""):
            return _converted(node.text)
        case _:
            return node.text


def _converted(text: str) -> Any:
    try:
        value = yaml_scalar(text)
    except (ValueError, OverflowError):
        return text
    return text if value is MERGE else value
