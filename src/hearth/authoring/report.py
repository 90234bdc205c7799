"""The output formats for findings: text, JSON, SARIF, and GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import hearth
from hearth.authoring.finding import Finding, Severity
from hearth.authoring.rules import RULES
from hearth.authoring.terminal import printable, style
from hearth.authoring.text import lines_of
from hearth.model.printable import escaped

Texts = Mapping[str, str]
COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}
WIDTH_MAX = 160
"""The maximum width of a line in an excerpt; longer lines are cut around the finding."""


def as_text(findings: Sequence[Finding], texts: Texts) -> str:
    """Return the findings as text: excerpts of the files with carets, and a summary."""
    lines = {name: lines_of(text) for name, text in texts.items()}
    excerpts = [
        line for finding in findings for line in _excerpt(finding, lines.get(finding.file, []))
    ]
    excerpts.append(_summary(findings, len(texts)))
    return "".join(f"{printable(line)}\n" for line in excerpts)


def _excerpt(finding: Finding, lines: Sequence[str]) -> Iterator[str]:
    colour = COLOURS[finding.severity]
    head = style(f"{finding.severity}[{finding.code}]", fg=colour, bold=True)
    position = style(f"{finding.file}:{finding.line}:{finding.column}", bold=True)
    yield f"{position}: {head}: {finding.message}"
    if finding.line <= len(lines):
        line, column = _cut(lines[finding.line - 1].replace("\t", " "), finding.column)
        margin = len(str(finding.line))
        carets = "^" * max(1, min(finding.length, len(line) - column + 1))
        bar = style("|", dim=True)
        yield f"  {finding.line} {bar} {line}"
        carets = style(carets, fg=colour, bold=True)
        yield f"  {' ' * margin} {bar} {' ' * (column - 1)}{carets}"
    yield ""


def _cut(line: str, column: int) -> tuple[str, int]:
    if len(line) <= WIDTH_MAX:
        return line, column
    start = max(0, column - WIDTH_MAX // 2)
    return line[start : start + WIDTH_MAX], column - start


def _summary(findings: Sequence[Finding], files: int) -> str:
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    warnings = len(findings) - errors
    if not findings:
        return style(f"No problems found in {_count(files, 'file')}", fg="green")
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def as_json(findings: Sequence[Finding], texts: Texts) -> str:
    """Return the findings as a JSON list of maps."""
    return json.dumps([finding.as_json() for finding in findings], indent=1) + "\n"


def as_sarif(findings: Sequence[Finding], texts: Texts) -> str:
    """Return the findings as SARIF 2.1.0, which code hosts and editors read."""
    codes = sorted({finding.code for finding in findings})
    run = {
        "tool": {
            "driver": {
                "name": "hearth lint",
                "version": hearth.__version__,
                "rules": [_sarif_rule(code) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, codes) for finding in findings],
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json.dumps(log, indent=1) + "\n"


def _sarif_rule(code: str) -> dict[str, Any]:
    rule = RULES[code]
    return {
        "id": code,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.details},
    }


def _sarif_result(finding: Finding, codes: Sequence[str]) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endColumn": finding.column + finding.length,
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity.value,
        "message": {"text": finding.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": PurePath(finding.file).as_posix()},
                    "region": region,
                }
            }
        ],
    }


def as_github(findings: Sequence[Finding], texts: Texts) -> str:
    """Return the findings as workflow commands, which GitHub shows as annotations in a pull
    request.
    """
    return "".join(
        f"::{finding.severity} file={_escaped(finding.file, ',:')},line={finding.line},"
        f"col={finding.column},title={_escaped(finding.code, ',:')}::{_escaped(finding.message)}\n"
        for finding in findings
    )


def _escaped(text: str, letters: str = "") -> str:
    for letter in "%\r\n" + letters:
        text = text.replace(letter, f"%{ord(letter):02X}")
    return escaped(text)


FORMATS: Mapping[str, Callable[[Sequence[Finding], Texts], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}
