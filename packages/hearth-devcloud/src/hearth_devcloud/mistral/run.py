"""Running of workflow executions: tasks start, run actions, end, and lead to other tasks.

No function waits. Later steps are transitions that are scheduled in the store, or are triggered by
the response to an HTTP call.
"""

from __future__ import annotations

import json
from typing import Any

from hearth_devcloud.http import Body, Cloud, Refusal
from hearth_devcloud.mistral import actions, language, records
from hearth_devcloud.mistral.actions import Outcome
from hearth_devcloud.mistral.language import ENDS, WrongDefinition, WrongExpression
from hearth_devcloud.mistral.policies import (
    arguments_of,
    input_of,
    items_of,
    leads_to,
    needed,
    retry_after_s,
)
from hearth_devcloud.mistral.records import (
    change,
    execution_of,
    functions_of,
    later,
    new_action,
    tasks_of,
)
from hearth_devcloud.mistral.rest import ACTIONS, TASKS, bad, missing, workflow_of
from hearth_devcloud.store import Resource

TASKS_MAX = 1000  # of one execution: loops are allowed, endless ones are not
DEPTH_MAX = 10  # workflows in workflows
OPEN = ("IDLE", "RUNNING", "DELAYED", "PAUSED")


def start(
    cloud: Cloud,
    workflow: Resource,
    arguments: Body,
    params: Body,
    *,
    project_id: str | None,
    token: str,
    description: str = "",
    ident: str | None = None,
    parent: Resource | None = None,
    index: int = 0,
) -> Resource:
    """Create an execution of a workflow, schedule its first tasks, and return it.

    Raises Refusal if the input does not match the definition.
    """
    values = input_of(workflow, arguments, params)
    execution = records.new_execution(
        cloud,
        workflow,
        values,
        params,
        project_id=project_id,
        token=token,
        description=description,
        ident=ident,
        parent=parent,
        index=index,
    )
    later(cloud, execution, "workflow.begin")
    return execution


def begin(cloud: Cloud, execution: Resource) -> None:
    """Start the first tasks of an execution."""
    hidden = execution.hidden
    spec, tasks = hidden["spec"], hidden["spec"]["tasks"]
    try:
        values = language.evaluate(
            spec.get("vars") or {}, hidden["context"], functions_of(cloud, execution)
        )
    except WrongExpression as problem:
        finish(cloud, execution, "ERROR", str(problem))
        return
    hidden["context"] = {**hidden["context"], **values}
    hidden["reached"] = dict(hidden["context"])
    if spec.get("type") == "reverse":
        _go_back(cloud, execution)
        return
    led_to = {to for name in tasks for to in leads_to(spec, name)}
    for name in tasks:
        if name not in led_to:
            _enter(cloud, execution, name, hidden["context"], {})
    _look_for_end(cloud, execution)


# tasks


def _enter(cloud: Cloud, execution: Resource, name: str, context: Body, by: Body) -> None:
    """Start the task `name`, to which the task `by` leads.

    A task with `join` starts only when enough tasks have led to it.
    """
    spec = language.task_of(execution.hidden["spec"], name)
    join = spec.get("join")
    if join is None:
        _make(cloud, execution, name, spec, context)
        return
    tasks = [
        candidate for candidate in tasks_of(cloud, execution) if candidate.body["name"] == name
    ]
    if tasks and tasks[-1].body["state"] != "WAITING":
        return
    task = tasks[-1] if tasks else _make(cloud, execution, name, spec, context, state="WAITING")
    task.hidden["context"] = {**task.hidden["context"], **context}
    task.hidden["led"] = sorted({*task.hidden["led"], str(by.get("name"))})
    if len(task.hidden["led"]) >= needed(execution.hidden["spec"], name, join):
        _ready(cloud, execution, task)


def _make(
    cloud: Cloud, execution: Resource, name: str, spec: Body, context: Body, state: str = "IDLE"
) -> Resource:
    """Create a task and schedule it, unless its state is WAITING.

    If the execution has more than TASKS_MAX tasks, it fails.
    """
    execution.hidden["count"] += 1
    task = records.new_task(cloud, execution, name, spec, context, state)
    if execution.hidden["count"] > TASKS_MAX:
        finish(cloud, execution, "ERROR", f"The execution has more than {TASKS_MAX} tasks")
    elif state != "WAITING":
        _ready(cloud, execution, task)
    return task


def _ready(cloud: Cloud, execution: Resource, task: Resource) -> None:
    """Schedule a task, at once or after its `wait-before` time.

    If the task has `pause-before`, pause the execution; the task starts when it continues.
    """
    spec = task.hidden["spec"]
    change(cloud, task, "IDLE")
    if spec.get("pause-before") is True:
        _pause(cloud, execution)
    wait_s = spec.get("wait-before")
    if wait_s:
        change(cloud, task, "DELAYED")
    later(cloud, task, "workflow.task", float(wait_s or 0))


