"""A position in a template: file, line, column, and the path of keys that leads to it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

Step = str | int


class Span(Struct, frozen=True):
    """A position in a template. Lines and columns count from 1; 0 means unknown.

    An example of a path is `resources.web.properties.networks[0].port`.
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
        """Return this position with `steps` (keys and list indexes) appended to its path."""
        return Span(self.file, self.line, self.column, dotted(steps, self.path))


def dotted(steps: Iterable[Step], base: str = "") -> str:
    """Return `base` extended by `steps`: keys are joined by dots, list indexes are in brackets."""
    path = base
    for step in steps:
        if isinstance(step, int):
            path += f"[{step}]"
        elif path:
            path += f".{step}"
        else:
            path = step
    return path
