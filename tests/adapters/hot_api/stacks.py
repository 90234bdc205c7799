"""Mode `stack`: create it, wait for its end, read it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.adapters.hot_api.client import Api, Body, Fault, Stack, request_of
from tests.adapters.hot_api.refusals import Refused, error, refusal

NOTHING = {"heat_template_version": "2018-08-31"}
FAILED = re.compile(r"Resource CREATE failed: (?P<kind>\w+): (?P<rest>.*)", re.DOTALL)


async def answer_stack(api: Api, vector: Body) -> dict[str, Any]:
    """The outputs of the stack, or how it failed."""
    try:
        async with api.stack(request_of(vector)) as stack:
            answer = await _read(api, stack, vector)
    except Fault as fault:
        raise await refusal(api, vector, fault) from None
    answer["stack"] = {"id": stack.id, "name": stack.name, "project_id": api.project_id}
    return answer


async def _read(api: Api, stack: Stack, vector: Body) -> dict[str, Any]:
    await created(api, stack)
    shown = await api.shown(stack)
    outputs, errors = {}, {}
    for one in shown["outputs"]:
        name = one["output_key"]
        if "output_error" in one:
            path = f"outputs.{name}"
            errors[name] = {**error("output", "ValueError", one["output_error"]), "path": path}
        else:
            outputs[name] = one["output_value"]
    if errors and len(shown["outputs"]) == 1:
        return {"error": next(iter(errors.values()))}
    resolved: dict[str, Any] = {"outputs": outputs}
    if errors:
        resolved["output_errors"] = errors
    for what in vector.get("also") or ():
        resolved[what] = await _also(api, stack, shown, what)
    return {"resolved": resolved}


async def created(api: Api, stack: Stack) -> Body:
    """The stack when it is complete. Raises Refused with what its reason says."""
    shown = await api.settled(stack)
    if shown["stack_status"] == "CREATE_COMPLETE":
        return shown
    reason = shown["stack_status_reason"]
    if (told := FAILED.match(reason)) is None:
        raise RuntimeError(f"{shown['stack_status']}: {reason}")
    raise Refused(error("create", told["kind"], told["rest"]))


async def _also(api: Api, stack: Stack, shown: Body, what: str) -> Any:
    match what:
        case "description" | "parameters":
            return shown[what]
        case "resources":
            return [one["resource_name"] for one in await api.resources(stack)]
        case "dependencies":
            return _dependencies(await api.resources(stack))
        case "metadata":
            names = [one["resource_name"] for one in await api.resources(stack)]
            paths = {name: f"{stack.path}/resources/{name}/metadata" for name in names}
            return {name: (await api.call("GET", paths[name]))["metadata"] for name in names}
        case "deletion_policy":
            return await _policies(api, stack)
        case "refs":
            names = [one["resource_name"] for one in await api.resources(stack)]
            return await more_outputs(api, stack, {name: _reference(name) for name in names})
    raise ValueError(f"also: {what}")


def _dependencies(resources: list[Body]) -> dict[str, list[str]]:
    """Who waits for whom, told by those who are waited for."""
    found: dict[str, list[str]] = {one["resource_name"]: [] for one in resources}
    for one in resources:
        for user in one["required_by"]:
            found[user].append(one["resource_name"])
    return found


async def _policies(api: Api, stack: Stack) -> dict[str, str]:
    """What would become of each resource if the template lost it."""
    plan = await api.call("PUT", f"{stack.path}/plan", {"template": NOTHING})
    return {one["resource"]: one["action"].capitalize() for one in plan["plan"]["resources"]}


def _reference(name: str) -> Mapping[str, Any]:
    return {"get_resource": name}


async def more_outputs(api: Api, stack: Stack, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of expressions, as outputs that an update adds to the stack's template.

    Each expression is one of HOT; in templates of the other language `get_resource` and
    `get_param` are `Ref`.
    """
    template = await api.call("GET", f"{stack.path}/template")
    hot = "heat_template_version" in template
    section, key = ("outputs", "value") if hot else ("Outputs", "Value")
    added = {
        name: {key: value if hot else {"Ref": next(iter(value.values()))}}
        for name, value in values.items()
    }
    template[section] = {**(template.get(section) or {}), **added}
    await api.call("PATCH", stack.path, {"template": template})
    after = await api.settled(stack)
    if after["stack_status"] != "UPDATE_COMPLETE":
        raise RuntimeError(after["stack_status_reason"])
    shown = await api.shown(stack)
    found = {one["output_key"]: one["output_value"] for one in shown["outputs"]}
    return {name: found[name] for name in values}
