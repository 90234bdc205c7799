"""The findings of an examination, without duplicates."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from hearth.model.problem import Notice, Problem, StackValidationFailed
from hearth.model.span import Span


class Report(Struct):
    """Collects problems and notices in the order in which they are found."""

    problems: list[Problem] = field(default_factory=list)
    _places: set[Any] = field(default_factory=set)

    def add(self, problem: Problem) -> None:
        """Add a problem, unless its line and column already have another one of its severity:
        error or warning.
        """
        at = problem.at
        position: Any = problem
        if at is not None and at.line:
            position = (at.file, at.line, at.column, isinstance(problem, Notice))
        if position not in self._places:
            self._places.add(position)
            self.problems.append(problem)

    def wrong(self, at: Span, code: str, message: str, suggestion: str | None = None) -> None:
        """Add an error: the template is refused, or an operation with it fails.

        `code` is the code of the rule, and `message` is the message. `suggestion` is the probably
        intended text, or None.
        """
        self.add(StackValidationFailed(at, message, code=code, suggestion=suggestion))

    def notice(self, at: Span, code: str, message: str, suggestion: str | None = None) -> None:
        """Add a warning: the template is accepted but probably contains a mistake.

        The arguments are those of `wrong`.
        """
        self.add(Notice(at, message, code=code, suggestion=suggestion))
