"""What a check finds, each thing once."""

from __future__ import annotations

from dataclasses import dataclass, field

from hearth.model.problem import Notice, Problem, StackValidationFailed
from hearth.model.span import Span


@dataclass
class Report:
    """Problems and notices, in the order in which they were found."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        """Keep a problem, unless its place has one already."""
        if not any(_same(problem, one) for one in self.problems):
            self.problems.append(problem)

    def wrong(self, at: Span, code: str, words: str, suggestion: str | None = None) -> None:
        """What is refused or fails."""
        self.add(StackValidationFailed(at, words, code=code, suggestion=suggestion))

    def notice(self, at: Span, code: str, words: str, suggestion: str | None = None) -> None:
        """What is allowed and hardly meant."""
        self.add(Notice(at, words, code=code, suggestion=suggestion))


def _same(one: Problem, other: Problem) -> bool:
    here, there = one.at, other.at
    if here is None or there is None or not here.line:
        return one == other
    place = (here.file, here.line, here.column) == (there.file, there.line, there.column)
    return place and isinstance(one, Notice) is isinstance(other, Notice)
