"""Functions of the template language: entries with a name and a pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from hearth.model.problem import Problem
from hearth.model.span import Span, Step
from hearth.model.value import ValueKind
from hearth.template.functions.signature import Takes

if TYPE_CHECKING:
    from hearth.template.expr import Expr
    from hearth.template.scope import Scope

TEXT_MAX = 8 * 1024 * 1024
"""The maximum characters in the result of one function."""

Apply = Callable[[Any, "Scope"], Any]
Check = Callable[[Any], str | None]


class EvaluationError(Exception):
    """A value cannot be computed; `at` is the function that failed, or its argument at `steps`.

    `problem` creates the problem if it is not a failed validation. `reason` is the original text;
    with `whole` neither the function nor the place is added to it.
    """

    whole = False

    def __init__(
        self,
        text: str,
        at: Span | None = None,
        problem: Callable[[Span], Problem] | None = None,
        steps: Sequence[Step] | None = None,
    ) -> None:
        super().__init__(text)
        self.reason = text
        self.at = at
        self.problem = problem
        self.steps = steps

    def add_place(self, function: str, at: Span) -> None:
        """Add the name of the failed function, as in the template, and its place."""
        self.at = at
        word = function.partition(".")[0]
        if word not in str(self) and not self.whole:
            self.args = (f"{word}: {self}",)


class ParameterError(EvaluationError):
    """A parameter does not exist, or has no value."""


class BelowError(EvaluationError):
    """A nested stack reports why there is no value."""

    whole = True


class Reads(Enum):
    """What a call needs: nothing, parameters and conditions, or a world."""

    NOTHING = auto()
    PARAMETERS = auto()
    WORLD = auto()


class Refers(Enum):
    """What the arguments of a function refer to."""

    NOTHING = auto()
    RESOURCE = auto()
    ATTRIBUTE = auto()


@dataclass(frozen=True, eq=False)
class Function:
    """An intrinsic function.

    `name` is unique among all variants; `apply` takes resolved arguments; `check` gets arguments
    with COMPUTED in place of calls and returns an error of their shape; `strict` functions are
    unknown as soon as any part of their arguments is; `rewrite` may choose another function when
    the enabled resources are known. `takes` and `gives` are the kinds of arguments and result, for
    values that are not known yet; without them any kind.
    """

    name: str
    apply: Apply
    check: Check | None = None
    reads: Reads = Reads.NOTHING
    refers: Refers = Refers.NOTHING
    strict: bool = True
    rewrite: Callable[[Expr, Scope], Function | None] | None = None
    takes: Takes | None = None
    gives: ValueKind | Callable[[Any], frozenset[ValueKind]] = ValueKind.ANY
    description: str = ""

    def __reduce__(self) -> tuple[Callable[[str], Function], tuple[str]]:
        return named, (self.name,)

    def kinds(self, args: Any) -> frozenset[ValueKind]:
        """Return the possible kinds of the result; empty: any."""
        if callable(self.gives):
            return self.gives(args)
        return frozenset() if self.gives is ValueKind.ANY else frozenset({self.gives})


REGISTRY: dict[str, Function] = {}


def register(function: Function) -> Function:
    """Register a function under its name. Raises ValueError if another function has the name."""
    if REGISTRY.get(function.name, function) is not function:
        raise ValueError(f"there is another function {function.name} already")
    REGISTRY[function.name] = function
    return function


def named(name: str) -> Function:
    """Return the registered function of this name."""
    return REGISTRY[name]


def bounded(characters: int) -> None:
    """Raise EvaluationError for a text that would be too long, before it is created."""
    if characters > TEXT_MAX:
        words = f"a text of {characters} characters is longer than the {TEXT_MAX} allowed"
        raise EvaluationError(words)


def pure(function: Callable[[Any], Any]) -> Apply:
    """Return an `apply` that uses only its arguments."""

    def apply(args: Any, scope: Scope) -> Any:
        return function(args)

    return apply
