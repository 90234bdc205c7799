"""Functions that all handlers of Mistral share: parsing of requests, lookup, lists, errors."""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from hearth_devcloud.http import Body, Call, Refusal, Reply
from hearth_devcloud.listing import filtered, ordered, page
from hearth_devcloud.store import Store, Thing

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


def missing(what: str) -> Refusal:
    """Return a Refusal with status 404; `what` describes the missing object."""
    return Refusal(404, "Not Found", f"{what} not found")


def document(call: Call, fields: Collection[str]) -> Body:
    """Return the JSON object in the body. Raises Refusal 400 if it has other fields than these."""
    given = call.json()
    if not isinstance(given, dict):
        raise bad("The body must be an object.")
    if unknown := sorted(given.keys() - set(fields)):
        raise bad(f"Unknown attributes: {', '.join(unknown)}")
    return given


def mapping(given: Body, name: str) -> Body:
    """Return the object in the field `name` of a body; it may be given as JSON text.

    A missing field is an empty object. Raises Refusal 400 for other values.
    """
    value = given.get(name)
    if value is None or value == "":
        return {}
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise bad(f"{name} must be an object")
    return found


def mine(call: Call, table: str, ident: str, what: str) -> Thing:
    """Return the object `ident` of a table, if it belongs to the caller's project.

    Otherwise raise Refusal 404, in which `what` is the type of the object.
    """
    found = call.cloud.store.get(table, ident)
    if found is None or found.project_id != call.caller.project_id:
        raise missing(f"{what} '{ident}'")
    return found


def workflow_of(store: Store, project_id: str | None, name: str, space: str = "") -> Thing | None:
    """Return a workflow by its id, or by its name in the namespace `space`.

    Return None if there is none that is public or belongs to the project.
    """
    found = store.get(WORKFLOWS, name)
    if found is None:
        found = next(
            (
                one
                for one in store.where(WORKFLOWS, name=name, namespace=space)
                if one.project_id == project_id or one.body["scope"] == "public"
            ),
            None,
        )
    if found is None or (found.project_id != project_id and found.body["scope"] != "public"):
        return None
    return found


def listed(call: Call, table: str, **wanted: Any) -> Reply:
    """Handle GET of a collection: list the project's objects that have the fields `wanted`."""
    found = call.cloud.store.where(table, **wanted)
    own = [one for one in found if one.project_id == call.caller.project_id]
    chosen, more = page(ordered(filtered(own, call.query, _CONTROLS), call), call)
    plural = table.partition(".")[2]
    body: Body = {plural: [one.body for one in chosen]}
    if more:
        limit = call.argument("limit")
        body["next"] = f"{call.base}/workflow{call.path}?marker={chosen[-1].id}&limit={limit}"
    return Reply(200, body)
