"""What a function of the template language is: an entry with a name and a pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from hearth.model.problem import Problem
from hearth.model.span import Span, Step
from hearth.model.value import Kind
from hearth.template.functions.signature import Takes

if TYPE_CHECKING:
    from hearth.template.expr import Expr
    from hearth.template.scope import Scope

TEXT_MAX = 8 * 1024 * 1024
"""Characters that one function may produce."""

Apply = Callable[[Any, "Scope"], Any]
Check = Callable[[Any], str | None]


class EvaluationError(Exception):
    """A value can not be computed; `at` is the function that failed, or its argument at `steps`.

    `problem` makes the problem to tell where it is not a failed validation. `reason` is the text as
    it was; with `whole` nothing is put to it, neither the function nor the place.
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

    def told_by(self, function: str, at: Span) -> None:
        """Name the function that failed, in the words of the template, and its place."""
        self.at = at
        word = function.partition(".")[0]
        if word not in str(self) and not self.whole:
            self.args = (f"{word}: {self}",)


class ParameterError(EvaluationError):
    """A parameter that is not there, or has no value."""


class BelowError(EvaluationError):
    """A stack below tells why there is no value."""

    whole = True


class Reads(Enum):
    """When a call can be computed: at once, with parameters and conditions, or in a world."""

    NOTHING = auto()
    PARAMETERS = auto()
    WORLD = auto()


class Refers(Enum):
    """What the arguments of a function name."""

    NOTHING = auto()
    RESOURCE = auto()
    ATTRIBUTE = auto()


@dataclass(frozen=True, eq=False)
class Function:
    """An intrinsic function.

    `name` is unique among all variants; `apply` takes resolved arguments; `check` gets arguments
    with COMPUTED in place of calls and says what is wrong with their shape; `strict` functions are
    unknown as soon as anything in their arguments is; `rewrite` may choose another function when
    the enabled resources are known. `takes` and `gives` are the kinds of arguments and result, for
    values that are not known yet: without them, anything.
    """

    name: str
    apply: Apply
    check: Check | None = None
    reads: Reads = Reads.NOTHING
    refers: Refers = Refers.NOTHING
    strict: bool = True
    rewrite: Callable[[Expr, Scope], Function | None] | None = None
    takes: Takes | None = None
    gives: Kind | Callable[[Any], frozenset[Kind]] = Kind.ANY
    description: str = ""

    def __reduce__(self) -> tuple[Callable[[str], Function], tuple[str]]:
        return named, (self.name,)

    def kinds(self, args: Any) -> frozenset[Kind]:
        """What the result may be; empty: anything."""
        if callable(self.gives):
            return self.gives(args)
        return frozenset() if self.gives is Kind.ANY else frozenset({self.gives})


REGISTRY: dict[str, Function] = {}


def register(function: Function) -> Function:
    """Make a function known under its name. Raises ValueError where another one has it."""
    if REGISTRY.get(function.name, function) is not function:
        raise ValueError(f"there is another function {function.name} already")
    REGISTRY[function.name] = function
    return function


def named(name: str) -> Function:
    """The registered function of this name."""
    return REGISTRY[name]


def bounded(characters: int) -> None:
    """Refuse a text before it is made, if it would be too long."""
    if characters > TEXT_MAX:
        words = f"a text of {characters} characters is longer than the {TEXT_MAX} allowed"
        raise EvaluationError(words)


def pure(function: Callable[[Any], Any]) -> Apply:
    """A function of its arguments alone."""

    def apply(args: Any, scope: Scope) -> Any:
        return function(args)

    return apply
