"""What a check has to say about a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How bad it is: an error is refused or fails, a warning is hardly meant."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, order=True)
class Finding:
    """One thing at one place; line and column count from 1, `length` in characters of the line."""

    file: str
    line: int
    column: int
    code: str
    severity: Severity
    message: str
    suggestion: str | None = None
    length: int = 1

    def as_json(self) -> dict[str, Any]:
        """The form that programs read."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "suggestion": self.suggestion,
        }
