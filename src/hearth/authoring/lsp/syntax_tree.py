"""The syntax tree of a text: maps, lists and scalars with their offsets.

Offsets are relative to the beginning of the parsed text.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

from msgspec import Struct, field

from hearth.template.load import MERGE, yaml_scalar


class Scalar(Struct):
    """A scalar. `style` is its quote, `|`, `>`, `*` (an alias), or empty.

    `start` and `end` are the offsets without quotes. `missing` is true if a value is expected but
    there is none.
    """

    start: int
    end: int
    text: str
    style: str = ""
    missing: bool = False


class Entry(Struct):
    """A key of a map with its value; `colon` is false if there is no colon after the key yet."""

    key: Scalar
    value: Node
    colon: bool = True


class Map(Struct):
    """A map: its entries in order. `flow` is true if it is written with braces."""

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


class List(Struct):
    """A list: its items in order. `flow` is true if it is written with brackets."""

    start: int
    end: int
    items: list[Node] = field(default_factory=list)
    flow: bool = False


Node = Scalar | Map | List


def scalar_text(node: Node | None) -> str | None:
    """Return the text of a scalar; None if the node is not a scalar or is missing."""
    return node.text if isinstance(node, Scalar) and not node.missing else None


def plain(node: Node) -> Any:
    """Return the value of a node as a YAML loader would return it, except for aliases.

    A missing value is None.
    """
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
