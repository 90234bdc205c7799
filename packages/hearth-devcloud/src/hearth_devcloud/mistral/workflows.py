"""The API of workflows, which are stored workflow definitions with a name."""

from __future__ import annotations

from hearth_devcloud.http import Body, Call, Refusal, Reply, Route
from hearth_devcloud.mistral.language import WrongDefinition, read, shown_input
from hearth_devcloud.mistral.rest import (
    TRIGGERS,
    WORKFLOWS,
    bad,
    listed,
    missing,
    stamp,
    workflow_of,
)
from hearth_devcloud.store import Resource


def create(call: Call) -> Reply:
    """Handle POST of a definition: create its workflows; reply with status 201.

    Reply with status 409 if a workflow of this name exists in the project.
    """
    specs, space = _given(call), _space(call)
    for name in specs:
        if call.cloud.store.where(WORKFLOWS, name=name, namespace=space, **_own(call)):
            raise Refusal(409, "Conflict", f"Duplicate entry for WorkflowDefinition['{name}']")
    workflows = [call.cloud.store.insert(_new(call, name, spec)) for name, spec in specs.items()]
    return Reply(201, {"workflows": [workflow.body for workflow in workflows]})


def update(call: Call) -> Reply:
    """Handle PUT of a definition: replace existing workflows.

    If the path contains the id or name of a workflow, the definition must have only this one.
    """
    specs, updates = _given(call), []
    if call.ids and len(specs) > 1:
        raise bad("More than one workflows are not supported for update with identifier.")
    for name, spec in specs.items():
        workflow = workflow_of(
            call.cloud.store, call.caller.project_id, *call.ids or (name, _space(call))
        )
        if workflow is None or workflow.project_id != call.caller.project_id:
            raise missing(f"Workflow '{name}'")
        updates.append((workflow, name, spec))
    for workflow, name, spec in updates:
        fields = {key: workflow.body[key] for key in ("id", "created_at", "namespace")}
        new = _new(call, name, spec)
        workflow.body.update({**new.body, **fields})
        workflow.hidden.update(new.hidden)
    return Reply(200, {"workflows": [workflow.body for workflow, _, _ in updates]})


def validate(call: Call) -> Reply:
    """Handle POST of a definition for validation; nothing is stored."""
    try:
        read(call.raw.decode())
    except (WrongDefinition, UnicodeDecodeError) as problem:
        return Reply(200, {"valid": False, "error": str(problem)})
    return Reply(200, {"valid": True})


def _own(call: Call) -> Body:
    return {"project_id": call.caller.project_id}


def _space(call: Call) -> str:
    return call.argument("namespace") or ""


def _given(call: Call) -> dict[str, Body]:
    kind = (call.headers.get("Content-Type") or "").partition(";")[0]
    if kind != "text/plain":
        raise Refusal(415, "Unsupported Media Type", "The definition must be text/plain.")
    try:
        return read(call.raw.decode())
    except (WrongDefinition, UnicodeDecodeError) as problem:
        raise bad(str(problem)) from None


def _new(call: Call, name: str, spec: Body) -> Resource:
    scope = call.argument("scope") or "private"
    if scope not in ("private", "public"):
        raise bad(f"scope must be private or public, not {scope}")
    now, ident = stamp(call.cloud.store.time), call.cloud.store.new_id()
    body: Body = {
        "id": ident,
        "name": name,
        "namespace": _space(call),
        "input": shown_input(spec),
        "definition": call.raw.decode(),
        "tags": list(spec.get("tags") or []),
        "scope": scope,
        "project_id": call.caller.project_id,
        "created_at": now,
        "updated_at": now,
    }
    return Resource(
        ident, WORKFLOWS, call.caller.project_id, body, {"spec": {**spec, "name": name}}
    )


def _find(call: Call) -> Resource:
    workflow = workflow_of(call.cloud.store, call.caller.project_id, call.ids[0], _space(call))
    if workflow is None:
        raise missing(f"Workflow '{call.ids[0]}'")
    return workflow


def show(call: Call) -> Reply:
    """Handle GET of a workflow, by its id or name."""
    return Reply(200, _find(call).body)


def delete(call: Call) -> Reply:
    """Handle DELETE of a workflow; reply with status 204, or 403 if it has cron triggers."""
    workflow = _find(call)
    if workflow.project_id != call.caller.project_id:
        raise Refusal(403, "Forbidden", f"Workflow '{call.ids[0]}' belongs to another project")
    if call.cloud.store.where(TRIGGERS, workflow_id=workflow.id):
        raise Refusal(403, "Forbidden", f"Workflow '{workflow.body['name']}' has cron triggers")
    call.cloud.store.remove(workflow)
    return Reply(204)


def workflows(call: Call) -> Reply:
    """Handle GET of the project's workflows."""
    return listed(call, WORKFLOWS)


ROUTES: list[Route] = [
    ("GET", "/v2/workflows", workflows),
    ("POST", "/v2/workflows", create),
    ("PUT", "/v2/workflows", update),
    ("POST", "/v2/workflows/validate", validate),
    ("GET", "/v2/workflows/{}", show),
    ("PUT", "/v2/workflows/{}", update),
    ("DELETE", "/v2/workflows/{}", delete),
]
