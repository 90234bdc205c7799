"""A template on the disk, checked with all that it leads to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.types import author_catalog
from hearth.model.problem import Rejected
from hearth.template import Environment, compile_template


def lint(
    template: Path,
    environments: Sequence[Path] = (),
    *,
    open_texts: Mapping[Path, str] | None = None,
) -> list[Finding]:
    """Everything wrong with a template, its child templates and its environments, by place.

    `open_texts` are the texts of files that an editor has open: they count instead of the disk's.
    Raises OSError where the template itself cannot be read.
    """
    text = (open_texts or {}).get(template)
    if text is None:
        text = template.read_text(encoding="utf-8")
    try:
        compile_template(
            text,
            files={},
            environment=Environment(),
            catalog=author_catalog(),
            file=str(template),
        )
    except Rejected as rejected:
        return sorted(
            Finding(
                file=problem.at.file if problem.at else str(template),
                line=problem.at.line if problem.at else 1,
                column=problem.at.column if problem.at else 1,
                code="invalid",
                severity=Severity.ERROR,
                message=problem.text,
            )
            for problem in rejected.problems
        )
    return []
