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
from hearth_devcloud.store import Thing

_FIELDS = {
    "id", "workflow_id", "workflow_name", "workflow_namespace", "input", "params", "description",
}  # fmt: skip


def create(call: Call) -> Reply:
    """Handle POST of an execution: start a workflow; reply with status 201 and the execution.

    If the request has the id of an execution of the project, reply with this execution.
    """
    given = document(call, _FIELDS)
    name = given.get("workflow_id") or given.get("workflow_name")
    if not name:
        raise bad("Workflow ID or workflow name must be provided. Workflow ID is recommended.")
    store, caller, ident = call.cloud.store, call.caller, given.get("id")
    if ident and (there := store.get(EXECUTIONS, ident)) is not None:
        if there.project_id != caller.project_id:
            raise Refusal(409, "Conflict", f"Duplicate entry for WorkflowExecution['{ident}']")
        return Reply(201, there.body)
    space = given.get("workflow_namespace") or ""
    workflow = workflow_of(store, caller.project_id, str(name), space)
    if workflow is None:
        raise missing(f"Workflow '{name}'")
    made = run.start(
        call.cloud, workflow, mapping(given, "input"), mapping(given, "params"), ident=ident,
        project_id=caller.project_id, token=caller.token,
        description=str(given.get("description") or ""),
    )  # fmt: skip
    return Reply(201, made.body)


def executions(call: Call) -> Reply:
    """Handle GET of the project's executions."""
    return listed(call, EXECUTIONS)


def _execution(call: Call) -> Thing:
    return mine(call, EXECUTIONS, call.ids[0], "Workflow execution")


def show(call: Call) -> Reply:
    """Handle GET of an execution."""
    return Reply(200, _execution(call).body)


def change(call: Call) -> Reply:
    """Handle PUT of an execution: change its state, description or environment."""
    given, one = document(call, {"state", "state_info", "description", "params"}), _execution(call)
    params = mapping(given, "params")
    if "env" in params:
        one.hidden["env"] = {**one.hidden["env"], **params["env"]}
    if "description" in given:
        one.body["description"] = given["description"]
    if given.get("state"):
        run.set_state(call.cloud, one, given["state"], given.get("state_info"))
    return Reply(200, one.body)


def delete(call: Call) -> Reply:
    """Handle DELETE of an execution; reply with status 204.

    An execution that has not ended is only deleted with the argument `force`.
    """
    one = _execution(call)
    forced = (call.argument("force") or "").lower() in ("true", "1")
    if one.body["state"] not in ENDS and not forced:
        words = f"Only completed executions can be deleted. Use force; state: {one.body['state']}"
        raise Refusal(403, "Forbidden", words)
    _drop(call, one)
    return Reply(204)


def _drop(call: Call, execution: Thing) -> None:
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
    given = document(call, {"name", "input", "description", "params"})
    if not given.get("name"):
        raise bad("Please provide at least action name to run action.")
    caller = call.caller
    made = records.new_action(
        call.cloud, str(given["name"]), mapping(given, "input"), caller.project_id, caller.token
    )
    run.run_action(call.cloud, made)
    return Reply(201, made.body)


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
    one = mine(call, ACTIONS, call.ids[0], "Action execution")
    if one.body["task_execution_id"] is not None or one.body["state"] not in ENDS:
        raise Refusal(403, "Forbidden", "Only completed executions without a task can be deleted")
    call.cloud.store.remove(one)
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