def again(cloud: Cloud, task: Resource) -> None:
    """Start the first or next attempt of a scheduled task, if its execution is running."""
    execution = execution_of(cloud, task)
    ready = task.body["state"] in ("IDLE", "DELAYED") and "ended" not in task.hidden
    if execution is not None and execution.body["state"] == "RUNNING" and ready:
        try:
            _act(cloud, execution, task)
        except (WrongExpression, WrongDefinition) as problem:
            _close(cloud, task, "ERROR", str(problem))


def _act(cloud: Cloud, execution: Resource, task: Resource) -> None:
    """Start an attempt of a task: prepare one call, or one for each of its items, and start them.

    A call runs an action or a sub-workflow.
    """
    hidden, spec = task.hidden, task.hidden["spec"]
    hidden["attempt"] += 1
    change(cloud, task, "RUNNING")
    functions = functions_of(cloud, execution, task)
    name, inline = language.call_of(str(spec.get("workflow") or spec.get("action") or "std.noop"))
    arguments = {**inline, **arguments_of(spec)}
    hidden["calls"] = []
    for data in items_of(spec, hidden["context"], functions):
        values = language.evaluate(arguments, {**hidden["context"], **data}, functions)
        called = language.evaluate(name, hidden["context"], functions)
        hidden["calls"].append({"name": called, "input": values, "state": None, "result": None})
    if spec.get("timeout"):
        hidden["deadline"] = cloud.store.time + float(spec["timeout"])
        later(cloud, task, "workflow.timeout", float(spec["timeout"]))
    if hidden["calls"]:
        _begin_calls(cloud, execution, task)
    else:
        _ended(cloud, task, "SUCCESS", [])


def _begin_calls(cloud: Cloud, execution: Resource, task: Resource) -> None:
    """Start further calls of a task, up to the number that may run concurrently."""
    calls = task.hidden["calls"]
    limit = int(task.hidden["spec"].get("concurrency") or len(calls))
    attempt = task.hidden["attempt"]
    for index, call in enumerate(calls):
        if task.body["state"] != "RUNNING" or task.hidden["attempt"] != attempt:
            return
        under_way = sum(1 for entry in calls if entry["state"] == "RUNNING")
        if call["state"] is None and under_way < limit:
            call["state"] = "RUNNING"
            if task.body["type"] == "WORKFLOW":
                _begin_workflow(cloud, execution, task, index)
            else:
                _begin_action(cloud, execution, task, index)


def _begin_workflow(cloud: Cloud, execution: Resource, task: Resource, index: int) -> None:
    call, project = task.hidden["calls"][index], execution.project_id
    space = execution.body["workflow_namespace"]
    params = {"env": execution.hidden["env"]} if execution.hidden["env"] else {}
    try:
        workflow = workflow_of(cloud.store, project, call["name"], space)
        workflow = workflow or workflow_of(cloud.store, project, call["name"])
        if workflow is None:
            raise missing(f"Workflow '{call['name']}'")
        if execution.hidden["depth"] >= DEPTH_MAX:
            raise bad(f"Workflows are nested more than {DEPTH_MAX} levels deep")
        start(
            cloud,
            workflow,
            call["input"],
            params,
            project_id=project,
            token=execution.hidden["token"],
            parent=task,
            index=index,
        )
    except Refusal as refusal:
        _call_ended(cloud, task, index, (False, refusal.message))


def _begin_action(cloud: Cloud, execution: Resource, task: Resource, index: int) -> None:
    call = task.hidden["calls"][index]
    about = {"index": index, "attempt": task.hidden["attempt"]}
    action = new_action(
        cloud,
        call["name"],
        call["input"],
        execution.project_id,
        execution.hidden["token"],
        task=task,
        **about,
    )
    run_action(cloud, action)


def run_action(cloud: Cloud, action: Resource) -> None:
    """Start an action; end it at once if it does not wait for an HTTP response."""
    outcome = actions.perform(cloud, action)
    if outcome is not None:
        action_ended(cloud, action, outcome)


def answered(cloud: Cloud, job: Resource) -> None:
    """Pass the response of an HTTP call to the action that requested the call."""
    action = cloud.store.get(ACTIONS, job.hidden["about"])
    if action is not None:
        outcome = actions.outcome_of(cloud, action, job)
        if outcome is not None:
            action_ended(cloud, action, outcome)


