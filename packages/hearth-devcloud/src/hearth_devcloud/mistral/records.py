"""Creation and change of the stored objects: workflow executions, tasks, action executions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hearth_devcloud.http import Body, Cloud
from hearth_devcloud.mistral.rest import ACTIONS, EXECUTIONS, TASKS, stamp
from hearth_devcloud.store import Resource

Functions = Mapping[str, Callable[..., Any]]


def new_execution(
    cloud: Cloud,
    workflow: Resource,
    values: Body,
    params: Body,
    *,
    project_id: str | None,
    token: str,
    description: str,
    ident: str | None,
    parent: Resource | None,
    index: int,
) -> Resource:
    """Store a new execution in the state RUNNING and return it.

    If it is a sub-workflow, `parent` is its task, and `index` the number of its call in the task.
    """
    store = cloud.store
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
        "spec": workflow.hidden["spec"],
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
    # implicit: executions stay when their workflow is deleted
    return store.insert(Resource(ident, EXECUTIONS, project_id, body, hidden), implicit=True)


def new_task(
    cloud: Cloud, execution: Resource, name: str, spec: Body, context: Body, state: str
) -> Resource:
    """Store a new task of an execution and return it."""
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
    return store.insert(Resource(ident, TASKS, execution.project_id, body, hidden), implicit=True)


def new_action(
    cloud: Cloud,
    name: str,
    arguments: Body,
    project_id: str | None,
    token: str,
    *,
    task: Resource | None = None,
    **about: int,
) -> Resource:
    """Store a new action execution in the state RUNNING and return it.

    `task` is the task that it belongs to, or None.
    """
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
        "input": json.dumps(arguments),
        "output": "{}",
        "project_id": project_id,
        "created_at": now,
        "updated_at": now,
    }
    hidden: Body = {"input": arguments, "token": token, **about}
    return store.insert(Resource(ident, ACTIONS, project_id, body, hidden), implicit=True)


def change(cloud: Cloud, record: Resource, state: str, info: str | None = None) -> None:
    """Set the state of an execution, task or action execution; `info` is the reason."""
    record.body.update(state=state, state_info=info, updated_at=stamp(cloud.store.time))
    cloud.store.changed = True


def later(cloud: Cloud, record: Resource, transition: str, after_s: float = 0.0) -> None:
    """Schedule a transition of an object in `after_s` seconds and wake the job runner."""
    cloud.store.later(after_s, record, transition)
    cloud.wake(after_s)


def tasks_of(cloud: Cloud, execution: Resource) -> list[Resource]:
    """Return the tasks of an execution in the order of their creation."""
    return cloud.store.where(TASKS, workflow_execution_id=execution.id)


def execution_of(cloud: Cloud, task: Resource) -> Resource | None:
    """Return the execution that a task belongs to, or None if it does not exist any more."""
    return cloud.store.get(EXECUTIONS, task.body["workflow_execution_id"])


def functions_of(cloud: Cloud, execution: Resource, task: Resource | None = None) -> Functions:
    """Return the functions, by name, that the expressions of an execution or task can call."""
    hidden = execution.hidden

    def one(name: str | None = None) -> Body | None:
        match = task if name is None else None
        for sibling in cloud.store.where(TASKS, workflow_execution_id=execution.id):
            match = sibling if sibling.body["name"] == name else match
        if match is None:
            return None
        keys = ("id", "name", "state", "state_info")
        fields = {key: match.body[key] for key in keys}
        return {**fields, "result": match.hidden["result"], "spec": match.hidden["spec"]}

    def whole() -> Body:
        keys = ("id", "state", "created_at", "root_execution_id")
        fields = {key: execution.body[key] for key in keys}
        return {**fields, "input": json.loads(execution.body["input"]), "spec": hidden["spec"]}

    return {
        "env": lambda: hidden["env"],
        "execution": whole,
        "task": one,
        "global": lambda name: hidden["globals"].get(name),
        "uuid": cloud.store.new_id,
        "json_dump": json.dumps,
        "json_parse": json.loads,
    }
