"""The JSON style: the formatter changes only white space. Strings and numbers are unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

STEP = 2
WIDTH_MAX = 100
"""The maximum width, in columns, of a line that contains a whole list or map."""
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class _Value(Struct):
    """A scalar, or a list or map with its items; `key` is set if the value belongs to a map."""

    opens: str
    key: str = ""
    parts: list[_Value] = field(default_factory=list)
    closes: str = ""
    broken: bool = False  # it took more than one line

    def flat(self) -> str:
        inside = ", ".join(part.flat() for part in self.parts)
        return f"{self.key}{self.opens}{inside}{self.closes}"


def laid_out_json(text: str) -> str:
    """Return the text in Hearth's style. It must be JSON with a list or a map as root."""
    pieces = [(match[0], match.start()) for match in TOKEN.finditer(text)]
    root = _tree(pieces, text)
    root.broken = True
    return "\n".join(_lines(root, 0, "")) + "\n"


def _tree(pieces: list[tuple[str, int]], text: str) -> _Value:
    """Build a tree of the tokens of a JSON text, and return its root.

    The function does not recurse, so the depth is not limited.
    """
    top = _Value("")
    open_: list[tuple[_Value, int]] = [(top, 0)]
    key = ""
    for at, (piece, start) in enumerate(pieces):
        parent = open_[-1][0]
        if piece in ("{", "["):
            value = _Value(piece, key)
            parent.parts.append(value)
            open_.append((value, start))
            key = ""
        elif piece in ("}", "]"):
            value, began = open_.pop()
            value.closes = piece
            value.broken = "\n" in text[began:start]
        elif piece in (",", ":"):
            continue
        elif parent.opens == "{" and pieces[at + 1][0] == ":" and not key:
            key = f"{piece}: "
        else:
            parent.parts.append(_Value(piece, key))
            key = ""
    return top.parts[0]


def _lines(value: _Value, indent: int, after: str) -> Iterator[str]:
    """Yield the lines for a value; `after` is the comma that follows it, or empty."""
    pad = " " * indent
    if not value.parts:
        yield f"{pad}{value.flat()}{after}"
        return
    if not value.broken:
        flat = f"{pad}{value.flat()}"
        if len(flat) < WIDTH_MAX:
            yield flat + after
            return
    yield f"{pad}{value.key}{value.opens}"
    for part in value.parts[:-1]:
        yield from _lines(part, indent + STEP, ",")
    yield from _lines(value.parts[-1], indent + STEP, "")
    yield f"{pad}{value.closes}{after}"