def action_ended(cloud: Cloud, action: Resource, outcome: Outcome) -> None:
    """End an action with its outcome, then continue the task that the action belongs to."""
    if action.body["state"] in ENDS:
        return
    good, result = outcome
    change(cloud, action, "SUCCESS" if good else "ERROR", None if good else str(result))
    action.body.update(accepted=True, output=json.dumps({"result": result}))
    task = cloud.store.get(TASKS, action.body["task_execution_id"])
    if task is not None and task.hidden["attempt"] == action.hidden["attempt"]:
        _call_ended(cloud, task, action.hidden["index"], outcome)


def _call_ended(cloud: Cloud, task: Resource, index: int, outcome: Outcome) -> None:
    if task.body["state"] != "RUNNING":
        return
    calls, spec = task.hidden["calls"], task.hidden["spec"]
    good, result = outcome
    calls[index].update(state="SUCCESS" if good else "ERROR", result=result)
    execution = execution_of(cloud, task)
    if execution is None:
        return
    if any(call["state"] is None for call in calls):
        _begin_calls(cloud, execution, task)
    if any(call["state"] in (None, "RUNNING") for call in calls):
        return
    failed = [str(call["result"]) for call in calls if call["state"] == "ERROR"]
    results = [call["result"] for call in calls]
    result = results if spec.get("with-items") else results[0]
    _ended(cloud, task, "ERROR" if failed else "SUCCESS", result, "\n".join(failed) or None)


def timeout(cloud: Cloud, task: Resource) -> None:
    """End a task that is still running after its timeout."""
    if task.body["state"] == "RUNNING" and task.hidden["deadline"] <= cloud.store.time:
        seconds = task.hidden["spec"]["timeout"]
        _ended(cloud, task, "ERROR", None, f"Task timed out [timeout(s)={seconds}].")


def _ended(cloud: Cloud, task: Resource, state: str, result: Any, info: str | None = None) -> None:
    """Continue a task whose calls have all ended: retry it, wait, or close it."""
    hidden, spec, execution = task.hidden, task.hidden["spec"], execution_of(cloud, task)
    if execution is None:
        return
    hidden["result"] = result
    functions = functions_of(cloud, execution, task)
    try:
        if spec.get("fail-on") and language.evaluate(spec["fail-on"], hidden["context"], functions):
            state, info = "ERROR", "Failed by 'fail-on' policy"
        pause_s = retry_after_s(task, state, functions)
    except (WrongExpression, WrongDefinition) as problem:
        _close(cloud, task, "ERROR", str(problem))
        return
    if pause_s is not None:
        change(cloud, task, "DELAYED", info)
        later(cloud, task, "workflow.task", pause_s)
    elif spec.get("wait-after"):
        hidden["ended"] = [state, info]
        change(cloud, task, "DELAYED", info)
        later(cloud, task, "workflow.end", float(spec["wait-after"]))
    else:
        _close(cloud, task, state, info)


def end_late(cloud: Cloud, task: Resource) -> None:
    """Close a task after its `wait-after` time."""
    if task.body["state"] == "DELAYED" and "ended" in task.hidden:
        _close(cloud, task, *task.hidden["ended"])


def _close(cloud: Cloud, task: Resource, state: str, info: str | None) -> None:
    """Close a task: set its final state, publish its variables, and start the tasks after it."""
    hidden, execution = task.hidden, execution_of(cloud, task)
    if execution is None:
        return
    published: Body = {}
    functions = functions_of(cloud, execution, task)
    try:
        for declared in language.publishing(hidden["spec"], state):
            published |= language.evaluate(declared, {**hidden["context"], **published}, functions)
    except WrongExpression as problem:
        state, info = "ERROR", str(problem)
    change(cloud, task, state, info)
    result = None if hidden["spec"].get("keep-result") is False else hidden["result"]
    task.body.update(result=json.dumps(result), published=json.dumps(published))
    hidden["context"] = {**hidden["context"], **published}
    execution.hidden["globals"] |= published
    execution.hidden["reached"] = {**execution.hidden["reached"], **hidden["context"]}
    if execution.body["state"] == "RUNNING":
        _lead_on(cloud, execution, task)


def _lead_on(cloud: Cloud, execution: Resource, task: Resource) -> None:
    task.body["processed"] = True
    spec, state = task.hidden["spec"], task.body["state"]
    if execution.hidden["spec"].get("type") == "reverse":
        _go_back(cloud, execution)
        return
    clauses = ("on-success" if state == "SUCCESS" else "on-error", "on-complete")
    try:
        for clause in clauses:
            for name, condition, arguments in language.moves(spec, clause):
                _move(cloud, execution, task, name, condition, arguments)
                if execution.body["state"] != "RUNNING":
                    return
    except WrongExpression as problem:
        finish(cloud, execution, "ERROR", str(problem))
        return
    _look_for_end(cloud, execution)


