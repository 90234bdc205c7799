"""The argument types of functions, for checking arguments whose values are still unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from msgspec import Struct

from hearth.model.span import Step
from hearth.model.unknown import Unknown
from hearth.model.value import ValueKind

Kinds = frozenset[ValueKind]
Want = tuple[tuple[Step, ...], Any, Kinds]
"""The path of an argument, its value, and the types that are allowed."""

Takes = Callable[[Any], Iterator[Want]]


class Signature(Protocol):
    """The types of a function's arguments and of its result."""

    @property
    def takes(self) -> Takes | None: ...

    def kinds(self, args: object) -> Kinds:
        """Return the possible types of the result; the result is empty if all types are
        possible.
        """


TEXT = frozenset({ValueKind.STRING})
LISTS = frozenset({ValueKind.LIST})
MAPS = frozenset({ValueKind.MAP})
ITERABLE = LISTS | MAPS
SEQUENCE = TEXT | LISTS
COLLECTION = TEXT | LISTS | MAPS
ANYTHING: Kinds = frozenset()


class Positions(Struct, frozen=True):
    """A signature for a list of arguments, each with its own allowed types.

    `rest` are the allowed types of further arguments.
    """

    kinds: tuple[Kinds, ...]
    rest: Kinds

    def __call__(self, args: Any) -> Iterator[Want]:
        if isinstance(args, list):
            for index, value in enumerate(args):
                yield (index,), value, self.kinds[index] if index < len(self.kinds) else self.rest

    @property
    def form(self) -> str:
        """Return the signature as text, such as `[string, list, …]`."""
        items = [_either(kinds) for kinds in self.kinds]
        if self.rest:
            items += [_either(self.rest), "…"]
        return f"[{', '.join(items)}]"


class Named(Struct, frozen=True):
    """A signature for a map of arguments, each with its own allowed types."""

    kinds: Mapping[str, Kinds]

    def __call__(self, args: Any) -> Iterator[Want]:
        if isinstance(args, Mapping):
            for name, kinds in self.kinds.items():
                if name in args:
                    yield (name,), args[name], kinds

    @property
    def form(self) -> str:
        """Return the signature as text, such as `{template: string, …}`."""
        return f"{{{', '.join(f'{name}: {_either(kinds)}' for name, kinds in self.kinds.items())}}}"


class Whole(Struct, frozen=True):
    """A signature for a single argument."""

    kinds: Kinds

    def __call__(self, args: Any) -> Iterator[Want]:
        yield (), args, self.kinds

    @property
    def form(self) -> str:
        """Return the signature as text, such as `string`."""
        return _either(self.kinds)


class Marks(Struct, frozen=True):
    """A signature for the lists in the argument `for_each` of `repeat`."""

    def __call__(self, args: Any) -> Iterator[Want]:
        if isinstance(args, Mapping) and isinstance(args.get("for_each"), Mapping):
            for name, value in args["for_each"].items():
                yield ("for_each", name), value, ITERABLE

    @property
    def form(self) -> str:
        """Return the signature as text."""
        return f"{{for_each: {{MARK: {_either(ITERABLE)}, …}}}}"


def positions(*kinds: Kinds, rest: Kinds = ANYTHING) -> Positions:
    """Return the signature of a list of arguments, each with its own types; `rest` is for the
    further ones.
    """
    return Positions(kinds, rest)


def names(**kinds: Kinds) -> Named:
    """Return the signature of a map of arguments by name."""
    return Named(kinds)


def whole(kinds: Kinds) -> Whole:
    """Return the signature of a single argument."""
    return Whole(kinds)


marks: Final = Marks()


def misfit(takes: Takes, args: Any) -> tuple[tuple[Step, ...], str] | None:
    """Return (path, error) of the first argument whose type is certainly wrong, or None."""
    for path, value, kinds in takes(args):
        if isinstance(value, Unknown) and value.kinds and kinds and not value.kinds & kinds:
            return path, f"expected {spoken(kinds)}, got {spoken(value.kinds)}"
    return None


def spoken(kinds: Kinds) -> str:
    """Return types as text, such as `a list or a map`."""
    names = [
        f"{'an' if kind in 'integer any' else 'a'} {kind}" for kind in ValueKind if kind in kinds
    ]
    return " or ".join(names)


def _either(kinds: Kinds) -> str:
    return " or ".join(kind for kind in ValueKind if kind in kinds) or "anything"
