"""The API of workflow executions, tasks and action executions."""

from __future__ import annotations

from hearth_devcloud.http import Call, Refusal, Reply, Route
from hearth_devcloud.mistral import records, run
from hearth_devcloud.mistral.language import ENDS
from hearth_devcloud.mistral.rest import (
    ACTIONS,
    EXECUTIONS,
    TASKS,
    bad,
    document,
    listed,
    mapping,
    mine,
    missing,
    workflow_of,
)
from hearth_devcloud.store import Resource

_FIELDS = {
    "id",
    "workflow_id",
    "workflow_name",
    "workflow_namespace",
    "input",
    "params",
    "description",
}


def create(call: Call) -> Reply:
    """Handle POST of an execution: start a workflow; reply with status 201 and the execution.

    If the request has the id of an execution of the project, reply with this execution.
    """
    attributes = document(call, _FIELDS)
    name = attributes.get("workflow_id") or attributes.get("workflow_name")
    if not name:
        raise bad("Workflow ID or workflow name must be provided. Workflow ID is recommended.")
    store, caller, ident = call.cloud.store, call.caller, attributes.get("id")
    if ident and (existing := store.get(EXECUTIONS, ident)) is not None:
        if existing.project_id != caller.project_id:
            raise Refusal(409, "Conflict", f"Duplicate entry for WorkflowExecution['{ident}']")
        return Reply(201, existing.body)
    space = attributes.get("workflow_namespace") or ""
    workflow = workflow_of(store, caller.project_id, str(name), space)
    if workflow is None:
        raise missing(f"Workflow '{name}'")
    execution = run.start(
        call.cloud,
        workflow,
        mapping(attributes, "input"),
        mapping(attributes, "params"),
        ident=ident,
        project_id=caller.project_id,
        token=caller.token,
        description=str(attributes.get("description") or ""),
    )
    return Reply(201, execution.body)


def executions(call: Call) -> Reply:
    """Handle GET of the project's executions."""
    return listed(call, EXECUTIONS)


def _execution(call: Call) -> Resource:
    return mine(call, EXECUTIONS, call.ids[0], "Workflow execution")


def show(call: Call) -> Reply:
    """Handle GET of an execution."""
    return Reply(200, _execution(call).body)


def change(call: Call) -> Reply:
    """Handle PUT of an execution: change its state, description or environment."""
    attributes, execution = (
        document(call, {"state", "state_info", "description", "params"}),
        _execution(call),
    )
    params = mapping(attributes, "params")
    if "env" in params:
        execution.hidden["env"] = {**execution.hidden["env"], **params["env"]}
    if "description" in attributes:
        execution.body["description"] = attributes["description"]
    if attributes.get("state"):
        run.set_state(call.cloud, execution, attributes["state"], attributes.get("state_info"))
    return Reply(200, execution.body)


def delete(call: Call) -> Reply:
    """Handle DELETE of an execution; reply with status 204.

    An execution that has not ended is only deleted with the argument `force`.
    """
    execution = _execution(call)
    forced = (call.argument("force") or "").lower() in ("true", "1")
    if execution.body["state"] not in ENDS and not forced:
        message = (
            f"Only completed executions can be deleted. Use force; state: {execution.body['state']}"
        )
        raise Refusal(403, "Forbidden", message)
    _drop(call, execution)
    return Reply(204)


def _drop(call: Call, execution: Resource) -> None:
    store = call.cloud.store
    for task in store.where(TASKS, workflow_execution_id=execution.id):
        for action in store.where(ACTIONS, task_execution_id=task.id):
            store.remove(action)
        for below in store.where(EXECUTIONS, task_execution_id=task.id):
            _drop(call, below)
        store.remove(task)
    store.remove(execution)


def tasks_of(call: Call) -> Reply:
    """Handle GET of the tasks of an execution."""
    return listed(call, TASKS, workflow_execution_id=_execution(call).id)


def tasks(call: Call) -> Reply:
    """Handle GET of all tasks of the project."""
    return listed(call, TASKS)


def task(call: Call) -> Reply:
    """Handle GET of a task."""
    return Reply(200, mine(call, TASKS, call.ids[0], "Task execution").body)


def actions_of(call: Call) -> Reply:
    """Handle GET of the action executions of a task."""
    of = mine(call, TASKS, call.ids[0], "Task execution")
    return listed(call, ACTIONS, task_execution_id=of.id)


def act(call: Call) -> Reply:
    """Handle POST of an action execution: run an action without a task; reply with status 201.

    If the action makes a call, its result is available later.
    """
    attributes = document(call, {"name", "input", "description", "params"})
    if not attributes.get("name"):
        raise bad("Please provide at least action name to run action.")
    caller = call.caller
    action = records.new_action(
        call.cloud,
        str(attributes["name"]),
        mapping(attributes, "input"),
        caller.project_id,
        caller.token,
    )
    run.run_action(call.cloud, action)
    return Reply(201, action.body)


def acts(call: Call) -> Reply:
    """Handle GET of all action executions of the project."""
    return listed(call, ACTIONS)


def shown_act(call: Call) -> Reply:
    """Handle GET of an action execution."""
    return Reply(200, mine(call, ACTIONS, call.ids[0], "Action execution").body)


def drop_act(call: Call) -> Reply:
    """Handle DELETE of an action execution that has ended and belongs to no task.

    Reply with status 204.
    """
    action = mine(call, ACTIONS, call.ids[0], "Action execution")
    if action.body["task_execution_id"] is not None or action.body["state"] not in ENDS:
        raise Refusal(403, "Forbidden", "Only completed executions without a task can be deleted")
    call.cloud.store.remove(action)
    return Reply(204)


ROUTES: list[Route] = [
    ("POST", "/v2/executions", create),
    ("GET", "/v2/executions", executions),
    ("GET", "/v2/executions/{}", show),
    ("PUT", "/v2/executions/{}", change),
    ("DELETE", "/v2/executions/{}", delete),
    ("GET", "/v2/executions/{}/tasks", tasks_of),
    ("GET", "/v2/tasks", tasks),
    ("GET", "/v2/tasks/{}", task),
    ("GET", "/v2/tasks/{}/action_executions", actions_of),
    ("POST", "/v2/action_executions", act),
    ("GET", "/v2/action_executions", acts),
    ("GET", "/v2/action_executions/{}", shown_act),
    ("DELETE", "/v2/action_executions/{}", drop_act),
]
