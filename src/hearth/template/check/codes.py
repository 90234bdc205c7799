"""The codes of the lint rules, and conversion of findings to JSON."""

from __future__ import annotations

from typing import Any

from hearth.model.problem import (
    CircularDependencyException,
    HTTPBadRequest,
    InvalidSchemaError,
    InvalidTemplateReference,
    InvalidTemplateSection,
    InvalidTemplateVersion,
    Notice,
    Problem,
    RequestLimitExceeded,
    TemplateMissing,
    UnknownUserParameter,
    UserParameterMissing,
)

BY_KIND: tuple[tuple[type[Problem], str], ...] = (
    (HTTPBadRequest, "not-a-template"),
    (InvalidTemplateVersion, "unknown-version"),
    (InvalidTemplateSection, "unknown-section"),
    (InvalidSchemaError, "wrong-declaration"),
    (InvalidTemplateReference, "unknown-resource"),
    (CircularDependencyException, "cycle"),
    (RequestLimitExceeded, "too-large"),
    (UserParameterMissing, "missing-parameter"),
    (UnknownUserParameter, "unknown-parameter"),
    (TemplateMissing, "missing-file"),
)


def rule_of(problem: Problem) -> str:
    """Return the code of the rule that a problem violates; `wrong-structure` if it has none."""
    if problem.code:
        return problem.code
    return next((code for kind, code in BY_KIND if isinstance(problem, kind)), "wrong-structure")


def as_finding(problem: Problem) -> dict[str, Any]:
    """Return a problem in the format of `hearth lint --format json` and the API."""
    at = problem.at
    return {
        "file": at.file if at else None,
        "line": at.line if at else 0,
        "column": at.column if at else 0,
        "code": rule_of(problem),
        "severity": "warning" if isinstance(problem, Notice) else "error",
        "message": problem.text,
        "suggestion": problem.suggestion,
    }
