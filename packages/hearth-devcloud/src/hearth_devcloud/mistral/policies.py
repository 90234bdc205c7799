"""Pure functions that take decisions about an execution: inputs, joins, items and retries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hearth_devcloud.http import Body
from hearth_devcloud.mistral import language
from hearth_devcloud.mistral.language import WrongDefinition, WrongExpression
from hearth_devcloud.mistral.rest import bad
from hearth_devcloud.store import Resource


def input_of(workflow: Resource, arguments: Body, params: Body) -> Body:
    """Return the input of a new execution: `arguments`, completed with defaults.

    Raises Refusal if an input is missing or unknown, or if `params` are invalid.
    """
    spec = workflow.hidden["spec"]
    inputs = language.inputs(spec)
    lacking = [n for n, (has, _) in inputs.items() if not has and n not in arguments]
    unknown = [n for n in arguments if n not in inputs]
    if lacking or unknown:
        message = f"workflow={workflow.body['name']}, unexpected={unknown}, missing={lacking}"
        raise bad(f"Invalid input [{message}]")
    if not isinstance(params.get("env", {}), dict):
        raise bad("params: env must be an object")
    if spec.get("type") == "reverse" and params.get("task_name") not in spec["tasks"]:
        raise bad("A reverse workflow needs task_name in params")
    return {n: arguments.get(n, default) for n, (_, default) in inputs.items()}


def leads_to(spec: Body, name: str) -> set[str]:
    """Return the names of the tasks to which the transitions of a task can lead."""
    task = language.task_of(spec, name)
    return {to for clause in language.CLAUSES for to, _, _ in language.moves(task, clause)}


def needed(spec: Body, name: str, join: Any) -> int:
    """Return how many tasks must have led to the task `name` before it starts.

    `join` is the task's setting: all, one, or a number.
    """
    if str(join) == "all":
        return sum(1 for other_task in spec["tasks"] if name in leads_to(spec, other_task))
    return 1 if str(join) == "one" else int(join)


def arguments_of(spec: Body) -> Body:
    """Return the input in a task definition, unevaluated. Raises WrongDefinition."""
    arguments = spec.get("input") or {}
    if not isinstance(arguments, dict):
        raise WrongDefinition(f"input of task '{spec['name']}' must be a map")
    return arguments


def items_of(spec: Body, context: Body, functions: Mapping[str, Any]) -> list[Body]:
    """Return the variables for each call of a task: one map per item of `with-items`.

    A task without `with-items` has one call without variables. Raises WrongExpression.
    """
    clauses = language.as_list(spec.get("with-items"))
    if not clauses:
        return [{}]
    columns: dict[str, list[Any]] = {}
    for text in clauses:
        name, _, expression = str(text).partition(" in ")
        sequence = language.evaluate(expression.strip(), context, functions)
        if isinstance(sequence, str):
            sequence = json.loads(sequence) if sequence.startswith("[") else None
        if not isinstance(sequence, list):
            raise WrongExpression(f"with-items of task '{spec['name']}' must be a list: {text}")
        columns[name.strip()] = sequence
    if len({len(column) for column in columns.values()}) > 1:
        raise WrongExpression(f"with-items of task '{spec['name']}' must have equal lengths")
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def retry_after_s(task: Resource, state: str, functions: Mapping[str, Any]) -> float | None:
    """Return the seconds until the next attempt of a task, or None if there is none.

    `state` is the result of the last attempt; `functions` are the functions for expressions.
    """
    retry, context = task.hidden["spec"].get("retry"), task.hidden["context"]
    if not retry:
        return None
    policy = language.call_of(f"retry {retry}")[1] if isinstance(retry, str) else retry

    def holds(name: str) -> bool:
        return name in policy and bool(language.evaluate(policy[name], context, functions))

    count = int(language.evaluate(policy.get("count", 0), context, functions))
    if task.hidden["attempt"] > count or holds("break-on"):
        return None
    if state == "ERROR" and "continue-on" in policy and not holds("continue-on"):
        return None
    if state == "SUCCESS" and not holds("continue-on"):
        return None
    return float(language.evaluate(policy.get("delay", 0), context, functions))
