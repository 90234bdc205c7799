"""`hearth lint`: finds errors in templates before they are used."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any, NoReturn

import click

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.fmt_files import files_of
from hearth.authoring.lint import lint_with_texts
from hearth.authoring.report import FORMATS
from hearth.authoring.rules import RULES
from hearth.authoring.terminal import say
from hearth.model.problem import hint, nearest

CPU_S = 10
CHARACTERS_A_SECOND = 50_000
"""The CPU time of a command, as for a request to the API: CPU_S seconds, and one second more for
every CHARACTERS_A_SECOND characters of the templates. More than FILE_CHARACTERS_MAX characters of a
file do not count, because the API would refuse them.
"""
FILE_CHARACTERS_MAX = 524_288


def run(files: Sequence[Path], environments: Sequence[Path], form: str, *, strict: bool) -> int:
    """Print the findings in the given files and in all templates of given folders.

    `environments` apply to each template. `form` is the format: "text", "json", "sarif" or
    "github". Return the exit status: 0 without errors, 1 with errors (or warnings if `strict` is
    true), 2 if a file cannot be read or the check of all files takes too long.
    """
    findings: dict[Finding, None] = {}
    texts: dict[str, str] = {}
    status, file = 0, files[0]
    try:
        with _limited() as limit:
            for file in (candidate for path in files for candidate in files_of(path)):
                try:
                    open_texts = _standard_input(file)
                    limit.extend(len(open_texts[file]) if open_texts else file.stat().st_size)
                    file_findings, file_texts = lint_with_texts(
                        file, environments, open_texts=open_texts
                    )
                except OSError as problem:
                    say(f"hearth: {problem.filename or file}: {problem.strerror}", err=True)
                    status = 2
                    continue
                findings.update(dict.fromkeys(file_findings))
                texts.update(file_texts)
    except _TooLong as problem:
        say(f"hearth: {file}: {problem}; this file and later ones are not checked", err=True)
        status = 2
    click.echo(FORMATS[form](list(findings), texts), nl=False)
    if status == 0 and any(strict or finding.severity is Severity.ERROR for finding in findings):
        status = 1
    return status


class _TooLong(BaseException):
    """The checks have used up their CPU time. No handler of errors in a check catches it."""


class _Limit:
    """The CPU time that the command may use; a signal ends the check that exceeds it.

    Templates may come from strangers, for example in a pipeline. The budget of each check bounds
    most of its work, but not the search for similar names, nor the number of files.
    """

    def __init__(self) -> None:
        self._allowed_s = process_time() + CPU_S

    def extend(self, characters: int) -> None:
        """Add the time for a file with this number of characters. Raises _TooLong if the time is
        over.
        """
        self._allowed_s += min(characters, FILE_CHARACTERS_MAX) / CHARACTERS_A_SECOND
        left_s = self._allowed_s - process_time()
        if left_s <= 0:
            self.exceed()
        signal.setitimer(signal.ITIMER_PROF, left_s)

    def exceed(self, *signalled: Any) -> NoReturn:
        raise _TooLong(f"the checks need more than {self._allowed_s:.0f} s of CPU time")


@contextmanager
def _limited() -> Iterator[_Limit]:
    """Limit the CPU time in the block, in which `extend` is called for each file."""
    limit = _Limit()
    before = signal.signal(signal.SIGPROF, limit.exceed)
    try:
        limit.extend(0)
        yield limit
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


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
