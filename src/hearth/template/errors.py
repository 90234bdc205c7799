"""The exceptions of an evaluation that cannot compute a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hearth.model.problem import Problem
from hearth.model.span import Span, Step


class EvaluationError(Exception):
    """A value cannot be computed; `at` is the function that failed, or its argument at `steps`.

    `problem` creates the problem if it is not a failed validation. `reason` is the original text;
    with `whole`, neither the function nor the place is added to it.
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
    """An output of a nested stack has no value; the message gives the reason."""

    whole = True
