"""Exceptions that are raised if a value cannot be computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hearth.model.problem import Problem
from hearth.model.span import Span, Step


class EvaluationError(Exception):
    """A value cannot be computed.

    `at` is the place of the function that failed; `steps` lead from there to the invalid argument.
    `problem` creates the problem to report, if it is not a failed validation. `reason` is the
    original text of the error. If `whole` is true, the name of the function is not added to the
    text.
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
        """Add the name of the function that failed, as it is written in the template, and its
        place.
        """
        self.at = at
        word = function.partition(".")[0]
        if word not in str(self) and not self.whole:
            self.args = (f"{word}: {self}",)


class ParameterError(EvaluationError):
    """A parameter does not exist, or has no value."""


class BelowError(EvaluationError):
    """An output of a nested stack has no value. The message is complete: no function name is added
    to it.
    """

    whole = True
