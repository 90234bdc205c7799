"""How an execution goes on: tasks begin, act, end, and lead to others.

Nothing here waits: what comes later is in the store's agenda, or is the answer to an errand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hearth.devcloud.http import Body, Cloud
from hearth.devcloud.mistral import actions, language
from hearth.devcloud.mistral.actions import Outcome
from hearth.devcloud.mistral.language import ENDS, WrongDefinition, WrongExpression
from hearth.devcloud.mistral.rest import (
    ACTIONS,
    EXECUTIONS,
    TASKS,
    bad,
    missing,
    stamp,
    workflow_of,
)
from hearth.devcloud.store import Thing

TASKS_MAX = 1000  # of one execution: loops are allowed, endless ones are not
DEPTH_MAX = 10  # workflows in workflows
OPEN = ("IDLE", "RUNNING", "DELAYED", "PAUSED")


def start(
    cloud: Cloud,
    workflow: Thing,
    given: Body,
    params: Body,
    *,
    project_id: str | None,
    token: str,
    description: str = "",
    ident: str | None = None,
    parent: Thing | None = None,
    index: int = 0,
) -> Thing:
    """A new execution, RUNNING. Raises Refusal where the input does not fit."""
    spec, store = workflow.hidden["spec"], cloud.store
    wanted = language.inputs(spec)
    lacking = [n for n, (has, _) in wanted.items() if not has and n not in given]
    unknown = [n for n in given if n not in wanted]
    if lacking or unknown:
        words = f"workflow={workflow.body['name']}, unexpected={unknown}, missing={lacking}"
        raise bad(f"Invalid input [{words}]")
    if not isinstance(params.get("env", {}), dict):
        raise bad("params: env must be an object")
    if spec.get("type") == "reverse" and params.get("task_name") not in spec["tasks"]:
        raise bad("A reverse workflow needs a task of its own in params: task_name")
    values = {n: given.get(n, default) for n, (_, default) in wanted.items()}
    now, ident = stamp(store.time), ident or store.new_id()
    above = store.get(EXECUTIONS, parent.body["workflow_execution_id"]) if parent else None
    body: Body = {
        "id": ident,
        "workflow_id": workflow.id,
        "workflow_name": workflow.body["name"],
        "workflow_namespace": workflow.body["namespace"],
        "description": description,
        "params": json.dumps(params),
        "input": json.dumps(values),
        "output": "{}",
        "state": "RUNNING",
        "state_info": None,
        "task_execution_id": parent.id if parent else None,
        "root_execution_id": (above.body["root_execution_id"] or above.id) if above else None,
        "project_id": project_id,
        "created_at": now,
        "updated_at": now,
    }
    hidden: Body = {
        "spec": spec,
        "env": params.get("env") or {},
        "params": params,
        "context": values,
        "reached": {},
        "globals": {},
        "count": 0,
        "depth": above.hidden["depth"] + 1 if above else 0,
        "token": token,
        "index": index,
    }
    # history: nobody deletes it along with what it was about
    made = store.insert(Thing(ident, EXECUTIONS, project_id, body, hidden), implicit=True)
    _later(cloud, made, "workflow.begin")
    return made


def _later(cloud: Cloud, thing: Thing, transition: str, after_s: float = 0.0) -> None:
    cloud.store.later(after_s, thing, transition)
    cloud.wake(after_s)


def begin(cloud: Cloud, execution: Thing) -> None:
    """Its first tasks."""
    hidden = execution.hidden
    spec, tasks = hidden["spec"], hidden["spec"]["tasks"]
    try:
        found = language.evaluate(
            spec.get("vars") or {}, hidden["context"], _words(cloud, execution)
        )
    except WrongExpression as problem:
        finish(cloud, execution, "ERROR", str(problem))
        return
    hidden["context"] = {**hidden["context"], **found}
    hidden["reached"] = dict(hidden["context"])
    if spec.get("type") == "reverse":
        _go_back(cloud, execution)
        return
    led_to = {to for name in tasks for to in _leads_to(spec, name)}
    for name in tasks:
        if name not in led_to:
            _enter(cloud, execution, name, hidden["context"], {})
    _look_for_end(cloud, execution)


def _leads_to(spec: Body, name: str) -> set[str]:
    task = language.task_of(spec, name)
    return {to for clause in language.CLAUSES for to, _, _ in language.moves(task, clause)}


def _words(
    cloud: Cloud, execution: Thing, task: Thing | None = None
) -> Mapping[str, Callable[..., Any]]:
    """The functions that expressions know."""
    hidden = execution.hidden

    def one(name: str | None = None) -> Body | None:
        found = task if name is None else None
        for other in cloud.store.where(TASKS, workflow_execution_id=execution.id):
            found = other if other.body["name"] == name else found
        if found is None:
            return None
        keys = ("id", "name", "state", "state_info")
        shown = {key: found.body[key] for key in keys}
        return {**shown, "result": found.hidden["result"], "spec": found.hidden["spec"]}

    def whole() -> Body:
        keys = ("id", "state", "created_at", "root_execution_id")
        shown = {key: execution.body[key] for key in keys}
        return {**shown, "input": json.loads(execution.body["input"]), "spec": hidden["spec"]}

    return {
        "env": lambda: hidden["env"],
        "execution": whole,
        "task": one,
        "global": lambda name: hidden["globals"].get(name),
        "uuid": cloud.store.new_id,
        "json_dump": json.dumps,
        "json_parse": json.loads,
    }


# tasks


def _tasks(cloud: Cloud, execution: Thing) -> list[Thing]:
    return cloud.store.where(TASKS, workflow_execution_id=execution.id)


def _enter(cloud: Cloud, execution: Thing, name: str, context: Body, by: Body) -> None:
    """A task is led to; one that joins waits until enough have led to it."""
    spec = language.task_of(execution.hidden["spec"], name)
    join = spec.get("join")
    if join is None:
        _make(cloud, execution, name, spec, context)
        return
    there = [one for one in _tasks(cloud, execution) if one.body["name"] == name]
    if there and there[-1].body["state"] != "WAITING":
        return
    task = there[-1] if there else _make(cloud, execution, name, spec, context, state="WAITING")
    task.hidden["context"] = {**task.hidden["context"], **context}
    task.hidden["led"] = sorted({*task.hidden["led"], str(by.get("name"))})
    if len(task.hidden["led"]) >= _needed(execution, name, join):
        _ready(cloud, execution, task)


def _needed(execution: Thing, name: str, join: Any) -> int:
    spec = execution.hidden["spec"]
    if str(join) == "all":
        return sum(1 for other in spec["tasks"] if name in _leads_to(spec, other))
    return 1 if str(join) == "one" else int(join)


def _make(
    cloud: Cloud, execution: Thing, name: str, spec: Body, context: Body, state: str = "IDLE"
) -> Thing:
    execution.hidden["count"] += 1
    store, ident = cloud.store, cloud.store.new_id()
    now = stamp(store.time)
    body: Body = {
        "id": ident,
        "name": name,
        "type": "WORKFLOW" if "workflow" in spec else "ACTION",
        "workflow_name": execution.body["workflow_name"],
        "workflow_namespace": execution.body["workflow_namespace"],
        "workflow_id": execution.body["workflow_id"],
        "workflow_execution_id": execution.id,
        "root_execution_id": execution.body["root_execution_id"],
        "state": state,
        "state_info": None,
        "result": "null",
        "published": "{}",
        "processed": False,
        "created_at": now,
        "updated_at": now,
    }
    hidden: Body = {"spec": {**spec, "name": name}, "context": dict(context), "led": []}
    hidden |= {"attempt": 0, "result": None, "calls": []}
    made = store.insert(Thing(ident, TASKS, execution.project_id, body, hidden), implicit=True)
    if execution.hidden["count"] > TASKS_MAX:
        finish(cloud, execution, "ERROR", f"The workflow has come to more than {TASKS_MAX} tasks")
    elif state != "WAITING":
        _ready(cloud, execution, made)
    return made


def _ready(cloud: Cloud, execution: Thing, task: Thing) -> None:
    """It runs now, after its pause, or when somebody lets the execution go on."""
    spec = task.hidden["spec"]
    _change(cloud, task, "IDLE")
    if spec.get("pause-before") is True:
        _pause(cloud, execution)
    wait_s = spec.get("wait-before")
    if wait_s:
        _change(cloud, task, "DELAYED")
    _later(cloud, task, "workflow.task", float(wait_s or 0))


def _change(cloud: Cloud, thing: Thing, state: str, info: str | None = None) -> None:
    thing.body.update(state=state, state_info=info, updated_at=stamp(cloud.store.time))
    cloud.store.changed = True


def _of(cloud: Cloud, task: Thing) -> Thing | None:
    """The execution that a task belongs to."""
    return cloud.store.get(EXECUTIONS, task.body["workflow_execution_id"])


def again(cloud: Cloud, task: Thing) -> None:
    """Its time has come, for the first time or another."""
    execution = _of(cloud, task)
    ready = task.body["state"] in ("IDLE", "DELAYED") and "ended" not in task.hidden
    if execution is not None and execution.body["state"] == "RUNNING" and ready:
        try:
            _act(cloud, execution, task)
        except (WrongExpression, WrongDefinition) as problem:
            _close(cloud, task, "ERROR", str(problem))


def _act(cloud: Cloud, execution: Thing, task: Thing) -> None:
    """Begin all that it does: one call, or one for each of its items."""
    hidden, spec = task.hidden, task.hidden["spec"]
    hidden["attempt"] += 1
    _change(cloud, task, "RUNNING")
    words = _words(cloud, execution, task)
    name, inline = language.call_of(str(spec.get("workflow") or spec.get("action") or "std.noop"))
    arguments = {**inline, **_input(spec)}
    hidden["calls"] = []
    for data in _items(spec, hidden["context"], words):
        values = language.evaluate(arguments, {**hidden["context"], **data}, words)
        called = language.evaluate(name, hidden["context"], words)
        hidden["calls"].append({"name": called, "input": values, "state": None, "result": None})
    if spec.get("timeout"):
        hidden["deadline"] = cloud.store.time + float(spec["timeout"])
        _later(cloud, task, "workflow.timeout", float(spec["timeout"]))
    if hidden["calls"]:
        _begin_calls(cloud, execution, task)
    else:
        _ended(cloud, task, "SUCCESS", [])


def _input(spec: Body) -> Body:
    given = spec.get("input") or {}
    if not isinstance(given, dict):
        raise WrongDefinition(f"input of task '{spec['name']}' must be a map")
    return given


def _items(spec: Body, context: Body, words: Mapping[str, Any]) -> list[Body]:
    """The variables of each call: one set without any where the task has no items."""
    given = language.as_list(spec.get("with-items"))
    if not given:
        return [{}]
    columns: dict[str, list[Any]] = {}
    for text in given:
        name, _, rest = str(text).partition(" in ")
        found = language.evaluate(rest.strip(), context, words)
        if isinstance(found, str):
            found = json.loads(found) if found.startswith("[") else None
        if not isinstance(found, list):
            raise WrongExpression(f"with-items of task '{spec['name']}' is no list: {text}")
        columns[name.strip()] = found
    if len({len(column) for column in columns.values()}) > 1:
        raise WrongExpression(f"with-items of task '{spec['name']}' differ in length")
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _begin_calls(cloud: Cloud, execution: Thing, task: Thing) -> None:
    """As many at a time as the task allows."""
    calls = task.hidden["calls"]
    limit = int(task.hidden["spec"].get("concurrency") or len(calls))
    attempt = task.hidden["attempt"]
    for index, call in enumerate(calls):
        if task.body["state"] != "RUNNING" or task.hidden["attempt"] != attempt:
            return
        under_way = sum(1 for one in calls if one["state"] == "RUNNING")
        if call["state"] is None and under_way < limit:
            call["state"] = "RUNNING"
            if task.body["type"] == "WORKFLOW":
                _begin_workflow(cloud, execution, task, index)
            else:
                _begin_action(cloud, execution, task, index)


def _begin_workflow(cloud: Cloud, execution: Thing, task: Thing, index: int) -> None:
    from hearth.devcloud.http import Refusal

    call, project = task.hidden["calls"][index], execution.project_id
    space = execution.body["workflow_namespace"]
    params = {"env": execution.hidden["env"]} if execution.hidden["env"] else {}
    try:
        found = workflow_of(cloud.store, project, call["name"], space)
        found = found or workflow_of(cloud.store, project, call["name"])
        if found is None:
            raise missing(f"Workflow '{call['name']}'")
        if execution.hidden["depth"] >= DEPTH_MAX:
            raise bad(f"There are more than {DEPTH_MAX} workflows in each other")
        start(
            cloud, found, call["input"], params, project_id=project,
            token=execution.hidden["token"], parent=task, index=index,
        )  # fmt: skip
    except Refusal as refusal:
        _call_ended(cloud, task, index, (False, refusal.message))


def _begin_action(cloud: Cloud, execution: Thing, task: Thing, index: int) -> None:
    call = task.hidden["calls"][index]
    about = {"index": index, "attempt": task.hidden["attempt"]}
    action = make_action(
        cloud, call["name"], call["input"], execution.project_id, execution.hidden["token"],
        task=task, **about,
    )  # fmt: skip
    run_action(cloud, action)


def make_action(
    cloud: Cloud,
    name: str,
    given: Body,
    project_id: str | None,
    token: str,
    *,
    task: Thing | None = None,
    **about: int,
) -> Thing:
    """A new action execution, RUNNING."""
    store, ident = cloud.store, cloud.store.new_id()
    now = stamp(store.time)
    body: Body = {
        "id": ident,
        "name": name,
        "task_execution_id": task.id if task is not None else None,
        "task_name": task.body["name"] if task is not None else None,
        "workflow_name": task.body["workflow_name"] if task is not None else None,
        "state": "RUNNING",
        "state_info": None,
        "accepted": False,
        "input": json.dumps(given),
        "output": "{}",
        "project_id": project_id,
        "created_at": now,
        "updated_at": now,
    }
    hidden: Body = {"input": given, "token": token, **about}
    return store.insert(Thing(ident, ACTIONS, project_id, body, hidden), implicit=True)


def run_action(cloud: Cloud, action: Thing) -> None:
    """Begin it; what needs no call ends at once."""
    outcome = actions.perform(cloud, action)
    if outcome is not None:
        action_ended(cloud, action, outcome)


def answered(cloud: Cloud, errand: Thing) -> None:
    """A call that an action made has its answer."""
    action = cloud.store.get(ACTIONS, errand.hidden["about"])
    if action is not None:
        outcome = actions.outcome_of(cloud, action, errand)
        if outcome is not None:
            action_ended(cloud, action, outcome)


def action_ended(cloud: Cloud, action: Thing, outcome: Outcome) -> None:
    """An action has its result; so may the task that it is part of."""
    if action.body["state"] in ENDS:
        return
    good, result = outcome
    _change(cloud, action, "SUCCESS" if good else "ERROR", None if good else str(result))
    action.body.update(accepted=True, output=json.dumps({"result": result}))
    task = cloud.store.get(TASKS, action.body["task_execution_id"])
    if task is not None and task.hidden["attempt"] == action.hidden["attempt"]:
        _call_ended(cloud, task, action.hidden["index"], outcome)


def _call_ended(cloud: Cloud, task: Thing, index: int, outcome: Outcome) -> None:
    if task.body["state"] != "RUNNING":
        return
    calls, spec = task.hidden["calls"], task.hidden["spec"]
    good, result = outcome
    calls[index].update(state="SUCCESS" if good else "ERROR", result=result)
    execution = _of(cloud, task)
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


def timeout(cloud: Cloud, task: Thing) -> None:
    """It has taken too long, if it is still at it."""
    if task.body["state"] == "RUNNING" and task.hidden["deadline"] <= cloud.store.time:
        seconds = task.hidden["spec"]["timeout"]
        _ended(cloud, task, "ERROR", None, f"Task timed out [timeout(s)={seconds}].")


def _ended(cloud: Cloud, task: Thing, state: str, result: Any, info: str | None = None) -> None:
    """All calls have ended: once more, or a pause, or on."""
    hidden, spec, execution = task.hidden, task.hidden["spec"], _of(cloud, task)
    if execution is None:
        return
    hidden["result"] = result
    words = _words(cloud, execution, task)
    try:
        if spec.get("fail-on") and language.evaluate(spec["fail-on"], hidden["context"], words):
            state, info = "ERROR", "Failed by 'fail-on' policy"
        pause_s = _retry_after_s(task, state, words)
    except (WrongExpression, WrongDefinition) as problem:
        _close(cloud, task, "ERROR", str(problem))
        return
    if pause_s is not None:
        _change(cloud, task, "DELAYED", info)
        _later(cloud, task, "workflow.task", pause_s)
    elif spec.get("wait-after"):
        hidden["ended"] = [state, info]
        _change(cloud, task, "DELAYED", info)
        _later(cloud, task, "workflow.end", float(spec["wait-after"]))
    else:
        _close(cloud, task, state, info)


def _retry_after_s(task: Thing, state: str, words: Mapping[str, Any]) -> float | None:
    """Seconds to the next try; None where there is none."""
    given, context = task.hidden["spec"].get("retry"), task.hidden["context"]
    if not given:
        return None
    policy = language.call_of(f"retry {given}")[1] if isinstance(given, str) else given

    def says(name: str) -> bool:
        return name in policy and bool(language.evaluate(policy[name], context, words))

    count = int(language.evaluate(policy.get("count", 0), context, words))
    if task.hidden["attempt"] > count or says("break-on"):
        return None
    if state == "ERROR" and "continue-on" in policy and not says("continue-on"):
        return None
    if state == "SUCCESS" and not says("continue-on"):
        return None
    return float(language.evaluate(policy.get("delay", 0), context, words))


def end_late(cloud: Cloud, task: Thing) -> None:
    """The pause after it is over."""
    if task.body["state"] == "DELAYED" and "ended" in task.hidden:
        _close(cloud, task, *task.hidden["ended"])


def _close(cloud: Cloud, task: Thing, state: str, info: str | None) -> None:
    """It has ended: what it publishes is known from now on, and it leads on."""
    hidden, execution = task.hidden, _of(cloud, task)
    if execution is None:
        return
    published: Body = {}
    words = _words(cloud, execution, task)
    try:
        for more in language.publishing(hidden["spec"], state):
            published |= language.evaluate(more, {**hidden["context"], **published}, words)
    except WrongExpression as problem:
        state, info = "ERROR", str(problem)
    _change(cloud, task, state, info)
    kept = None if hidden["spec"].get("keep-result") is False else hidden["result"]
    task.body.update(result=json.dumps(kept), published=json.dumps(published))
    hidden["context"] = {**hidden["context"], **published}
    execution.hidden["globals"] |= published
    execution.hidden["reached"] = {**execution.hidden["reached"], **hidden["context"]}
    if execution.body["state"] == "RUNNING":
        _lead_on(cloud, execution, task)


def _lead_on(cloud: Cloud, execution: Thing, task: Thing) -> None:
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
    cloud: Cloud, execution: Thing, task: Thing, name: str, condition: Any, arguments: Body
) -> None:
    context, words = task.hidden["context"], _words(cloud, execution, task)
    if condition is not None and not language.evaluate(condition, context, words):
        return
    told = language.evaluate(arguments.get("msg") or "", context, words)
    match name:
        case "fail":
            words_ = told or f"Fail command [task={task.body['name']}]"
            finish(cloud, execution, "ERROR", f"Workflow failed by direct command: {words_}")
        case "succeed":
            finish(cloud, execution, "SUCCESS", told or None)
        case "pause":
            _pause(cloud, execution)
        case "noop":
            pass
        case _:
            _enter(cloud, execution, name, context, task.body)


def _go_back(cloud: Cloud, execution: Thing) -> None:
    """A reverse workflow: begin what the wanted task needs, as far as nothing is missing for it."""
    hidden, tasks = execution.hidden, execution.hidden["spec"]["tasks"]
    there = {one.body["name"]: one for one in _tasks(cloud, execution)}
    done = {name for name, one in there.items() if one.body["state"] == "SUCCESS"}
    if all(one.body["state"] != "ERROR" for one in there.values()):
        todo, wanted = [hidden["params"]["task_name"]], set()
        while todo:
            name = todo.pop()
            if name not in wanted:
                wanted.add(name)
                todo += language.as_list(language.task_of(hidden["spec"], name).get("requires"))
        for name in tasks:
            spec = language.task_of(hidden["spec"], name)
            needs = language.as_list(spec.get("requires"))
            if name in wanted and name not in there and done.issuperset(needs):
                _make(cloud, execution, name, spec, hidden["reached"])
    _look_for_end(cloud, execution)


# executions


def _look_for_end(cloud: Cloud, execution: Thing) -> None:
    """It has ended when no task is open; errors that lead on are dealt with."""
    tasks = _tasks(cloud, execution)
    if execution.body["state"] != "RUNNING" or any(one.body["state"] in OPEN for one in tasks):
        return
    for one in tasks:
        if one.body["state"] == "WAITING":
            _change(cloud, one, "ERROR", "Too few tasks have led to it (join)")
    failed = [
        f"{one.body['name']} [task_ex_id={one.id}] -> {one.body['state_info']}"
        for one in tasks
        if one.body["state"] == "ERROR" and not language.moves(one.hidden["spec"], "on-error")
    ]
    if failed:
        names = ", ".join(one.partition(" ")[0] for one in failed)
        words = "\n".join([f"Failure caused by error in tasks: {names}", "", *failed])
        finish(cloud, execution, "ERROR", words)
    else:
        finish(cloud, execution, "SUCCESS", None)


def finish(cloud: Cloud, execution: Thing, state: str, info: str | None) -> None:
    """It has ended; the task that started it, if one did, has its result."""
    hidden = execution.hidden
    wanted = hidden["spec"].get("output" if state == "SUCCESS" else "output-on-error") or {}
    output: Body = {}
    try:
        output = language.evaluate(wanted, hidden["reached"], _words(cloud, execution))
    except WrongExpression as problem:
        state, info = "ERROR", "\n".join(filter(None, [info, str(problem)]))
    if state == "ERROR":
        output = {**output, "result": info}
    _change(cloud, execution, state, info)
    execution.body["output"] = json.dumps(output)
    task = cloud.store.get(TASKS, execution.body["task_execution_id"])
    if task is not None:
        good = state == "SUCCESS"
        _call_ended(cloud, task, hidden["index"], (good, output if good else info or state))


def _pause(cloud: Cloud, execution: Thing) -> None:
    _change(cloud, execution, "PAUSED")


def set_state(cloud: Cloud, execution: Thing, state: str, info: str | None) -> None:
    """What somebody asks for: pause, go on, or end. Raises Refusal."""
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


def _go_on(cloud: Cloud, execution: Thing) -> None:
    _change(cloud, execution, "RUNNING")
    for task in _tasks(cloud, execution):
        if task.body["state"] in ("IDLE", "DELAYED"):
            _later(cloud, task, "workflow.task")
        elif task.body["state"] in ENDS and not task.body["processed"]:
            _lead_on(cloud, execution, task)
    _look_for_end(cloud, execution)
