"""The API of cron triggers, which start workflows at the times of a cron pattern."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

from croniter import croniter

from hearth_devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth_devcloud.keystone import delegation
from hearth_devcloud.mistral import run
from hearth_devcloud.mistral.rest import (
    TRIGGERS,
    WORKFLOWS,
    bad,
    document,
    listed,
    mapping,
    missing,
    stamp,
    workflow_of,
)
from hearth_devcloud.store import Resource

SERVICE_USER = "mistral"
FIELDS = {
    "name",
    "workflow_name",
    "workflow_id",
    "workflow_input",
    "workflow_params",
    "pattern",
    "first_execution_time",
    "remaining_executions",
    "scope",
}


def next_time(pattern: str, at: float) -> float:
    """Return the first time after `at` that matches a cron pattern in UTC.

    Times are in seconds since 1970. Raises ValueError for a pattern that is invalid or never
    matches.
    """
    due: float = croniter(pattern, at).get_next(float)
    return due


def create(call: Call) -> Reply:
    """Handle POST of a cron trigger; reply with status 201, or 409 if its name is in use."""
    attributes, store, caller = document(call, FIELDS), call.cloud.store, call.caller
    name, workflow_name = (
        attributes.get("name"),
        attributes.get("workflow_id") or attributes.get("workflow_name"),
    )
    if not name or not isinstance(name, str):
        raise bad("name is required")
    workflow = workflow_of(store, caller.project_id, str(workflow_name))
    if workflow is None:
        raise missing(f"Workflow '{workflow_name}'")
    if store.where(TRIGGERS, name=name, project_id=caller.project_id):
        raise Refusal(409, "Conflict", f"Duplicate entry for CronTrigger['{name}']")
    count, first = attributes.get("remaining_executions"), attributes.get("first_execution_time")
    if count is not None and (type(count) is not int or count < 1):
        raise bad("remaining_executions must be at least 1")
    if not attributes.get("pattern") and (not first or count not in (None, 1)):
        raise bad(
            "pattern is required, unless first_execution_time is given and remaining_executions "
            "is absent or 1"
        )
    try:
        following = next_time(str(attributes.get("pattern") or "* * * * *"), store.time)
        due = _first(first) if first else following
    except ValueError as problem:
        raise bad(f"The specified time is not valid: {problem}") from None
    if due <= store.time:
        raise bad("'first_execution_time' must be in the future.")
    now, ident = stamp(store.time), store.new_id()
    body: Body = {
        "id": ident,
        "name": name,
        "workflow_name": workflow.body["name"],
        "workflow_id": workflow.id,
        "workflow_input": json.dumps(mapping(attributes, "workflow_input")),
        "workflow_params": json.dumps(mapping(attributes, "workflow_params")),
        "scope": attributes.get("scope") or "private",
        "pattern": attributes.get("pattern"),
        "remaining_executions": count if attributes.get("pattern") else 1,
        "first_execution_time": stamp(due) if first else None,
        "next_execution_time": stamp(due),
        "project_id": caller.project_id,
        "created_at": now,
        "updated_at": now,
    }
    trust = delegation.entrust(call.cloud, caller, SERVICE_USER)
    trigger = Resource(ident, TRIGGERS, caller.project_id, body, {"trust_id": trust.id, "due": due})
    _arm(call.cloud, store.insert(trigger))
    return Reply(201, body)


def _first(text: Any) -> float:
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.strptime(str(text), form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise ValueError(f"expected a time such as 2026-01-31 12:00, got {text}")


def _arm(cloud: Cloud, trigger: Resource) -> None:
    after_s = trigger.hidden["due"] - cloud.store.time
    cloud.store.later(after_s, trigger, "workflow.fire")
    cloud.wake(after_s)


def fire(cloud: Cloud, trigger: Resource) -> None:
    """Start the workflow of a cron trigger at its time, and schedule its next execution.

    The trigger is deleted after its last execution.
    """
    body, store = trigger.body, cloud.store
    workflow = store.get(WORKFLOWS, body["workflow_id"])
    token = delegation.token(cloud, SERVICE_USER, trigger.hidden["trust_id"])
    if workflow is not None and token is not None:
        with contextlib.suppress(Refusal):  # the workflow may have changed its inputs
            run.start(
                cloud,
                workflow,
                json.loads(body["workflow_input"]),
                json.loads(body["workflow_params"]),
                project_id=trigger.project_id,
                token=token,
                description=json.dumps(
                    {"triggered_by": {"type": "cron_trigger", "id": trigger.id}}
                ),
            )
    remaining = body["remaining_executions"]
    if remaining == 1 or not body["pattern"]:
        _drop(cloud, trigger)
        return
    try:
        due = next_time(body["pattern"], store.time)
    except ValueError:  # the pattern has no further match
        _drop(cloud, trigger)
        return
    body.update(
        remaining_executions=None if remaining is None else remaining - 1,
        next_execution_time=stamp(due),
        updated_at=stamp(store.time),
    )
    trigger.hidden["due"] = due
    _arm(cloud, trigger)


def _drop(cloud: Cloud, trigger: Resource) -> None:
    delegation.end(cloud, trigger.hidden["trust_id"])
    cloud.store.remove(trigger)


def _find(call: Call) -> Resource:
    for trigger in call.cloud.store.where(TRIGGERS, project_id=call.caller.project_id):
        if call.ids[0] in (trigger.id, trigger.body["name"]):
            return trigger
    raise missing(f"Cron trigger '{call.ids[0]}'")


def show(call: Call) -> Reply:
    """Handle GET of a trigger, by its id or name."""
    return Reply(200, _find(call).body)


def delete(call: Call) -> Reply:
    """Handle DELETE of a trigger; reply with status 204."""
    _drop(call.cloud, _find(call))
    return Reply(204)


def triggers(call: Call) -> Reply:
    """Handle GET of the project's triggers."""
    return listed(call, TRIGGERS)


ROUTES: list[Route] = [
    ("GET", "/v2/cron_triggers", triggers),
    ("POST", "/v2/cron_triggers", create),
    ("GET", "/v2/cron_triggers/{}", show),
    ("DELETE", "/v2/cron_triggers/{}", delete),
]
