"""A place in a template: line and column, and the path."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Step = str | int


@dataclass(frozen=True, slots=True)
class Span:
    """A place: file, line and column (from 1; 0 is unknown) and a dotted path.

    The path reads like `resources.web.properties.networks[0].port`.
    """

    file: str = "template"
    line: int = 0
    column: int = 0
    path: str = ""

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{self.file}:{self.line}:{self.column}"

    def under(self, *steps: Step) -> Span:
        """Return the same place with more steps in its path."""
        return Span(self.file, self.line, self.column, dotted(steps, self.path))


def dotted(steps: Iterable[Step], base: str = "") -> str:
    """Return a path as text: names joined by dots, positions in brackets."""
    path = base
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif path:
            path += f".{step}"
        else:
            path = step
    return path
