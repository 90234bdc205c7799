"""In which versions of the language something is there: derived from the grammars."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from hearth.template.versions import GRAMMARS, Grammar

T = TypeVar("T", bound=Hashable)

HOT: tuple[Grammar, ...] = tuple(one for one in GRAMMARS if one.hot)
"""The versions of HOT, oldest first."""

CFN: tuple[Grammar, ...] = tuple(one for one in GRAMMARS if not one.hot)

WITHOUT_ELSE = "if.without_else"
"""Our name for the `if` that needs no third argument: to the grammar it is a flag, no variant."""


@dataclass(frozen=True)
class Run(Generic[T]):
    """Versions of HOT, one after the other, in which something is the same."""

    value: T
    first: Grammar
    last: Grammar

    @property
    def words(self) -> str:
        """`since 2016-10-14`, `until 2015-04-30`, `all versions`, …"""
        from_the_start, to_the_end = self.first is HOT[0], self.last is HOT[-1]
        if from_the_start and to_the_end:
            return "all versions"
        if to_the_end:
            return f"since {self.first.value}"
        if self.first is self.last:
            return f"{self.first.value} only"
        if from_the_start:
            return f"until {self.last.value}"
        return f"{self.first.value} to {self.last.value}"


def runs(value_in: Callable[[Grammar], T | None]) -> list[Run[T]]:
    """What something is, version by version; those in which it is not there (None) are left out."""
    found: list[Run[T]] = []
    before: T | None = None
    for grammar in HOT:
        value = value_in(grammar)
        if value is not None and value == before:
            found[-1] = Run(value, found[-1].first, grammar)
        elif value is not None:
            found.append(Run(value, grammar, grammar))
        before = value
    return found


def presence(there: Callable[[Grammar], bool]) -> str:
    """The versions of HOT that have something, in words."""
    return ", ".join(run.words for run in runs(lambda grammar: there(grammar) or None))


def variant(grammar: Grammar, word: str) -> str | None:
    """What a word means as a function in this version: the name of the variant."""
    known = grammar.functions.get(word)
    return WITHOUT_ELSE if known == "if" and grammar.if_without_else else known


def variants(word: str) -> list[str]:
    """All that a word means outside conditions, oldest first."""
    return list(dict.fromkeys(v for one in (*HOT, *CFN) if (v := variant(one, word)) is not None))


def words_of_functions() -> list[str]:
    """Every function of every version, and those of conditions, in alphabetical order."""
    return sorted({word for one in GRAMMARS for word in _words(one)}, key=str.lower)


def in_cfn(word: str) -> bool:
    """Whether a function is one of the CFN flavours, which have their own names for all."""
    return any(word in _words(one) for one in CFN)


def _words(grammar: Grammar) -> Iterable[str]:
    yield from (word for word, known in grammar.functions.items() if known)
    yield from grammar.condition_functions
