"""The registry of the functions of the template language, and what an entry contains."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import Any

from msgspec import Struct

from hearth.model.value import ValueKind
from hearth.template.errors import EvaluationError
from hearth.template.scope import Evaluable, Scope
from hearth.template.signature import Takes

TEXT_MAX = 8 * 1024 * 1024
"""The maximum length of a text that a function creates, in characters."""

Apply = Callable[[Any, Scope], Any]
Check = Callable[[Any], str | None]


class Reads(Enum):
    """What a function reads besides its arguments: nothing, parameters and conditions, or the
    world.
    """

    NOTHING = auto()
    PARAMETERS = auto()
    WORLD = auto()


class Refers(Enum):
    """What the arguments of a function name: nothing, a resource, or an attribute of a resource."""

    NOTHING = auto()
    RESOURCE = auto()
    ATTRIBUTE = auto()


class Function(Struct, frozen=True, eq=False):
    """An intrinsic function.

    `name` is unique among all variants of functions. `apply` computes the result from evaluated
    arguments. `check` gets arguments in which calls are replaced by COMPUTED, and returns an error
    in their form or None. The result of a `strict` function is unknown if any part of its arguments
    is. `rewrite` may return another function to call once the enabled resources are known; None
    keeps this one. `takes` and `gives` are the types of the arguments and of the result, for values
    that are not known yet; without them all types are possible.
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
        """Return the possible types of the result; the result is empty if all types are
        possible.
        """
        if callable(self.gives):
            return self.gives(args)
        return frozenset() if self.gives is ValueKind.ANY else frozenset({self.gives})


REGISTRY: dict[str, Function] = {}


def register(function: Function) -> Function:
    """Register a function under its name and return it.

    Raises ValueError if another function has the same name.
    """
    if REGISTRY.get(function.name, function) is not function:
        raise ValueError(f"another function {function.name} is already registered")
    REGISTRY[function.name] = function
    return function


def named(name: str) -> Function:
    """Return the registered function with this name. Raises KeyError if there is none."""
    return REGISTRY[name]


def bounded(characters: int) -> None:
    """Raise EvaluationError if a text with this number of characters would be too long.

    Call it before creating the text.
    """
    if characters > TEXT_MAX:
        message = f"a string of {characters} characters is longer than the {TEXT_MAX} allowed"
        raise EvaluationError(message)


def pure(function: Callable[[Any], Any]) -> Apply:
    """Convert a function of the arguments to an `apply` function, which also gets the scope."""

    def apply(args: Any, scope: Scope) -> Any:
        return function(args)

    return apply
