"""The actions that tasks can run: `std.…`, and `heat.…` for calls of the Orchestration API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from hearth_devcloud import jobs
from hearth_devcloud.http import Body, Cloud
from hearth_devcloud.keystone.tokens import catalogue
from hearth_devcloud.store import Resource

Outcome = tuple[bool, Any]  # whether the action succeeded, and its result or error
ORCHESTRATION = "orchestration"
STACK = "/stacks/{stack_id}"
RESOURCE = STACK + "/resources/{resource_name}"
_HTTP = {"url", "method", "params", "body", "headers", "timeout", "json"}
_HTTP_IGNORED = {"cookies", "auth", "allow_redirects", "proxies", "verify"}


@dataclass(frozen=True)
class Act:
    """A call of the Orchestration API that a `heat.…` action makes.

    The path can contain names of arguments, which are replaced by their values. All other arguments
    become the body or the query of the call. `part` is the key of the response that contains the
    result. `flags` maps names of arguments to HTTP methods; such an argument selects its method
    instead of `method`. `fixed` is a constant body.
    """

    method: str
    path: str
    part: str = ""  # of the answer
    flags: Mapping[str, str] = field(default_factory=dict)
    fixed: Any = None


HEAT: Mapping[str, Act] = {
    "stacks_list": Act("GET", "/stacks", "stacks"),
    "stacks_get": Act("GET", STACK, "stack"),
    "stacks_create": Act("POST", "/stacks", "stack"),
    "stacks_update": Act("PUT", STACK, flags={"existing": "PATCH"}),
    "stacks_delete": Act("DELETE", STACK),
    "stacks_preview": Act("POST", "/stacks/preview", "stack"),
    "stacks_validate": Act("POST", "/validate"),
    "stacks_template": Act("GET", STACK + "/template"),
    "stacks_environment": Act("GET", STACK + "/environment"),
    "stacks_output_list": Act("GET", STACK + "/outputs"),
    "stacks_output_show": Act("GET", STACK + "/outputs/{output_key}"),
    "stacks_snapshot": Act("POST", STACK + "/snapshots"),
    "stacks_snapshot_list": Act("GET", STACK + "/snapshots"),
    "stacks_snapshot_show": Act("GET", STACK + "/snapshots/{snapshot_id}"),
    "stacks_snapshot_delete": Act("DELETE", STACK + "/snapshots/{snapshot_id}"),
    "stacks_restore": Act("POST", STACK + "/snapshots/{snapshot_id}/restore"),
    "actions_check": Act("POST", STACK + "/actions", fixed={"check": None}),
    "actions_suspend": Act("POST", STACK + "/actions", fixed={"suspend": None}),
    "actions_resume": Act("POST", STACK + "/actions", fixed={"resume": None}),
    "actions_cancel_update": Act("POST", STACK + "/actions", fixed={"cancel_update": None}),
    "actions_cancel_without_rollback": Act(
        "POST", STACK + "/actions", fixed={"cancel_without_rollback": None}
    ),
    "resources_list": Act("GET", STACK + "/resources", "resources"),
    "resources_get": Act("GET", RESOURCE, "resource"),
    "resources_metadata": Act("GET", RESOURCE + "/metadata", "metadata"),
    "resources_signal": Act("POST", RESOURCE + "/signal"),
    "resources_mark_unhealthy": Act("PATCH", RESOURCE),
    "events_list": Act("GET", STACK + "/events", "events"),
    "resource_types_list": Act("GET", "/resource_types", "resource_types"),
    "resource_types_get": Act("GET", "/resource_types/{resource_type}"),
    "build_info_build_info": Act("GET", "/build_info"),
}


def perform(cloud: Cloud, action: Resource) -> Outcome | None:
    """Start an action and return its outcome, or None if it waits for the response to a call."""
    name, arguments = action.body["name"], action.hidden["input"]
    match name:
        case "std.noop":
            return True, None
        case "std.echo":
            return _known(arguments, {"output", "delay"}) or (True, arguments.get("output"))
        case "std.fail":
            return False, arguments.get("error_data") or "Fail action expected exception."
        case "std.http":
            return _http(cloud, action, arguments)
    group, _, verb = name.partition(".")
    if group == "heat" and verb in HEAT:
        return _heat(cloud, action, HEAT[verb], dict(arguments))
    return False, f"Failed to find action [action_name={name}]"


def outcome_of(cloud: Cloud, action: Resource, job: Resource) -> Outcome | None:
    """Return the outcome of an action after the response to its call.

    `job` contains the response. Return None if the action has requested a further call.
    """
    answer = job.hidden["answer"]
    if answer.get("error"):
        return False, f"Failed to send HTTP request: {answer['error']}"
    if action.body["name"] == "std.http":
        return _http_outcome(job, answer)
    act = HEAT[action.body["name"].partition(".")[2]]
    if job.hidden["looking"]:
        stack_id = _stack_in(answer)
        if stack_id is None:
            return _refused(action, answer)
        return _call(cloud, action, act, {**action.hidden["input"], "stack_id": stack_id})
    if answer["status"] >= 300:
        return _refused(action, answer)
    body = answer["body"] or None
    return True, body.get(act.part) if act.part and isinstance(body, dict) else body


def _known(arguments: Body, names: set[str]) -> Outcome | None:
    unknown = sorted(arguments.keys() - names)
    return (False, f"Invalid input: unexpected {unknown}") if unknown else None


def _http(cloud: Cloud, action: Resource, arguments: Body) -> Outcome | None:
    wrong = _known(arguments, _HTTP | _HTTP_IGNORED)
    if wrong is not None or not arguments.get("url"):
        return wrong or (False, "Invalid input: missing ['url']")
    headers = {str(name): str(value) for name, value in (arguments.get("headers") or {}).items()}
    body = arguments.get("json") if arguments.get("json") is not None else arguments.get("body")
    data = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    if data and not isinstance(body, str):
        headers.setdefault("Content-Type", "application/json")
    url, params = str(arguments["url"]), arguments.get("params")
    if params:
        url += ("&" if "?" in url else "?") + urlencode(params)
    jobs.order(
        cloud,
        "workflow.answered",
        action.id,
        method=str(arguments.get("method") or "GET").upper(),
        url=url,
        headers=headers,
        data=data,
        timeout_s=float(arguments.get("timeout") or jobs.TIMEOUT_S),
    )
    return None


def _http_outcome(job: Resource, answer: Body) -> Outcome:
    result = {
        "content": answer["body"],
        "status": answer["status"],
        "headers": answer["headers"],
        "url": job.body["url"],
    }
    return 200 <= answer["status"] < 307, result


def _heat(cloud: Cloud, action: Resource, act: Act, arguments: Body) -> Outcome | None:
    """Request the call of a `heat.…` action; return its outcome only if that fails.

    If `stack_id` is only a name or an id, request a call to look up the stack first.
    """
    lacking = [
        n for n in ("stack_id", "resource_name") if f"{{{n}}}" in act.path and n not in arguments
    ]
    if lacking:
        return False, f"Invalid input: missing {lacking}"
    if "{stack_id}" in act.path and "/" not in str(arguments["stack_id"]):
        path = f"/stacks/{quote(str(arguments['stack_id']), safe='')}"
        return _send(cloud, action, "GET", path, None, looking=True)
    return _call(cloud, action, act, arguments)


def _call(cloud: Cloud, action: Resource, act: Act, arguments: Body) -> Outcome | None:
    method, remaining = act.method, dict(arguments)
    for flag, argument in act.flags.items():
        method = argument if remaining.pop(flag, False) else method
    path = act.path
    for name in list(remaining):
        if f"{{{name}}}" in path:
            safe = "/" if name == "stack_id" else ""
            path = path.replace(f"{{{name}}}", quote(str(remaining.pop(name)), safe=safe))
    if method == "GET" and remaining:
        path += "?" + urlencode(remaining)
    body = None if method in ("GET", "DELETE") else act.fixed or remaining.get("data", remaining)
    return _send(cloud, action, method, path, body, looking=False)


def _send(
    cloud: Cloud, action: Resource, method: str, path: str, body: Any, *, looking: bool
) -> Outcome | None:
    url = _endpoint(cloud, action.project_id)
    if url is None:
        return False, f"There is no {ORCHESTRATION} service in the catalogue"
    headers = {"X-Auth-Token": action.hidden["token"], "Accept": "application/json"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    jobs.order(
        cloud,
        "workflow.answered",
        action.id,
        method=method,
        url=url + path,
        headers=headers,
        data="" if body is None else json.dumps(body),
        looking=looking,
    )
    return None


def _endpoint(cloud: Cloud, project_id: str | None) -> str | None:
    for service in catalogue(cloud, project_id):
        if service["type"] == ORCHESTRATION:
            for endpoint in service["endpoints"]:
                if endpoint["interface"] == "public":
                    return str(endpoint["url"]).rstrip("/")
    return None


def _stack_in(answer: Body) -> str | None:
    """Return `NAME/ID` of the stack in a response (redirect or body), or None if it has none."""
    headers = {name.lower(): value for name, value in answer["headers"].items()}
    if answer["status"] in (301, 302) and "location" in headers:
        return str(headers["location"]).partition("?")[0].partition("/stacks/")[2] or None
    body = answer["body"]
    stack = body.get("stack") if isinstance(body, dict) else None
    return f"{stack['stack_name']}/{stack['id']}" if stack and answer["status"] == 200 else None


def _refused(action: Resource, answer: Body) -> Outcome:
    body = answer["body"]
    error = body.get("error") if isinstance(body, dict) else None
    reason = error.get("message") if isinstance(error, dict) else body
    message = f"{action.body['name']} failed: HTTP {answer['status']}: {reason}"
    return False, message
