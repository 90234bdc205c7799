"""Pure functions that take decisions about an execution: inputs, joins, items and retries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hearth_devcloud.http import Body
from hearth_devcloud.mistral import language
from hearth_devcloud.mistral.language import WrongDefinition, WrongExpression
from hearth_devcloud.mistral.rest import bad
from hearth_devcloud.store import Thing


def input_of(workflow: Thing, given: Body, params: Body) -> Body:
    """Return the input of a new execution: `given`, completed with defaults.

    Raises Refusal if an input is missing or unknown, or if `params` are invalid.
    """
    spec = workflow.hidden["spec"]
    wanted = language.inputs(spec)
    lacking = [n for n, (has, _) in wanted.items() if not has and n not in given]
    unknown = [n for n in given if n not in wanted]
    if lacking or unknown:
        words = f"workflow={workflow.body['name']}, unexpected={unknown}, missing={lacking}"
        raise bad(f"Invalid input [{words}]")
    if not isinstance(params.get("env", {}), dict):
        raise bad("params: env must be an object")
    if spec.get("type") == "reverse" and params.get("task_name") not in spec["tasks"]:
        raise bad("A reverse workflow needs task_name in params")
    return {n: given.get(n, default) for n, (_, default) in wanted.items()}


def leads_to(spec: Body, name: str) -> set[str]:
    """Return the names of the tasks to which the transitions of a task can lead."""
    task = language.task_of(spec, name)
    return {to for clause in language.CLAUSES for to, _, _ in language.moves(task, clause)}


def needed(spec: Body, name: str, join: Any) -> int:
    """Return how many tasks must have led to the task `name` before it starts.

    `join` is the task's setting: all, one, or a number.
    """
    if str(join) == "all":
        return sum(1 for other in spec["tasks"] if name in leads_to(spec, other))
    return 1 if str(join) == "one" else int(join)


def arguments_of(spec: Body) -> Body:
    """Return the input in a task definition, unevaluated. Raises WrongDefinition."""
    given = spec.get("input") or {}
    if not isinstance(given, dict):
        raise WrongDefinition(f"input of task '{spec['name']}' must be a map")
    return given


def items_of(spec: Body, context: Body, words: Mapping[str, Any]) -> list[Body]:
    """Return the variables for each call of a task: one map per item of `with-items`.

    A task without `with-items` has one call without variables. Raises WrongExpression.
    """
    given = language.as_list(spec.get("with-items"))
    if not given:
        return [{}]
    columns: dict[str, list[Any]] = {}
    for text in given:
        name, _, rest = str(text).partition(" in ")
        found = language.evaluate(rest.strip(), context, words)
        if isinstance(found, str):
            found = json.loads(found) if found.startswith("[") else None
        if not isinstance(found, list):
            raise WrongExpression(f"with-items of task '{spec['name']}' must be a list: {text}")
        columns[name.strip()] = found
    if len({len(column) for column in columns.values()}) > 1:
        raise WrongExpression(f"with-items of task '{spec['name']}' must have equal lengths")
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def retry_after_s(task: Thing, state: str, words: Mapping[str, Any]) -> float | None:
    """Return the seconds until the next attempt of a task, or None if there is none.

    `state` is the result of the last attempt; `words` are the functions for expressions.
    """
    given, context = task.hidden["spec"].get("retry"), task.hidden["context"]
    if not given:
        return None
    policy = language.call_of(f"retry {given}")[1] if isinstance(given, str) else given

    def holds(name: str) -> bool:
        return name in policy and bool(language.evaluate(policy[name], context, words))

    count = int(language.evaluate(policy.get("count", 0), context, words))
    if task.hidden["attempt"] > count or holds("break-on"):
        return None
    if state == "ERROR" and "continue-on" in policy and not holds("continue-on"):
        return None
    if state == "SUCCESS" and not holds("continue-on"):
        return None
    return float(language.evaluate(policy.get("delay", 0), context, words))