def _move(
    cloud: Cloud, execution: Resource, task: Resource, name: str, condition: Any, arguments: Body
) -> None:
    context, functions = task.hidden["context"], functions_of(cloud, execution, task)
    if condition is not None and not language.evaluate(condition, context, functions):
        return
    text = language.evaluate(arguments.get("msg") or "", context, functions)
    match name:
        case "fail":
            message = text or f"Fail command [task={task.body['name']}]"
            finish(cloud, execution, "ERROR", f"Workflow failed by direct command: {message}")
        case "succeed":
            finish(cloud, execution, "SUCCESS", text or None)
        case "pause":
            _pause(cloud, execution)
        case "noop":
            pass
        case _:
            _enter(cloud, execution, name, context, task.body)


def _go_back(cloud: Cloud, execution: Resource) -> None:
    """Start the tasks of a reverse workflow whose required tasks have succeeded."""
    hidden, tasks = execution.hidden, execution.hidden["spec"]["tasks"]
    tasks_by_name = {task.body["name"]: task for task in tasks_of(cloud, execution)}
    done = {name for name, task in tasks_by_name.items() if task.body["state"] == "SUCCESS"}
    if all(task.body["state"] != "ERROR" for task in tasks_by_name.values()):
        todo, names = [hidden["params"]["task_name"]], set()
        while todo:
            name = todo.pop()
            if name not in names:
                names.add(name)
                todo += language.as_list(language.task_of(hidden["spec"], name).get("requires"))
        for name in tasks:
            spec = language.task_of(hidden["spec"], name)
            needs = language.as_list(spec.get("requires"))
            if name in names and name not in tasks_by_name and done.issuperset(needs):
                _make(cloud, execution, name, spec, hidden["reached"])
    _look_for_end(cloud, execution)


# executions


def _look_for_end(cloud: Cloud, execution: Resource) -> None:
    """End an execution if none of its tasks can continue.

    It fails if a task without `on-error` has failed.
    """
    tasks = tasks_of(cloud, execution)
    if execution.body["state"] != "RUNNING" or any(task.body["state"] in OPEN for task in tasks):
        return
    for task in tasks:
        if task.body["state"] == "WAITING":
            change(cloud, task, "ERROR", "Fewer tasks have led to this task than its join requires")
    failed = [
        f"{task.body['name']} [task_ex_id={task.id}] -> {task.body['state_info']}"
        for task in tasks
        if task.body["state"] == "ERROR" and not language.moves(task.hidden["spec"], "on-error")
    ]
    if failed:
        names = ", ".join(task.partition(" ")[0] for task in failed)
        message = "\n".join([f"Failure caused by error in tasks: {names}", "", *failed])
        finish(cloud, execution, "ERROR", message)
    else:
        finish(cloud, execution, "SUCCESS", None)


def finish(cloud: Cloud, execution: Resource, state: str, info: str | None) -> None:
    """End an execution with a state and its output.

    If it is a sub-workflow, this also ends the call of the parent task that started it.
    """
    hidden = execution.hidden
    outputs = hidden["spec"].get("output" if state == "SUCCESS" else "output-on-error") or {}
    output: Body = {}
    try:
        output = language.evaluate(outputs, hidden["reached"], functions_of(cloud, execution))
    except WrongExpression as problem:
        state, info = "ERROR", "\n".join(filter(None, [info, str(problem)]))
    if state == "ERROR":
        output = {**output, "result": info}
    change(cloud, execution, state, info)
    execution.body["output"] = json.dumps(output)
    task = cloud.store.get(TASKS, execution.body["task_execution_id"])
    if task is not None:
        good = state == "SUCCESS"
        _call_ended(cloud, task, hidden["index"], (good, output if good else info or state))


def _pause(cloud: Cloud, execution: Resource) -> None:
    change(cloud, execution, "PAUSED")


def set_state(cloud: Cloud, execution: Resource, state: str, info: str | None) -> None:
    """Pause, continue or end an execution: set the state that a user requests.

    Raises Refusal 400 if the change is not possible.
    """
    now = execution.body["state"]
    if now in ENDS:
        raise bad(f"Can't change workflow execution state from {now} to {state}.")
    match state:
        case "PAUSED":
            _pause(cloud, execution)
        case "RUNNING" if now == "PAUSED":
            _go_on(cloud, execution)
        case "RUNNING":
            pass
        case _ if state in ENDS:
            finish(cloud, execution, state, info)
        case _:
            raise bad(f"Cannot change state to {state}. Allowed: RUNNING, PAUSED, {sorted(ENDS)}")


def _go_on(cloud: Cloud, execution: Resource) -> None:
    change(cloud, execution, "RUNNING")
    for task in tasks_of(cloud, execution):
        if task.body["state"] in ("IDLE", "DELAYED"):
            later(cloud, task, "workflow.task")
        elif task.body["state"] in ENDS and not task.body["processed"]:
            _lead_on(cloud, execution, task)
    _look_for_end(cloud, execution)
