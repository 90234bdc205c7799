"""Broken templates: what a hand, a tool or a bad copy makes of a text, by chance from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

LONG = (1_000, 10_000, 100_000)
"""Characters of a very long line, and of a run of one character."""

RUNS = [*"[]{}\"'#-:,|>*&!?%@` \t\n\r\\~0a.é😀\x85\u2028\ufeff", "- ", "a: ", "? ", "\r\n", " |\n"]
BRACES = ["{", "}", "[", "]", '"', "'", "{{", "]]", "{ ", "[{", "{a: ", "- [", "- {a: ", "*", "&a "]
KEYS = [
    "resources", "parameters", "outputs", "conditions", "type", "properties", "get_param", "Ref",
    "get_attr", "get_resource", "Fn::GetAtt", "Fn::Join", "repeat", "str_replace", "if", "yaql",
    "heat_template_version", "AWSTemplateFormatVersion", "resource_registry", "depends_on", "",
    "~", "1", "'", "? ", "<<", "é😀", "OS::Nova::Server", "x" * 300,
]  # fmt: skip
BAD_BYTES = [b"\xff", b"\x80", b"\xc3", b"\xed\xa0\xbd", b"\xf0\x9f\x98", b"\xfe\xff", b"\x00"]
KEY = re.compile(r"""["']?([\w:.-]+)["']?[ \t]*:(?=\s|$)""", re.M)

Mutation = Callable[[str, random.Random], tuple[str | bytes, int]]
"""Returns the changed text, and the offset of the change."""


def cut(text: str, luck: random.Random) -> tuple[str, int]:
    """The text ends early, or begins late."""
    at = luck.randrange(len(text) + 1)
    return (text[at:], 0) if luck.random() < 0.2 else (text[:at], at)


def doubled(text: str, luck: random.Random) -> tuple[str, int]:
    """Some lines stand there more than once."""
    start, end = _lines(text, luck)
    return text[:end] + text[start:end] * luck.choice([1, 1, 2, 50]) + text[end:], end


def removed(text: str, luck: random.Random) -> tuple[str, int]:
    """Some lines are missing."""
    start, end = _lines(text, luck)
    return text[:start] + text[end:], start


def braces(text: str, luck: random.Random) -> tuple[str, int]:
    """Braces, brackets and quotes that do not match."""
    at = len(text)
    for _ in range(luck.choice([1, 1, 2, 10])):
        at = luck.randrange(len(text) + 1)
        text = text[:at] + luck.choice(BRACES) + text[at:]
    return text, at


def tabs(text: str, luck: random.Random) -> tuple[str, int]:
    """Tabs in places of spaces, or between words."""
    spaces = [found.start() for found in re.finditer(" ", text)] or [0]
    if luck.random() < 0.3:
        return text.replace("  ", "\t"), spaces[0]
    at = luck.choice(spaces)
    return text[:at] + "\t" * luck.choice([1, 1, 8]) + text[at + 1 :], at


def long_line(text: str, luck: random.Random) -> tuple[str, int]:
    """A line without an end: a long word, many words, or the next lines without their breaks."""
    at, size = luck.randrange(len(text) + 1), luck.choice(LONG)
    if luck.random() < 0.3:
        return text[:at] + text[at : at + size].replace("\n", " ") + text[at + size :], at
    piece = luck.choice(["x", "long words ", "key: value, ", "'it''s' ", "{get_param: p}, ", "é😀"])
    return text[:at] + (piece * size)[:size] + text[at:], at


def run(text: str, luck: random.Random) -> tuple[str, int]:
    """One character again and again."""
    at, size, piece = luck.randrange(len(text) + 1), luck.choice(LONG), luck.choice(RUNS)
    return text[:at] + (piece * size)[:size] + text[at:], at


def keys(text: str, luck: random.Random) -> tuple[str, int]:
    """Other keys than those that belong there."""
    at = 0
    for _ in range(luck.choice([1, 1, 3])):
        found = list(KEY.finditer(text))
        if not found:
            break
        one = luck.choice(found)
        other = luck.choice([*KEYS, luck.choice(found)[1]])
        text, at = text[: one.start(1)] + other + text[one.end(1) :], one.start(1)
    return text, at


def bad_bytes(text: str, luck: random.Random) -> tuple[bytes, int]:
    """Bytes that are not UTF-8."""
    source, at = text.encode(), 0
    for _ in range(luck.choice([1, 1, 5])):
        at = luck.randrange(len(source) + 1)
        source = source[:at] + luck.choice(BAD_BYTES) + source[at:]
    return source, len(source[:at].decode(errors="replace"))


def half_characters(text: str, luck: random.Random) -> tuple[str, int]:
    """Halves of UTF-16 pairs, which JSON can carry and UTF-8 cannot."""
    at = luck.randrange(len(text) + 1)
    return text[:at] + luck.choice(["\ud83d", "\ude00", "\ude00\ud83d"]) + text[at:], at


MUTATIONS: Mapping[str, Mutation] = {
    one.__name__: one
    for one in (
        cut,
        doubled,
        removed,
        braces,
        tabs,
        long_line,
        run,
        keys,
        bad_bytes,
        half_characters,
    )
}


def _lines(text: str, luck: random.Random) -> tuple[int, int]:
    """The offsets of a few lines."""
    lines = text.splitlines(keepends=True)
    first = luck.randrange(len(lines) + 1)
    last = min(len(lines), first + luck.choice([1, 1, 1, 3, 10]))
    return len("".join(lines[:first])), len("".join(lines[:last]))
