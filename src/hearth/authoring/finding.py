"""The findings of checks in files."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Severity(StrEnum):
    """The severity of a finding.

    An error makes Hearth refuse the template or an operation fail. A warning is probably a mistake.
    """

    ERROR = "error"
    WARNING = "warning"


class Finding(Struct, frozen=True, order=True):
    """A problem at one place in a file. Line and column count from 1; `length` is in characters."""

    file: str
    line: int
    column: int
    code: str
    severity: Severity
    message: str
    suggestion: str | None = None
    length: int = 1

    def as_json(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "suggestion": self.suggestion,
        }
