"""No regular expression takes more than twice the time for twice the text."""

from __future__ import annotations

import ast
import re
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from re import _constants as words  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import hearth
from tests.selection import part_of

SOURCES = Path(hearth.__file__).parent
FUNCTIONS = {
    "compile",
    "match",
    "search",
    "fullmatch",
    "sub",
    "subn",
    "findall",
    "finditer",
    "split",
}
START, LENGTH_MAX = 16, 1 << 14  # characters, of what is repeated
ENOUGH_S = 0.02  # a measurement of less than that says nothing
GROWTH_MAX = 3.0  # twice the time, and the noise of a busy machine; four times is quadratic
ENDS = ("", "\0", "\n\0", "!")


SCANNING = {"search", "sub", "subn", "findall", "finditer", "split"}


@cache
def uses() -> dict[str, set[str]]:
    """The methods that are called on each name in the source code."""
    found: dict[str, set[str]] = {}
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                found.setdefault(name, set()).add(node.attr)
    return found


@cache
def expressions() -> dict[str, tuple[str, int, frozenset[str]]]:
    """All expressions in the source code, by place: the pattern, the flags, and the
    methods with which it is used.
    """
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        names = _texts(tree := ast.parse(path.read_text()))
        named = {
            id(node.value): node.targets[0].id
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            if not of_re or node.func.attr not in FUNCTIONS or not node.args:
                continue
            pattern = _text(node.args[0], names)
            if pattern is not None:
                flags = " ".join(ast.unparse(one) for one in [*node.args[1:], *node.keywords])
                place = f"{path.relative_to(SOURCES)}:{node.lineno}"
                how = {node.func.attr}
                if node.func.attr == "compile":
                    how = uses().get(named.get(id(node), ""), set()) & FUNCTIONS or {"match"}
                found[place] = (pattern, _flags(flags), frozenset(how))
    return found


def _flags(text: str) -> int:
    names = re.findall(r"re\.(VERBOSE|X|IGNORECASE|I|MULTILINE|M|DOTALL|S|ASCII|A)\b", text)
    return sum({getattr(re, name).value for name in names})


def _texts(tree: ast.Module) -> dict[str, str]:
    """The texts that are constants of a module."""
    found: dict[str, str] = {}
    for node in tree.body:
        named = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        if named and (text := _text(node.value, found)) is not None:
            found[node.targets[0].id] = text
    return found


def _text(node: ast.expr, names: dict[str, str]) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=bytes(text)):
            return text.decode("latin-1")
        case ast.Name(id=name):
            return names.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_text(left, names), _text(right, names)]
        case ast.JoinedStr(values=values):
            parts = [
                _text(one.value if isinstance(one, ast.FormattedValue) else one, names)
                for one in values
            ]
        case _:
            return None
    return None if None in parts else "".join(str(part) for part in parts)


def attacks(pattern: str, flags: int) -> Iterator[tuple[str, str]]:
    """What makes a match begin, and what is then repeated, for each repetition in a pattern."""
    yield from _repeated(list(parser.parse(pattern, flags)), "")


def _repeated(nodes: list[Any], before: str) -> Iterator[tuple[str, str]]:
    for op, value in nodes:
        if op in REPEATS:
            _, high, body = value
            if high == words.MAXREPEAT or high > START:
                for one in _samples(list(body)):
                    yield before, one
            yield from _repeated(list(body), before)
        elif op is words.SUBPATTERN:
            yield from _repeated(list(value[3]), before)
        elif op is words.ATOMIC_GROUP:
            yield from _repeated(list(value), before)
        elif op is words.BRANCH:
            for one in value[1]:
                yield from _repeated(list(one), before)
        before += next(iter(_samples([(op, value)])), "")


REPEATS = (words.MAX_REPEAT, words.MIN_REPEAT, words.POSSESSIVE_REPEAT)
CANDIDATES = [chr(code) for code in (*range(97, 123), *range(32, 97), *range(123, 127), 9, 10, 233)]


def _samples(nodes: list[Any]) -> list[str]:
    """A few short texts that match."""
    found = [""]
    for op, value in nodes:
        match op:
            case words.LITERAL:
                more = [chr(value)]
            case words.NOT_LITERAL:
                more = [next(one for one in CANDIDATES if ord(one) != value)]
            case words.ANY:
                more = ["a"]
            case words.IN:
                matching = re.compile(_class(value))
                more = [one for one in CANDIDATES if matching.fullmatch(one)][:1]
                more += [one for one in "# \n_-.0" if matching.fullmatch(one)][:2]
            case words.SUBPATTERN:
                more = _samples(list(value[3]))
            case words.ATOMIC_GROUP:
                more = _samples(list(value))
            case words.BRANCH:
                more = [text for one in value[1] for text in _samples(list(one))]
            case _ if op in REPEATS:
                more = [one * max(value[0], 1) for one in _samples(list(value[2]))]
            case _:
                more = [""]
        found = [one + text for one in found for text in dict.fromkeys(more)][:8] or found
    return [one for one in found if one] or [""]


def _class(items: list[Any]) -> str:
    """A class of characters, written again."""
    codes = {
        words.CATEGORY_DIGIT: r"\d", words.CATEGORY_NOT_DIGIT: r"\D",
        words.CATEGORY_SPACE: r"\s", words.CATEGORY_NOT_SPACE: r"\S",
        words.CATEGORY_WORD: r"\w", words.CATEGORY_NOT_WORD: r"\W",
    }  # fmt: skip
    text = ""
    for op, value in items:
        match op:
            case words.NEGATE:
                text += "^"
            case words.LITERAL:
                text += re.escape(chr(value))
            case words.RANGE:
                text += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
            case words.CATEGORY:
                text += codes[value]
    return f"[{text}]"


def growth(pattern: str, flags: int, how: frozenset[str]) -> str:
    """The text for which twice the length takes far more than twice the time; empty: none."""
    compiled = re.compile(pattern, flags)
    methods = [compiled.search] if how & SCANNING else []
    methods += [compiled.match] if "match" in how else []
    methods += [compiled.fullmatch] if "fullmatch" in how else []
    for before, pump in dict.fromkeys(attacks(pattern, flags)):
        for end in ENDS:
            length, last = START, 0.0
            while length <= LENGTH_MAX:
                text = before + pump * (length // max(len(pump), 1)) + end
                took = _took(methods, text)
                if took > ENOUGH_S and last > ENOUGH_S / 16 and took > last * GROWTH_MAX:
                    took = min(took, *(_took(methods, text) for _ in range(2)))
                    if took > last * GROWTH_MAX:
                        return f"{before!r} + {pump!r} * n + {end!r}: {length}: {took / last:.1f}"
                if took > 1.0:
                    break
                length, last = (
                    (length + 2 if took > ENOUGH_S / 64 and length < 64 else 2 * length),
                    took,
                )
    return ""


def _took(methods: list[Callable[[str], Any]], text: str) -> float:
    began = time.perf_counter()
    for method in methods:
        method(text)
    return time.perf_counter() - began


def test_the_expressions_are_found() -> None:
    assert len(expressions()) > 100


@pytest.mark.parametrize(
    "pattern", [r"(?:\s+|#[^\r\n]*)*\{", r"(a+)+$", r"(\w+\s?)*!", r"\s*\n?\s*x$"]
)
def test_an_expression_that_grows_is_noticed(pattern: str) -> None:
    assert growth(pattern, 0, frozenset({"match", "search"}))


@pytest.mark.slow
@pytest.mark.parametrize("place", part_of(sorted(expressions()), 9))
def test_twice_the_text_takes_at_most_twice_the_time(place: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert growth(*expressions()[place]) == ""
