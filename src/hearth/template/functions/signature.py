"""What kinds of arguments a function takes, as data: for values of which only the kind is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hearth.model.span import Step
from hearth.model.unknown import Unknown
from hearth.model.value import Kind

Kinds = frozenset[Kind]
Want = tuple[tuple[Step, ...], Any, Kinds]
"""Where an argument stands, the argument, and the kinds it may have."""

Takes = Callable[[Any], Iterator[Want]]

TEXT = frozenset({Kind.STRING})
LISTS = frozenset({Kind.LIST})
MAPS = frozenset({Kind.MAP})
ITERABLE = LISTS | MAPS
SEQUENCE = TEXT | LISTS
COLLECTION = TEXT | LISTS | MAPS
ANYTHING: Kinds = frozenset()


def positions(*kinds: Kinds, rest: Kinds = ANYTHING) -> Takes:
    """A list of arguments, each with kinds of its own."""

    def wants(args: Any) -> Iterator[Want]:
        if isinstance(args, list):
            for index, value in enumerate(args):
                yield (index,), value, kinds[index] if index < len(kinds) else rest

    return wants


def names(**kinds: Kinds) -> Takes:
    """A map of arguments by name."""

    def wants(args: Any) -> Iterator[Want]:
        if isinstance(args, Mapping):
            for name, allowed in kinds.items():
                if name in args:
                    yield (name,), args[name], allowed

    return wants


def whole(kinds: Kinds) -> Takes:
    """One argument."""

    def wants(args: Any) -> Iterator[Want]:
        yield (), args, kinds

    return wants


def marks(args: Any) -> Iterator[Want]:
    """The lists that `repeat` goes over."""
    if isinstance(args, Mapping) and isinstance(args.get("for_each"), Mapping):
        for name, value in args["for_each"].items():
            yield ("for_each", name), value, ITERABLE


def misfit(takes: Takes, args: Any) -> tuple[tuple[Step, ...], str] | None:
    """The first argument that can not be of the right kind, and what is wrong with it."""
    for path, value, allowed in takes(args):
        if isinstance(value, Unknown) and value.kinds and allowed and not value.kinds & allowed:
            return path, f"{spoken(value.kinds)} stands where {spoken(allowed)} is needed"
    return None


def spoken(kinds: Kinds) -> str:
    """Kinds in words: `a list or a map`."""
    words = [f"{'an' if kind in 'integer any' else 'a'} {kind}" for kind in Kind if kind in kinds]
    return " or ".join(words)
