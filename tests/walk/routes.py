"""The route walk: each operation once with success and the exact keys, once with an error."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema

from hearth.api.endpoint import Endpoint
from hearth.api.openapi import document
from hearth.api.v1.routes import ROUTES, STACK
from tests.walk.ground import CHILD, FACTS, SMALL, TEMPLATE, Exchange, Ground, table

NOWHERE = "00000000-0000-4000-8000-000000000000"
ROWS: list[dict[str, Any]] = json.loads((FACTS / "rest_routes.json").read_text())["routes"]
SHAPES: dict[str, Any] = json.loads((FACTS / "api_constants.json").read_text())["responses"]
MORE_KEYS = {"resource_schema": {"description"}}  # beside those of the original, on purpose


STACK_READS = {
    "event_index_stack": "event_list",
    "resource_index": "resource_list",
    "stack_environment": "stack_environment",
    "stack_export": "stack_export",
    "stack_output_list": "output_list",
    "stack_show": "stack_show",
}
"""The recorded answer of each route that `stack_reads` names, if the original has one."""


def stack_reads(endpoints: Sequence[Endpoint] = ROUTES) -> list[str]:
    """The GET routes that need only a stack: each is walked with one, and with an unknown id."""
    path = re.compile(re.escape(STACK) + "(/[^{]*)?")
    return [
        one.name
        for one in endpoints
        if one.method == "GET" and path.fullmatch(one.path) and one.name != "stack_list_snapshots"
    ]


@dataclass(frozen=True)
class Step:
    """An exchange with what is expected of it; `shape` names the recorded answer."""

    exchange: Exchange
    shape: str | None = None
    error: tuple[int, str] | None = None


def steps(ground: Ground) -> Iterator[Step]:
    """Everything the API can do, and a refusal of each."""
    yield from _templates(ground)
    yield from _lists(ground)
    yield from _lookups(ground)
    yield from _reading(ground)
    yield from _resources(ground)
    yield from _changing(ground)
    yield from _snapshots(ground)
    yield from _software(ground)
    yield from _services(ground)
    yield from _ends(ground)


def _templates(ground: Ground) -> Iterator[Step]:
    files = {"child.yaml": CHILD}
    asked = {"template": TEMPLATE, "files": files}
    yield Step(ground.ask("template_validate", body=asked), "validate")
    yield Step(
        ground.ask("template_validate", body=asked, query="show_nested=true"), "validate_nested"
    )
    yield _bad(ground.ask("template_validate", body={}), 400, "HTTPBadRequest")
    yield Step(ground.ask("resource_types"), "resource_types")
    yield Step(
        ground.ask("resource_types", query="with_description=true"), "resource_types_described"
    )
    yield _bad(ground.ask("resource_types", query="support_status=GREAT"), 400, "Invalid")
    server = {"type_name": "OS::Heat::RandomString"}
    yield Step(ground.ask("resource_schema", **server), "resource_schema")
    unknown = {"type_name": "OS::Heat::RandomSting"}
    yield _bad(ground.ask("resource_schema", **unknown), 404, "EntityNotFound")
    yield Step(ground.ask("generate_template", **server), "resource_template_cfn")
    yield Step(
        ground.ask("generate_template", query="template_type=hot", **server),
        "resource_template_hot",
    )
    bad = ground.ask("generate_template", query="template_type=tosca", **server)
    yield _bad(bad, 400, "HTTPBadRequest")
    yield Step(ground.ask("template_versions"), "template_versions")
    yield _bad(ground.ask("template_versions", by="guest"), 403, "Forbidden")
    version = {"template_version": "heat_template_version.2021-04-16"}
    yield Step(ground.ask("template_functions", **version), "template_functions")
    bad = ground.ask("template_functions", template_version="heat_template_version.1999-01-01")
    yield _bad(bad, 404, "NotFound")


def _lists(ground: Ground) -> Iterator[Step]:
    yield Step(ground.ask("stack_index", query="limit=1&with_count=true"), "stack_list")
    yield _bad(ground.ask("stack_index", query="limit=-1"), 400, "HTTPBadRequest")
    yield Step(ground.ask("stack_detail"), "stack_detail")
    yield _bad(ground.ask("stack_detail", query="show_nested=perhaps"), 400, "HTTPBadRequest")
    named = {"stack_name": "foreseen", "template": TEMPLATE, "files": {"child.yaml": CHILD}}
    yield Step(ground.ask("stack_preview", body=named), "stack_preview")
    bad = ground.ask("stack_preview", body={**named, "stack_name": "walked"})
    yield _bad(bad, 409, "StackExists")
    yield Step(ground.ask("stack_plan", body=named))
    yield _bad(ground.ask("stack_plan", body={}), 400, "HTTPBadRequest")


def _lookups(ground: Ground) -> Iterator[Step]:
    for endpoint in ROUTES:
        if endpoint.name not in ("stack_lookup", "stack_lookup_subpath"):
            continue
        found = ground.send(endpoint, stack_identity="walked", query="a=b")
        yield Step(found, "lookup")
        nothing = ground.send(endpoint, stack_identity="nothing")
        yield _bad(nothing, 404, "EntityNotFound")


def _reading(ground: Ground) -> Iterator[Step]:
    there, lost = ground.stack, {**ground.stack, "stack_id": NOWHERE}
    for name in stack_reads():
        shape = STACK_READS.get(name)
        yield Step(ground.ask(name, **there), shape)
        yield _bad(ground.ask(name, **lost), 404, "EntityNotFound")
    yield Step(ground.ask("stack_output_show", output_key="hidden", **there), "output_show")
    yield _bad(ground.ask("stack_output_show", output_key="nothing", **there), 404, "NotFound")
    yield Step(ground.ask("stack_revision_show", number="1", **there))
    yield _bad(ground.ask("stack_revision_show", number="99", **there), 404, "EntityNotFound")
    yield Step(ground.ask("stack_revision_diff", number="1", other="1", **there))
    bad = ground.ask("stack_revision_diff", number="1", other="x", **there)
    yield _bad(bad, 400, "HTTPBadRequest")


def _resources(ground: Ground) -> Iterator[Step]:
    there = ground.stack
    for query, shape in (
        ("with_detail=true", "resource_list_detail"),
        ("nested_depth=1&name=inner", "resource_list_nested"),
    ):
        yield Step(ground.ask("resource_index", query=query, **there), shape)
    yield _bad(ground.ask("resource_index", query="colour=red", **there), 400, "HTTPBadRequest")
    value, nothing = {**there, "resource_name": "value"}, {**there, "resource_name": "nothing"}
    yield Step(ground.ask("resource_show", **value), "resource_show")
    yield _bad(ground.ask("resource_show", **nothing), 404, "ResourceNotFound")
    yield Step(ground.ask("resource_metadata_show", **value), "resource_metadata")
    yield _bad(ground.ask("resource_metadata_show", **nothing), 404, "ResourceNotFound")
    handle = {**there, "resource_name": "handle"}
    yield Step(ground.ask("resource_signal", body={"status": "SUCCESS"}, **handle), "signal_policy")
    bad = ground.ask("resource_signal", body={}, **value)
    yield _bad(bad, 400, "ResourceActionNotSupported")
    unwell = {"mark_unhealthy": True, "resource_status_reason": "it looks pale"}
    yield Step(ground.ask("resource_mark_unhealthy", body=unwell, **value), "mark_unhealthy")
    bad = ground.ask("resource_mark_unhealthy", body={"pale": True}, **value)
    yield _bad(bad, 400, "HTTPBadRequest")
    ground.ask("resource_mark_unhealthy", body={"mark_unhealthy": False}, **value)
    nested = ground.ask("event_index_stack", query="nested_depth=1", **there)
    yield Step(nested, "event_list_nested")
    listed = ground.ask("event_index_resource", **value)
    yield Step(listed, "event_list")
    yield _bad(ground.ask("event_index_resource", **nothing), 404, "ResourceNotFound")
    event = {**value, "event_id": listed.answer["events"][-1]["id"]}
    yield Step(ground.ask("event_show", **event), "event_show")
    yield _bad(ground.ask("event_show", **{**value, "event_id": NOWHERE}), 404, "HTTPNotFound")


def _changing(ground: Ground) -> Iterator[Step]:
    first = {"stack_name": "changed", "template": SMALL}
    created = ground.ask("stack_create", body=first)
    yield Step(created, "stack_create")
    yield _bad(ground.ask("stack_create", body=first), 409, "StackExists")
    path = {"stack_name": "changed", "stack_id": created.answer["stack"]["id"]}
    ground.until(path, "CREATE_COMPLETE")
    wanted = {"template": {**SMALL, "description": "Changed"}, "parameters": {}}
    wrong = {"template": {**SMALL, "colour": "red"}}
    for name, method, shape in (
        ("preview_stack_update", "PUT", "stack_preview_update"),
        ("preview_stack_update_patch", "PATCH", "stack_preview_update"),
        ("stack_update_plan", "PUT", None),
        ("stack_update_patch_plan", "PATCH", None),
        ("stack_update", "PUT", None),
        ("stack_update_patch", "PATCH", None),
    ):
        yield Step(ground.ask(name, method, body=wanted, **path), shape)
        if name in ("stack_update", "stack_update_patch"):
            ground.until(path, "UPDATE_COMPLETE")
        yield _bad(ground.ask(name, method, body=wrong, **path), 400, "StackValidationFailed")
    yield Step(ground.ask("action_stack", body={"suspend": None}, **path), "action_suspend")
    ground.until(path, "SUSPEND_COMPLETE")
    bad = ground.ask("action_stack", body={"suspend": None, "resume": None}, **path)
    yield _bad(bad, 400, "HTTPBadRequest")


def _snapshots(ground: Ground) -> Iterator[Step]:
    path = ground.create("snapped", template=SMALL)
    taken = ground.ask("stack_snapshot", body={"name": "first"}, **path)
    yield Step(taken)
    ground.until(path, "SNAPSHOT_COMPLETE")
    one = {**path, "snapshot_id": taken.answer["id"]}
    none = {**path, "snapshot_id": NOWHERE}
    yield _bad(ground.ask("stack_snapshot", **path), 400, "HTTPBadRequest")
    yield Step(ground.ask("stack_list_snapshots", **path), "snapshot_list")
    bad = ground.ask("stack_list_snapshots", **{**path, "stack_id": NOWHERE})
    yield _bad(bad, 404, "EntityNotFound")
    yield Step(ground.ask("stack_snapshot_show", **one), "snapshot_show")
    yield _bad(ground.ask("stack_snapshot_show", **none), 404, "NotFound")
    yield Step(ground.ask("stack_snapshot_restore", **one))
    ground.until(path, "RESTORE_COMPLETE")
    yield _bad(ground.ask("stack_snapshot_restore", **none), 404, "NotFound")
    yield Step(ground.ask("stack_snapshot_delete", **one), "snapshot_delete")
    yield _bad(ground.ask("stack_snapshot_delete", **none), 404, "NotFound")


def _software(ground: Ground) -> Iterator[Step]:
    config = {
        "name": "install", "group": "script", "config": "#!/bin/sh\n",
        "inputs": [{"name": "size", "type": "Number", "default": 1, "description": "How many"}],
        "outputs": [{"name": "result", "description": "How it went"}],
    }  # fmt: skip
    made = ground.ask("software_config_create", body=config)
    yield Step(made, "software_config_create")
    bad = ground.ask("software_config_create", body={**config, "inputs": [{}]})
    yield _bad(bad, 400, "StackValidationFailed")
    config_id = made.answer["software_config"]["id"]
    yield Step(ground.ask("software_config_index"), "software_config_list")
    yield _bad(ground.ask("software_config_index", query="limit=x"), 400, "HTTPBadRequest")
    yield Step(ground.ask("software_config_show", config_id=config_id), "software_config_show")
    yield _bad(ground.ask("software_config_show", config_id=NOWHERE), 404, "NotFound")
    server = {"server_id": "a-server"}
    wanted = {
        "config_id": config_id, **server, "input_values": {"size": 2}, "action": "CREATE",
        "status": "IN_PROGRESS", "status_reason": "Deploy data available",
    }  # fmt: skip
    made = ground.ask("software_deployment_create", body=wanted)
    yield Step(made, "software_deployment_create")
    bad = ground.ask("software_deployment_create", body={**wanted, "config_id": NOWHERE})
    yield _bad(bad, 400, "Invalid")
    deployment = {"deployment_id": made.answer["software_deployment"]["id"]}
    none = {"deployment_id": NOWHERE}
    yield Step(ground.ask("software_deployment_show", **deployment), "software_deployment_show")
    yield _bad(ground.ask("software_deployment_show", **none), 404, "NotFound")
    done = {"status": "COMPLETE", "output_values": {"result": "well"}, "status_reason": "Done"}
    changed = ground.ask("software_deployment_update", body=done, **deployment)
    yield Step(changed, "software_deployment_update")
    yield _bad(ground.ask("software_deployment_update", body=done, **none), 404, "NotFound")
    listed = ground.ask("software_deployment_index", query="server_id=a-server")
    yield Step(listed, "software_deployment_list")
    yield _bad(ground.ask("software_deployment_index", by="guest"), 403, "Forbidden")
    told = ground.ask("software_deployment_metadata", **server)
    yield Step(told, "software_deployment_metadata")
    bad = ground.ask("software_deployment_metadata", by="nobody", **server)
    yield _bad(bad, 403, "Forbidden")
    yield _bad(
        ground.ask("software_config_delete", config_id=config_id), 409, "InvalidRestrictedAction"
    )
    gone = ground.ask("software_deployment_delete", **deployment)
    yield Step(gone, "software_deployment_delete")
    yield _bad(ground.ask("software_deployment_delete", **deployment), 404, "NotFound")
    yield Step(ground.ask("software_config_delete", config_id=config_id), "software_config_delete")


def _services(ground: Ground) -> Iterator[Step]:
    yield Step(ground.ask("build_info"), "build_info")
    yield _bad(ground.ask("build_info", by="guest"), 403, "Forbidden")
    yield Step(ground.ask("service_index", by="admin"), "services")
    yield _bad(ground.ask("service_index"), 403, "Forbidden")


def _ends(ground: Ground) -> Iterator[Step]:
    path = ground.create("left", template=SMALL)
    yield Step(ground.ask("stack_abandon", **path), "stack_abandon")
    ground.until(path, "DELETE_COMPLETE")
    yield _bad(ground.ask("stack_abandon", **path), 404, "EntityNotFound")
    path = ground.create("gone", template=SMALL)
    yield Step(ground.ask("stack_delete", **path), "stack_delete")
    ground.until(path, "DELETE_COMPLETE")
    yield _bad(ground.ask("stack_delete", **path), 404, "EntityNotFound")


def _bad(exchange: Exchange, status: int, kind: str = "HTTPBadRequest") -> Step:
    return Step(exchange, error=(status, kind))


def verdict(step: Step, contract: dict[str, Any]) -> str:
    """What is wrong with an exchange; empty if nothing is. `contract` is the OpenAPI document."""
    exchange, endpoint = step.exchange, step.exchange.endpoint
    expected = endpoint.status if step.error is None else step.error[0]
    if exchange.status != expected:
        return f"status {exchange.status}, not {expected}: {exchange.answer}"
    if step.error is not None:
        return _wrong_error(exchange.answer, step.error)
    if exchange.status == 302:
        location = exchange.headers.get("Location", "")
        return "" if location.endswith("?a=b") or "?" not in exchange.path else "no query"
    if endpoint.answer is not None:
        schema = {**endpoint.answer, "components": contract["components"]}
        problem = jsonschema.exceptions.best_match(
            jsonschema.Draft202012Validator(schema).iter_errors(exchange.answer)
        )
        if problem is not None:
            return f"not as in the contract: {problem.json_path}: {problem.message}"
    if step.shape is None:
        return ""
    shape = SHAPES[step.shape]
    if shape["status"] != exchange.status:
        return f"status {exchange.status}, the original's is {shape['status']}"
    more = MORE_KEYS.get(step.shape, set())
    return differs(exchange.answer, shape.get("body", "none"), "", more)


def _wrong_error(answer: Any, error: tuple[int, str]) -> str:
    if set(answer) != {"code", "title", "explanation", "error"}:
        return f"keys {sorted(answer)}"
    if set(answer["error"]) != {"type", "message", "traceback"}:
        return f"keys of error {sorted(answer['error'])}"
    if answer["code"] != error[0] or answer["error"]["type"] != error[1]:
        return f"{answer['code']} {answer['error']['type']}, not {error[0]} {error[1]}"
    return "" if answer["error"]["message"] else "no message"


def differs(answer: Any, shape: Any, at: str, more: set[str] = frozenset()) -> str:  # type: ignore[assignment]
    """Where an answer's keys are not those of a recorded shape."""
    if isinstance(shape, dict) and "*" not in shape and "KIND" not in shape:
        if not isinstance(answer, dict):
            return f"{at or 'answer'} is no map"
        optional = {"output_error", "parent_resource"}
        if "Type" in shape:  # a parameter: it tells what it declares
            optional |= set(shape) - {"Type", "Description", "Label", "NoEcho"}
        if (unlike := set(shape) ^ set(answer)) and not unlike <= optional | more:
            return f"{at or 'answer'}: keys that differ: {sorted(unlike - more)}"
        pairs = [(answer[key], shape[key], f"{at}.{key}") for key in shape if key in answer]
    elif isinstance(shape, dict) and "*" in shape:
        return "" if isinstance(answer, dict) else f"{at} is no map"
    elif isinstance(shape, list) and shape and isinstance(shape[0], dict):
        if not isinstance(answer, list):
            return f"{at} is no list"
        pairs = [(one, shape[0], f"{at}[]") for one in answer]
    else:
        return ""
    return next((words for pair in pairs if (words := differs(*pair))), "")


