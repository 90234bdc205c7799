"""Functions of the template language: entries with a name and a pure function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from hearth.model.value import ValueKind
from hearth.template.errors import EvaluationError
from hearth.template.scope import Evaluable, Scope
from hearth.template.signature import Takes

TEXT_MAX = 8 * 1024 * 1024
"""The maximum characters in the result of one function."""

Apply = Callable[[Any, Scope], Any]
Check = Callable[[Any], str | None]


class Reads(Enum):
    """What a function call needs for its evaluation: nothing, parameters and conditions, or a
    world.
    """

    NOTHING = auto()
    PARAMETERS = auto()
    WORLD = auto()


class Refers(Enum):
    """What kind of object the arguments of a function name."""

    NOTHING = auto()
    RESOURCE = auto()
    ATTRIBUTE = auto()


@dataclass(frozen=True, eq=False)
class Function:
    """An intrinsic function.

    `name` is unique among all variants; `apply` takes resolved arguments; `check` gets arguments
    with COMPUTED in place of calls and returns an error of their shape; the result of a `strict`
    function is unknown if any part of its arguments is; `rewrite` may choose another function when
    the enabled resources are known. `takes` and `gives` are the types of arguments and result, for
    values that are not known yet; without them any type.
    """

    name: str
    apply: Apply
    check: Check | None = None
    reads: Reads = Reads.NOTHING
    refers: Refers = Refers.NOTHING
    strict: bool = True
    rewrite: Callable[[Evaluable, Scope], Function | None] | None = None
    takes: Takes | None = None
    gives: ValueKind | Callable[[Any], frozenset[ValueKind]] = ValueKind.ANY
    description: str = ""

    def __reduce__(self) -> tuple[Callable[[str], Function], tuple[str]]:
        return named, (self.name,)

    def kinds(self, args: Any) -> frozenset[ValueKind]:
        """Return the possible types of the result; empty for any."""
        if callable(self.gives):
            return self.gives(args)
        return frozenset() if self.gives is ValueKind.ANY else frozenset({self.gives})


REGISTRY: dict[str, Function] = {}


def register(function: Function) -> Function:
    """Register a function under its name. Raises ValueError if another function has the name."""
    if REGISTRY.get(function.name, function) is not function:
        raise ValueError(f"another function {function.name} is already registered")
    REGISTRY[function.name] = function
    return function


def named(name: str) -> Function:
    """Return the registered function with this name."""
    return REGISTRY[name]


def bounded(characters: int) -> None:
    """Raise EvaluationError for a text that would be too long, before it is created."""
    if characters > TEXT_MAX:
        words = f"a text of {characters} characters is longer than the {TEXT_MAX} allowed"
        raise EvaluationError(words)


def pure(function: Callable[[Any], Any]) -> Apply:
    """Return an `apply` for a function that needs only its arguments, not the scope."""

    def apply(args: Any, scope: Scope) -> Any:
        return function(args)

    return apply
