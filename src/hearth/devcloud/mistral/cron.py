"""Cron triggers: times at which a workflow starts by itself."""

from __future__ import annotations

import contextlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hearth.devcloud.http import Body, Call, Cloud, Refusal, Reply, Route
from hearth.devcloud.keystone import delegation
from hearth.devcloud.mistral import run
from hearth.devcloud.mistral.rest import (
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
from hearth.devcloud.store import Thing

SERVICE_USER = "mistral"
FIELDS = {
    "name", "workflow_name", "workflow_id", "workflow_input", "workflow_params", "pattern",
    "first_execution_time", "remaining_executions", "scope",
}  # fmt: skip
BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
LOOK_AHEAD = timedelta(days=366 * 5)
_PART = re.compile(r"(\*|\d+)(?:-(\d+))?(?:/(\d+))?")


class Pattern:
    """Five fields of a cron line; raises ValueError for what is none."""

    def __init__(self, text: str) -> None:
        fields = text.split()
        if len(fields) != len(BOUNDS):
            raise ValueError(f"Exactly 5 columns are needed: {text}")
        self._any = [field == "*" for field in fields]
        given = zip(fields, BOUNDS, strict=True)
        self._sets = [self._numbers(field, *bounds) for field, bounds in given]
        self._sets[4] = {day % 7 for day in self._sets[4]}

    @staticmethod
    def _numbers(field: str, low: int, high: int) -> set[int]:
        found: set[int] = set()
        for part in field.split(","):
            read = _PART.fullmatch(part)
            if read is None:
                raise ValueError(f"{part} is no part of a cron pattern")
            first = low if read[1] == "*" else int(read[1])
            alone = read[1] != "*" and read[2] is None and read[3] is None
            last = first if alone else int(read[2] or high)
            if not low <= first <= last <= high:
                raise ValueError(f"{part} is outside {low}-{high}")
            found |= set(range(first, last + 1, int(read[3] or 1) or 1))
        return found

    def after(self, at: float) -> float:
        """The first time after `at` that it matches. Raises ValueError where there is none."""
        moment = datetime.fromtimestamp(at, UTC).replace(second=0, microsecond=0)
        moment += timedelta(minutes=1)
        end = moment + LOOK_AHEAD
        minutes, hours, _, months, _ = self._sets
        while moment < end:
            if moment.month not in months or not self._on(moment):
                moment = moment.replace(hour=0, minute=0) + timedelta(days=1)
            elif moment.hour not in hours:
                moment = moment.replace(minute=0) + timedelta(hours=1)
            elif moment.minute not in minutes:
                moment += timedelta(minutes=1)
            else:
                return moment.timestamp()
        raise ValueError("The pattern matches no time")

    def _on(self, moment: datetime) -> bool:
        """Of the two kinds of days one is enough where both are given."""
        of_month = moment.day in self._sets[2]
        of_week = moment.isoweekday() % 7 in self._sets[4]
        if self._any[2] or self._any[4]:
            return of_month and of_week
        return of_month or of_week


def create(call: Call) -> Reply:
    """POST: 201; 409 where the project has one of that name."""
    given, store, caller = document(call, FIELDS), call.cloud.store, call.caller
    name, wanted = given.get("name"), given.get("workflow_id") or given.get("workflow_name")
    if not name or not isinstance(name, str):
        raise bad("name is needed")
    workflow = workflow_of(store, caller.project_id, str(wanted))
    if workflow is None:
        raise missing(f"Workflow '{wanted}'")
    if store.where(TRIGGERS, name=name, project_id=caller.project_id):
        raise Refusal(409, "Conflict", f"Duplicate entry for CronTrigger['{name}']")
    count, first = given.get("remaining_executions"), given.get("first_execution_time")
    if count is not None and (type(count) is not int or count < 1):
        raise bad("remaining_executions must be a number from 1 on")
    if not given.get("pattern") and (not first or count not in (None, 1)):
        raise bad("Pattern or first_execution_time must be specified; only the first with a count.")
    try:
        due = _first(first) if first else Pattern(given["pattern"]).after(store.time)
        Pattern(given.get("pattern") or "* * * * *")
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
        "workflow_input": json.dumps(mapping(given, "workflow_input")),
        "workflow_params": json.dumps(mapping(given, "workflow_params")),
        "scope": given.get("scope") or "private",
        "pattern": given.get("pattern"),
        "remaining_executions": count if given.get("pattern") else 1,
        "first_execution_time": stamp(due) if first else None,
        "next_execution_time": stamp(due),
        "project_id": caller.project_id,
        "created_at": now,
        "updated_at": now,
    }
    trust = delegation.entrust(call.cloud, caller, SERVICE_USER)
    made = Thing(ident, TRIGGERS, caller.project_id, body, {"trust_id": trust.id, "due": due})
    _arm(call.cloud, store.insert(made))
    return Reply(201, body)


def _first(text: Any) -> float:
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.strptime(str(text), form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise ValueError(f"{text} is not like 2026-01-31 12:00")


def _arm(cloud: Cloud, trigger: Thing) -> None:
    after_s = trigger.hidden["due"] - cloud.store.time
    cloud.store.later(after_s, trigger, "workflow.fire")
    cloud.wake(after_s)


def fire(cloud: Cloud, trigger: Thing) -> None:
    """Its time has come: the workflow starts; the trigger goes with its last one."""
    body, store = trigger.body, cloud.store
    workflow = store.get(WORKFLOWS, body["workflow_id"])
    token = delegation.token(cloud, SERVICE_USER, trigger.hidden["trust_id"])
    if workflow is not None and token is not None:
        with contextlib.suppress(Refusal):  # of an input that does not fit any more
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
    left = body["remaining_executions"]
    if left == 1 or not body["pattern"]:
        _drop(cloud, trigger)
        return
    due = Pattern(body["pattern"]).after(store.time)
    body.update(
        remaining_executions=None if left is None else left - 1,
        next_execution_time=stamp(due),
        updated_at=stamp(store.time),
    )
    trigger.hidden["due"] = due
    _arm(cloud, trigger)


def _drop(cloud: Cloud, trigger: Thing) -> None:
    delegation.end(cloud, trigger.hidden["trust_id"])
    cloud.store.remove(trigger)


def _find(call: Call) -> Thing:
    for one in call.cloud.store.where(TRIGGERS, project_id=call.caller.project_id):
        if call.ids[0] in (one.id, one.body["name"]):
            return one
    raise missing(f"Cron trigger '{call.ids[0]}'")


def show(call: Call) -> Reply:
    """GET of one, by its id or name."""
    return Reply(200, _find(call).body)


def delete(call: Call) -> Reply:
    """DELETE of one: 204."""
    _drop(call.cloud, _find(call))
    return Reply(204)


def triggers(call: Call) -> Reply:
    """GET of the project's."""
    return listed(call, TRIGGERS)


ROUTES: list[Route] = [
    ("GET", "/v2/cron_triggers", triggers),
    ("POST", "/v2/cron_triggers", create),
    ("GET", "/v2/cron_triggers/{}", show),
    ("DELETE", "/v2/cron_triggers/{}", delete),
]
