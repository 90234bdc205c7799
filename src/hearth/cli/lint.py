"""`hearth lint`: finds errors in templates before they are used."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.fmt_files import files_of
from hearth.authoring.lint import lint_with_texts
from hearth.authoring.report import FORMATS
from hearth.authoring.rules import RULES
from hearth.authoring.terminal import say
from hearth.model.problem import hint, nearest


def run(files: Sequence[Path], environments: Sequence[Path], form: str, *, strict: bool) -> int:
    """Print the findings in the given files and in all templates of given folders.

    `environments` apply to each template. `form` is the format: "text", "json", "sarif" or
    "github". Return the exit status: 0 without errors, 1 with errors (or warnings if `strict` is
    true), 2 if a file cannot be read.
    """
    findings: dict[Finding, None] = {}
    texts: dict[str, str] = {}
    status = 0
    for file in (one for path in files for one in files_of(path)):
        try:
            found, read = lint_with_texts(file, environments, open_texts=_standard_input(file))
        except OSError as problem:
            say(f"hearth: {problem.filename or file}: {problem.strerror}", err=True)
            status = 2
            continue
        findings.update(dict.fromkeys(found))
        texts.update(read)
    click.echo(FORMATS[form](list(findings), texts), nl=False)
    if status == 0 and any(strict or one.severity is Severity.ERROR for one in findings):
        status = 1
    return status


def _standard_input(file: Path) -> dict[Path, str]:
    """Return the text of standard input as the text of the file `-`; empty for any other file."""
    return {file: sys.stdin.read()} if str(file) == "-" else {}


def explain(code: str) -> str:
    """Return the explanation of a lint rule. Raises LookupError if there is no rule with this
    code.
    """
    rule = RULES.get(code)
    if rule is None:
        raise LookupError(f"there is no rule {code}{hint(nearest(code, RULES))}")
    return rule.text