def missing(walked: list[Step]) -> list[str]:
    """Rows of the recorded routes, and operations, without both a success and an error."""
    done: dict[str, set[bool]] = {}
    for step in walked:
        way = _row(step.exchange.method, step.exchange.endpoint.path)
        done.setdefault(way, set()).add(step.error is None)
    wanted = {_row(row["method"], row["path"]) for row in ROWS if "arn:" not in row["path"]}
    wanted |= {_row(endpoint.method, endpoint.path) for endpoint in ROUTES}
    expanded = {one for way in wanted for one in _alternatives(way)}
    return sorted(way for way in expanded if done.get(way) != {True, False})


def _row(method: str, path: str) -> str:
    """A method and path with its parameters unnamed."""
    return f"{method} " + re.sub(r"{(?!path:)[^}]*}", "{}", path)


def _alternatives(way: str) -> list[str]:
    found = re.search(r"{path:([^}]*)}", way)
    return [way.replace(found[0], word) for word in found[1].split("|")] if found else [way]


def walk(ground: Ground) -> tuple[str, list[str], list[Step]]:
    """The table, what is wrong, and all steps."""
    contract = document("/v1")
    walked = list(steps(ground))
    rows = [("operation", "method", "status", "type", "verdict")]
    wrong = []
    for step in walked:
        words = verdict(step, contract)
        endpoint = step.exchange.endpoint
        kind = step.error[1] if step.error else "-"
        rows.append(
            (endpoint.name, endpoint.method, str(step.exchange.status), kind, words or "as told")
        )
        if words:
            wrong.append(f"{endpoint.method} {step.exchange.path}: {words}")
    wrong += [f"{way}: not walked with success and error" for way in missing(walked)]
    return table(rows), wrong, walked
