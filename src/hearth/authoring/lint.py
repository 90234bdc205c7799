"""Lint a template on the disk, with all files to which it refers."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from hearth.authoring.finding import Finding, Severity
from hearth.authoring.ignored import Ignored
from hearth.authoring.project import Project
from hearth.authoring.text import length_at, lines_of
from hearth.authoring.types import author_catalog
from hearth.model.problem import (
    Notice,
    Problem,
    Rejected,
    StackValidationFailed,
    TemplateMissing,
    UnknownUserParameter,
    nearest,
)
from hearth.model.span import Span
from hearth.schema.named import wrong_value
from hearth.template import NOWHERE, Environment, Module
from hearth.template.budget import spending
from hearth.template.check import examine
from hearth.template.check.codes import rule_of
from hearth.template.check.values import against_names
from hearth.template.compile import draft_template, is_url
from hearth.template.defaults import DEFAULTS
from hearth.template.load import Node
from hearth.template.parameters import ParameterSchema, ParameterType, lookups, parse_value, wrong
from hearth.template.parse import parse

MISSING_FILE = "missing-file"


def lint(
    template: Path,
    environments: Sequence[Path] = (),
    *,
    open_texts: Mapping[Path, str] | None = None,
) -> list[Finding]:
    """Return the findings in a template, its nested templates and its environments.

    They are sorted by file and place; those in `template` come first.

    If the file `template` is itself an environment, only environments are checked. `open_texts` are
    the texts of files that are open in an editor; they replace the texts on the disk. Raises
    OSError if the template or an environment cannot be read.
    """
    return lint_with_texts(template, environments, open_texts=open_texts)[0]


def lint_with_texts(
    template: Path,
    environments: Sequence[Path] = (),
    *,
    open_texts: Mapping[Path, str] | None = None,
) -> tuple[list[Finding], Mapping[str, str]]:
    """Lint a template as `lint` does; return the findings, and the texts of all files that were
    read, by name.

    All checks together have the budget that a request to the API has.
    """
    texts = {path.absolute(): text for path, text in (open_texts or {}).items()}
    project = Project(open_texts=texts)
    for path in environments:
        project.environment(str(path))
    name = str(template)
    root = project.template(name)
    problems = [*project.problems]
    with spending():
        if root is not None:
            problems.extend(_problems(root, name, project))
        elif name in project.environments:
            problems.extend(_environment(project, name)[1])
    return _findings(problems, name, project), project.texts


def _problems(root: Node, name: str, project: Project) -> Iterator[Problem]:
    """Yield the problems of a loaded template."""
    catalog = author_catalog()
    environment, wrong_environment = _environment(project, name)
    yield from wrong_environment
    try:
        module = draft_template(
            root,
            files=project.files,
            parsed=project.parsed,
            environment=environment,
            catalog=catalog,
            file=name,
        )
    except Rejected as rejected:
        yield from rejected.problems
        return
    alone = not project.environments
    problems = [_unread(problem) for problem in examine(module, alone=alone)]
    if project.environments:
        problems.extend(_value_problems(module, project))
    yield from problems
    sound = all(isinstance(problem, Notice) for problem in (*problems, *wrong_environment))
    sound = sound and all(problem.code != "missing-property" for problem in problems)
    if sound and not module.problems and (project.environments or not module.syntax.parameters):
        yield from _with_values(module, environment)


def _environment(project: Project, root: str) -> tuple[Environment, list[Problem]]:
    """Return the merged environment files, and their problems; `root` is the template's name."""
    problems: list[Problem] = []
    environments: dict[str, Any] = {}
    for name, node in project.environments.items():
        try:
            environments[name] = Environment.of(node, name).as_map()
        except Rejected as rejected:
            problems.extend(
                replace(problem, code="wrong-environment") for problem in rejected.problems
            )
    merged = Environment(base=DEFAULTS)
    try:
        merged = merged.merge(list(environments), environments, _types(project, root))
    except Rejected as rejected:
        problems.extend(replace(problem, code="wrong-environment") for problem in rejected.problems)
    return merged, problems


