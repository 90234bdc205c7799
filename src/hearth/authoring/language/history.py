"""Find out which versions of the language have a feature, from the grammars."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from msgspec import Struct

from hearth.template.versions import GRAMMARS, Grammar

T = TypeVar("T", bound=Hashable)

HOT: tuple[Grammar, ...] = tuple(grammar for grammar in GRAMMARS if grammar.hot)
"""The versions of HOT, oldest first."""

CFN: tuple[Grammar, ...] = tuple(grammar for grammar in GRAMMARS if not grammar.hot)

WITHOUT_ELSE = "if.without_else"
"""The name of the variant of `if` that needs no third argument.

A grammar marks this variant by a flag and not by a function with its own name.
"""


class Run(Struct, Generic[T], frozen=True):
    """A sequence of consecutive versions of HOT in which a feature is the same."""

    value: T
    first: Grammar
    last: Grammar

    @property
    def words(self) -> str:
        """Return the versions as text: `since 2016-10-14`, `until 2015-04-30`, `all versions`, …"""
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
    """Group the versions of HOT by the value of `value_in`; consecutive versions with equal values
    form a run.

    `value_in` returns None for a version that lacks the feature.
    """
    grouped: list[Run[T]] = []
    before: T | None = None
    for grammar in HOT:
        value = value_in(grammar)
        if value is not None and value == before:
            grouped[-1] = Run(value, grouped[-1].first, grammar)
        elif value is not None:
            grouped.append(Run(value, grammar, grammar))
        before = value
    return grouped


def presence(is_present: Callable[[Grammar], bool]) -> str:
    """Return the versions of HOT for which `is_present` returns true, as text."""
    return ", ".join(run.words for run in runs(lambda grammar: is_present(grammar) or None))


def variant(grammar: Grammar, word: str) -> str | None:
    """Return the name of the variant of a function in a version; None if the version has none.

    `word` is the name of the function in templates.
    """
    name = grammar.functions.get(word)
    return WITHOUT_ELSE if name == "if" and grammar.if_without_else else name


def variants(word: str) -> list[str]:
    """Return the names of all variants of a function outside of conditions, oldest first."""
    return list(
        dict.fromkeys(v for grammar in (*HOT, *CFN) if (v := variant(grammar, word)) is not None)
    )


def words_of_functions() -> list[str]:
    """Return the names of the functions of all versions in alphabetical order.

    Functions that only conditions can use are included.
    """
    return sorted({word for grammar in GRAMMARS for word in _words(grammar)}, key=str.lower)


def in_cfn(word: str) -> bool:
    """Return whether a function exists in the CFN formats, which have their own names."""
    return any(word in _words(grammar) for grammar in CFN)


def _words(grammar: Grammar) -> Iterable[str]:
    yield from (word for word, function in grammar.functions.items() if function)
    yield from grammar.condition_functions
