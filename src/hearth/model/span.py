"""A place in a template, as people say it and as paths name it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Step = str | int


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands: file, line and column (from 1; 0 is unknown) and its dotted path.

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
        """The same place with further steps in its path."""
        return Span(self.file, self.line, self.column, dotted(steps, self.path))


def dotted(steps: Iterable[Step], base: str = "") -> str:
    """A path as text: names joined by dots, positions in brackets."""
    path = base
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif path:
            path += f".{step}"
        else:
            path = step
    return path