def _types(project: Project, root: str) -> dict[str, ParameterType]:
    """Return the types of all parameters by name; those of the root template take precedence."""
    types: dict[str, ParameterType] = {}
    for name, node in sorted(project.parsed.items(), key=lambda item: item[0] != root):
        try:
            declared = parse(node, name).parameters
        except Rejected:
            continue
        types = {**{key: schema.type for key, schema in declared.items()}, **types}
    return types


def _unread(problem: Problem) -> Problem:
    """Return a warning in place of the problem that a nested template is missing, if its name is a
    URL.

    URLs are not fetched, so they are never found. Any other problem is returned
    unchanged.
    """
    if isinstance(problem, TemplateMissing) and is_url(problem.template):
        message = f"{problem.template} is not fetched: its declarations are not checked"
        return Notice(problem.at, message, code="not-read")
    return problem


def _value_problems(module: Module, project: Project) -> Iterator[Problem]:
    """Yield the problems of the parameter values in environments.

    The values are checked with the declarations in the root template.
    """
    schemas = module.syntax.parameters
    for file, node in project.environments.items():
        for section in ("parameters", "parameter_defaults"):
            values = node.child(section)
            if values is None or not isinstance(values.value, dict):
                continue
            for name, value in values.value.items():
                schema = schemas.get(name)
                if schema is not None:
                    yield from _value(schema, value, file, f"{section}.{name}")
                elif section == "parameters":
                    at = value.key_span(file, f"{section}.{name}")
                    near = nearest(name, schemas)
                    code = "unknown-parameter"
                    yield UnknownUserParameter(at, name, near, code=code, suggestion=near)


def _value(schema: ParameterSchema, node: Node, file: str, path: str) -> Iterator[Problem]:
    if node.value is None:
        return
    try:
        value = parse_value(schema.type, node.plain())
        errors = (wrong_value(constraint.name, value) for constraint in lookups(schema))
        reason = wrong(schema, value) or next(filter(None, errors), None)
    except ValueError as error:
        reason = str(error)
    if reason is not None:
        message = f'parameter "{schema.name}": {reason}'
        yield StackValidationFailed(node.span(file, path), message, code="wrong-value")


def _with_values(module: Module, environment: Environment) -> Iterator[Problem]:
    """Yield the problems that a create request with these environments would have."""
    try:
        program = module.specialise(environment.parameters, stack_name="lint")
    except Rejected as rejected:
        yield from rejected.problems
    else:
        findings = program.check_values(NOWHERE)
        yield from findings.problems
        yield from against_names((*program.lookups, *findings.lookups))


# -- as findings --------------------------------------------------------------------------------


def _findings(problems: Sequence[Problem], root: str, project: Project) -> list[Finding]:
    """Convert problems to findings, sorted by file and place.

    Duplicates and findings of disabled rules are left out.
    """
    ignored = {name: Ignored(text) for name, text in project.texts.items()}
    lines = {name: lines_of(text) for name, text in project.texts.items()}
    by_place: dict[tuple[Any, ...], Finding] = {}
    for problem in problems:
        finding = _finding(problem, root, lines)
        if finding.file in ignored and ignored[finding.file].covers(finding.code, finding.line):
            continue
        by_place.setdefault((finding.file, finding.line, finding.column, finding.message), finding)
    return sorted(by_place.values(), key=lambda finding: (finding.file != root, finding))


def _finding(problem: Problem, root: str, lines: Mapping[str, list[str]]) -> Finding:
    at = problem.at or Span(root)
    file = at.file if at.file in lines else root
    source_lines = lines.get(file, [])
    line, column = max(at.line, 1), max(at.column, 1)
    suggestion = problem.suggestion
    if suggestion is not None and rule_of(problem) == MISSING_FILE:  # as it would appear there
        suggestion = os.path.relpath(suggestion, os.path.dirname(file) or ".")
    return Finding(
        file=file,
        line=line,
        column=column,
        code=rule_of(problem),
        severity=Severity.WARNING if isinstance(problem, Notice) else Severity.ERROR,
        message=problem.text,
        suggestion=suggestion,
        length=length_at(source_lines[line - 1], column) if line <= len(source_lines) else 1,
    )
