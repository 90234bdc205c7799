"""Functions that all handlers of Mistral share: parsing of requests, lookup, lists, errors."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.listing import filtered, ordered, page
from hearth_devcloud.store import Resource, Store

WORKFLOWS = "workflow.workflows"
EXECUTIONS = "workflow.executions"
TASKS = "workflow.tasks"
ACTIONS = "workflow.action_executions"
TRIGGERS = "workflow.cron_triggers"
_CONTROLS = frozenset(
    {"limit", "marker", "fields", "sort_keys", "sort_dirs", "include_output", "all_projects"}
)


def stamp(at: float) -> str:
    """Return a time in seconds since 1970 as UTC text like `2026-01-01 00:00:00`."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")


def bad(message: str) -> Refusal:
    """Return a Refusal with status 400 and this message."""
    return Refusal(400, "Bad Request", message)


def missing(kind: str) -> Refusal:
    """Return a Refusal with status 404; `kind` describes the missing object."""
    return Refusal(404, "Not Found", f"{kind} not found")


def document(call: Call, fields: Collection[str]) -> Body:
    """Return the JSON object in the body. Raises Refusal 400 if it has other fields than these."""
    request = call.json()
    if not isinstance(request, dict):
        raise bad("The body must be an object.")
    if unknown := sorted(request.keys() - set(fields)):
        raise bad(f"Unknown attributes: {', '.join(unknown)}")
    return request


def mapping(attributes: Body, name: str) -> Body:
    """Return the object in the field `name` of a body; it may be given as JSON text.

    A missing field is an empty object. Raises Refusal 400 for other values.
    """
    value = attributes.get(name)
    if value is None or value == "":
        return {}
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise bad(f"{name} must be an object")
    return parsed


def mine(call: Call, table: str, ident: str, kind: str) -> Resource:
    """Return the object `ident` of a table, if it belongs to the caller's project.

    Otherwise raise Refusal 404, in which `kind` is the type of the object.
    """
    record = call.cloud.store.get(table, ident)
    if record is None or record.project_id != call.caller.project_id:
        raise missing(f"{kind} '{ident}'")
    return record


def workflow_of(
    store: Store, project_id: str | None, name: str, space: str = ""
) -> Resource | None:
    """Return a workflow by its id, or by its name in the namespace `space`.

    Return None if there is none that is public or belongs to the project.
    """
    workflow = store.get(WORKFLOWS, name)
    if workflow is None:
        workflow = next(
            (
                candidate
                for candidate in store.where(WORKFLOWS, name=name, namespace=space)
                if candidate.project_id == project_id or candidate.body["scope"] == "public"
            ),
            None,
        )
    if workflow is None or (
        workflow.project_id != project_id and workflow.body["scope"] != "public"
    ):
        return None
    return workflow


def listed(call: Call, table: str, **fields: Any) -> Reply:
    """Handle GET of a collection: list the project's objects that have the fields `fields`."""
    records = call.cloud.store.where(table, **fields)
    own_records = [record for record in records if record.project_id == call.caller.project_id]
    chosen, has_next = page(ordered(filtered(own_records, call.query, _CONTROLS), call), call)
    plural = table.partition(".")[2]
    body: Body = {plural: [record.body for record in chosen]}
    if has_next:
        limit = call.argument("limit")
        body["next"] = f"{call.base}/workflow{call.path}?marker={chosen[-1].id}&limit={limit}"
    return Reply(200, body)
