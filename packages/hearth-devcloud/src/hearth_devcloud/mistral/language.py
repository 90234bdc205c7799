"""The Mistral workflow language: parsing of definitions, and evaluation of their expressions.

Source: the Mistral Workflow Language, version 2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import yaml

from hearth_devcloud.http import Body

COMMANDS = ("fail", "succeed", "pause", "noop")
CLAUSES = ("on-success", "on-error", "on-complete")
ENDS = {"SUCCESS", "ERROR", "CANCELLED"}
_POLICIES = {
    "retry",
    "wait-before",
    "wait-after",
    "timeout",
    "pause-before",
    "concurrency",
    "fail-on",
}
_OF_TASKS = {
    "action",
    "workflow",
    "name",
    "description",
    "input",
    "publish",
    "publish-on-error",
    "with-items",
    "keep-result",
    "target",
    "join",
    "requires",
    "safe-rerun",
    "tags",
    "type",
    *CLAUSES,
    *_POLICIES,
}
_OF_DEFAULTS = {"requires", "safe-rerun", *CLAUSES, *_POLICIES}
_OF_WORKFLOWS = {
    "type",
    "name",
    "description",
    "tags",
    "input",
    "output",
    "output-on-error",
    "vars",
    "task-defaults",
    "tasks",
}
_EXPRESSION = re.compile(r"<%(.*?)%>", re.DOTALL)
_NAME = re.compile(r"\s*([\w.-]+)")
_ARGUMENT = re.compile(
    r"""\s*([\w-]+)=("[^"]*"|'[^']*'|(?:<%.*?%>|\{[^{}]*\}|\[[^\]]*\]|[^\s])*)"""
)
LIMITS = {"yaql.limitIterators": 10_000, "yaql.memoryQuota": 50_000_000}


class WrongDefinition(ValueError):
    """A workflow definition is invalid; the message gives the reason."""


class WrongExpression(ValueError):
    """A YAQL expression cannot be parsed or evaluated; the message gives the reason."""


def read(text: str) -> dict[str, Body]:
    """Parse a YAML document and return its workflow definitions by name. Raises WrongDefinition."""
    try:
        document = yaml.safe_load(text)
        plain = json.loads(json.dumps(document, default=str))  # the times that YAML knows are texts
    except (yaml.YAMLError, RecursionError, ValueError, IndexError, TypeError) as problem:
        raise WrongDefinition(f"Definition could not be parsed: {problem}") from None
    if not isinstance(plain, dict) or str(plain.pop("version", "")) not in ("2.0", "2"):
        raise WrongDefinition("Invalid DSL: 'version' must be '2.0'")
    if not plain:
        raise WrongDefinition("Invalid DSL: there is no workflow")
    return {name: _workflow(name, spec) for name, spec in plain.items()}


def _workflow(name: str, spec: Any) -> Body:
    _object(f"workflow '{name}'", spec, _OF_WORKFLOWS)
    if spec.get("type", "direct") not in ("direct", "reverse"):
        raise WrongDefinition(f"Invalid DSL: type of workflow '{name}' must be direct or reverse")
    tasks = spec.get("tasks")
    if not isinstance(tasks, dict) or not tasks:
        raise WrongDefinition(f"Invalid DSL: workflow '{name}' has no tasks")
    if not isinstance(spec.get("input", []), list):
        raise WrongDefinition(f"Invalid DSL: input of workflow '{name}' must be a list")
    _object(f"task-defaults of '{name}'", spec.get("task-defaults") or {}, _OF_DEFAULTS)
    for task_name, task in tasks.items():
        place_of_task = f"task '{task_name}' of '{name}'"
        _object(place_of_task, task, _OF_TASKS)
        if "action" in task and "workflow" in task:
            raise WrongDefinition(f"Invalid DSL: {place_of_task} has both action and workflow")
        reverse = spec.get("type") == "reverse"
        for clause in CLAUSES if not reverse else ():
            for next_name, _, _ in moves({**task}, clause):
                if next_name not in tasks and next_name not in COMMANDS:
                    raise WrongDefinition(
                        f"Task '{next_name}' not found, in {clause} of {place_of_task}"
                    )
        for required in as_list(task.get("requires")):
            if required not in tasks:
                raise WrongDefinition(
                    f"Task '{required}' not found, in requires of {place_of_task}"
                )
        for text in _texts(task):
            check(text)
    for text in _texts({key: value for key, value in spec.items() if key != "tasks"}):
        check(text)
    return dict(spec)


def _object(label: str, spec: Any, names: set[str]) -> None:
    if not isinstance(spec, dict):
        raise WrongDefinition(f"Invalid DSL: {label} must be a map")
    if unknown := sorted(str(key) for key in spec.keys() - names):
        raise WrongDefinition(f"Invalid DSL: {label} has unknown keys: {', '.join(unknown)}")


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for entry in value.values():
                yield from _texts(entry)
        case list():
            for entry in value:
                yield from _texts(entry)


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, None as an empty list, and another value as a list of one item."""
    return value if isinstance(value, list) else [] if value is None else [value]


def inputs(spec: Body) -> dict[str, tuple[bool, Any]]:
    """Return the inputs of a workflow as {name: (whether there is a default, the default)}."""
    inputs_by_name: dict[str, tuple[bool, Any]] = {}
    for entry in spec.get("input") or []:
        if isinstance(entry, dict):
            inputs_by_name |= {str(name): (True, default) for name, default in entry.items()}
        else:
            inputs_by_name[str(entry)] = (False, None)
    return inputs_by_name


def shown_input(spec: Body) -> str:
    """Return the inputs of a workflow as a text such as `a, b=1`, which is the API's format."""
    return ", ".join(
        f"{name}={json.dumps(value) if not isinstance(value, str) else value}"
        if has_default
        else name
        for name, (has_default, value) in inputs(spec).items()
    )


def task_of(spec: Body, name: str) -> Body:
    """Return the definition of a task, merged with the task defaults of the workflow."""
    return {**(spec.get("task-defaults") or {}), **spec["tasks"][name]}


def moves(task: Body, clause: str) -> list[tuple[str, Any, Body]]:
    """Return the transitions in a clause of a task, such as `on-success`.

    Each is a tuple: name of a task or command, condition or None, arguments.
    """
    clause_spec = task.get(clause)
    if isinstance(clause_spec, dict) and ("next" in clause_spec or "publish" in clause_spec):
        clause_spec = clause_spec.get("next")
    targets: list[tuple[str, Any, Body]] = []
    for entry in as_list(clause_spec):
        rows = entry.items() if isinstance(entry, dict) else [(entry, None)]
        for text, condition in rows:
            name, arguments = call_of(str(text))
            targets.append((name, condition, arguments))
    return targets


def publishing(task: Body, state: str) -> list[Body]:
    """Return the maps of variables that a task publishes in this final state.

    They are in the order of their evaluation.
    """
    clause = "publish" if state == "SUCCESS" else "publish-on-error"
    published = [task.get(clause) or {}]
    for name in ("on-success" if state == "SUCCESS" else "on-error", "on-complete"):
        clause_spec = task.get(name)
        if isinstance(clause_spec, dict) and isinstance(clause_spec.get("publish"), dict):
            published += [clause_spec["publish"].get(kind) or {} for kind in ("branch", "global")]
    return published


def call_of(text: str) -> tuple[str, Body]:
    """Parse a call such as `name a=1 b=<% … %>` or `name(a=1)`; return its name and arguments.

    Raises WrongDefinition.
    """
    head = _NAME.match(text)
    if head is None:
        raise WrongDefinition(f"Invalid DSL: {text!r} has no name")
    tail, arguments = text[head.end() :].strip(), {}
    if tail.startswith("(") and tail.endswith(")"):
        tail = tail[1:-1]
    at = 0
    while at < len(tail):
        match = _ARGUMENT.match(tail, at)
        if match is None:
            if not tail[at:].strip(" ,"):
                break
            raise WrongDefinition(
                f"Invalid DSL: expected name=value, got {tail[at:]!r} in {text!r}"
            )
        arguments[match[1]] = _literal(match[2])
        at = match.end()
    return head[1], arguments


def _literal(text: str) -> Any:
    if text[:1] in "\"'" and text[-1:] == text[:1] and len(text) > 1:
        return text[1:-1]
    if text.startswith("<%"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text, text)


# expressions


@lru_cache(maxsize=1)
def _engine() -> Any:
    from yaql.language.factory import YaqlFactory

    return YaqlFactory().create(LIMITS)


@lru_cache(maxsize=1)
def _library() -> Any:
    import yaql

    return yaql.create_context()


@lru_cache(maxsize=512)
def _parsed(text: str) -> Any:
    try:
        return _engine()(text)
    except Exception as problem:  # the library's own and its parser's
        raise WrongExpression(f"Parse error in <% {text} %>: {problem}") from None


def check(text: str) -> None:
    """Raise WrongDefinition if a text contains an invalid expression."""
    for expression in _EXPRESSION.findall(text):
        try:
            _parsed(expression.strip())
        except WrongExpression as problem:
            raise WrongDefinition(str(problem)) from None


def evaluate(
    value: Any, data: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
) -> Any:
    """Return a copy of the value in which all expressions are evaluated, also in lists and maps.

    `data` is the context, and `functions` are those that expressions can call. Raises
    WrongExpression.
    """
    match value:
        case dict():
            return {
                evaluate(key, data, functions): evaluate(inner, data, functions)
                for key, inner in value.items()
            }
        case list():
            return [evaluate(inner, data, functions) for inner in value]
        case str():
            match = _EXPRESSION.fullmatch(value.strip())
            if match is not None and value.count("<%") == 1:
                return _value(match[1].strip(), data, functions)
            return _EXPRESSION.sub(lambda m: _text(_value(m[1].strip(), data, functions)), value)
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _value(text: str, data: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    from yaql.language.utils import convert_input_data

    context = _library().create_child_context()
    for name, function in functions.items():
        context.register_function(
            lambda *args, call=function: convert_input_data(call(*args)), name=name
        )
    try:
        outcome = _parsed(text).evaluate(dict(data), context)
        return json.loads(json.dumps(outcome, default=_plain))
    except WrongExpression:
        raise
    except Exception as problem:  # the library raises many types of errors
        message = f"Can not evaluate <% {text} %>: {type(problem).__name__}: {problem}"
        raise WrongExpression(message) from None


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, set | frozenset) else str(value)
