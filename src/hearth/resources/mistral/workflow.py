"""OS::Mistral::Workflow: tasks and the transitions between them.

A signal starts an execution of the workflow.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from hearth.cloud.contract import Body, Response
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.model.problem import StackValidationFailed, rejection
from hearth.resources.base import Made, ResourceContext, SignalResult, Step
from hearth.resources.capabilities import DeliversSignals, IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.resources.heat.signed_url import signed_url
from hearth.resources.heat.stack_user import StackUser
from hearth.resources.mark import mark
from hearth.resources.properties import FIXED_NAME, OPTIONAL_DESCRIPTION
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    AtLeastOne,
    AtMostOne,
    Attr,
    Check,
    Delete,
    Distinct,
    Each,
    Length,
    Prop,
    Replace,
    Support,
    SupportStatus,
    Violation,
    Where,
    Without,
)

SERVICE = "workflow"
TEXT = {"Content-Type": "text/plain"}
ORPHAN = "workflow:"  # before the name of an orphan workflow, which is no user
POLICIES = ("pause_before", "wait_after", "wait_before", "timeout", "concurrency", "retry")
SHOWN = ("id", "workflow_name", "created_at", "updated_at", "state", "input", "output")
ON = {
    "on_success": Prop(LIST, "Tasks to run after a success."),
    "on_error": Prop(LIST, "Tasks to run after an error."),
    "on_complete": Prop(LIST, "Tasks to run after a success or an error."),
}


def _since(version: str) -> Support:
    return Support(version=version)


TASK = {
    **ON,
    "action": Prop(STRING, "Action to run; its input may follow on the same line."),
    "concurrency": Prop(
        INTEGER, "Number of items to process at the same time.", support=_since("8.0.0")
    ),
    "description": Prop(STRING, "Description."),
    "input": Prop(MAP, "Input of the action or workflow."),
    "join": Prop(
        STRING,
        "How many incoming tasks to wait for: all, one or a number.",
        support=_since("6.0.0"),
    ),
    "keep_result": Prop(BOOLEAN, "false: the result is discarded.", support=_since("5.0.0")),
    "name": Prop(STRING, "Its name.", required=True),
    "pause_before": Prop(
        BOOLEAN, "true: the execution pauses before the task.", support=_since("5.0.0")
    ),
    "policies": Prop(
        MAP,
        "Policies, as a map.",
        support=Support(
            SupportStatus.HIDDEN,
            "8.0.0",
            previous=Support(
                SupportStatus.DEPRECATED,
                "5.0.0",
                previous=Support(SupportStatus.SUPPORTED, "2015.1"),
            ),
        ),
    ),
    "publish": Prop(MAP, "Variables to publish for later tasks."),
    "requires": Prop(LIST, "Tasks that must run first; for reverse workflows."),
    "retry": Prop(MAP, "Number, delay and conditions of retries.", support=_since("5.0.0")),
    "target": Prop(STRING, "Executor that runs the task.", support=_since("5.0.0")),
    "timeout": Prop(INTEGER, "Timeout of the task, in seconds.", support=_since("5.0.0")),
    "wait_after": Prop(INTEGER, "Seconds to wait after the task.", support=_since("5.0.0")),
    "wait_before": Prop(INTEGER, "Seconds to wait before the task.", support=_since("5.0.0")),
    "with_items": Prop(
        STRING, "List of items; the task runs once for each.", support=_since("5.0.0")
    ),
    "workflow": Prop(STRING, "Workflow to start.", constraint="mistral.workflow"),
}
DEFAULTS = {
    **ON,
    "concurrency": Prop(
        INTEGER, "Number of items of a task to process at the same time.", support=_since("8.0.0")
    ),
    "pause_before": Prop(BOOLEAN, "true: the execution pauses before each task."),
    "requires": Prop(LIST, "Tasks that must run first; for reverse workflows."),
    "retry": Prop(MAP, "Number, delay and conditions of retries."),
    "timeout": Prop(INTEGER, "Timeout of each task, in seconds."),
    "wait_after": Prop(INTEGER, "Seconds to wait after each task."),
    "wait_before": Prop(INTEGER, "Seconds to wait before each task."),
}


ONLY_REVERSE = Without("requires")


def _without_task(kind: str | None, params: Mapping[str, Any] | None) -> Iterator[Violation]:
    if kind == "reverse" and not (params or {}).get("task_name"):
        yield Violation(("params",), "a reverse workflow needs task_name")


def _not_found(tasks: Sequence[Mapping[str, Any]] | None) -> Iterator[Violation]:
    """Yield a violation for each required task that the workflow does not have."""
    names = {task["name"] for task in tasks or []}
    for number, task in enumerate(tasks or []):
        for required in task.get("requires") or []:
            if required not in names:
                message = f"the workflow has no task named {required}"
                yield Violation(("tasks", number, "requires"), message)


class Workflow(DeliversSignals, StackUser, Observable):
    """Tasks that run one after another or in parallel. Its reference is its name."""

    type_name = "OS::Mistral::Workflow"
    support = Support(version="2015.1")
    properties = {
        "description": OPTIONAL_DESCRIPTION,
        "input": Prop(
            MAP,
            "Names of the inputs, with defaults; an input without a default is required.",
            update_allowed=True,
        ),
        "name": FIXED_NAME,
        "output": Prop(MAP, "Output of an execution.", update_allowed=True),
        "params": Prop(
            MAP,
            "Parameters of executions that signals start; a reverse workflow needs task_name.",
            update_allowed=True,
        ),
        "tags": Prop(LIST, "Its tags.", update_allowed=True, support=_since("10.0.0")),
        "task_defaults": Prop(
            MAP,
            "Defaults for all tasks.",
            update_allowed=True,
            schema=DEFAULTS,
            support=_since("5.0.0"),
        ),
        "tasks": Prop(
            LIST,
            "Its tasks.",
            required=True,
            update_allowed=True,
            constraints=(Length(min=1),),
            schema=Prop(MAP, schema=TASK),
        ),
        "type": Prop(
            STRING,
            "direct: each task leads to others; reverse: each task names what it requires.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["direct", "reverse"]),),
        ),
        "use_request_body_as_input": Prop(
            BOOLEAN,
            "true: the body of a signal is the input; false: the input is its key `input`.",
            update_allowed=True,
            support=_since("6.0.0"),
        ),
    }
    attributes = {
        "alarm_url": Attr(
            STRING, "Signed URL; a POST to it starts an execution.", cached=False, secret=True
        ),
        "data": Attr(MAP, "Name and input of the workflow."),
        "executions": Attr(
            LIST, "The executions that signals have started, latest first.", cached=False
        ),
    }
    translation = (
        *(Replace(("tasks", name), value_name="policies", entry=name) for name in POLICIES),
        Delete(("tasks", "policies")),
    )
    relations = (
        Check("a reverse workflow needs task_name in params", _without_task, "type", "params"),
        Each("tasks", AtLeastOne("action", "workflow"), AtMostOne("action", "workflow")),
        Distinct("tasks", "name"),
        Where("type", ("direct",), Each("tasks", ONLY_REVERSE)),
        Where("type", ("direct",), Each("task_defaults", ONLY_REVERSE)),
        Where(
            "type", ("reverse",), Check("each required task is one of tasks", _not_found, "tasks")
        ),
    )
    service = SERVICE
    orphan_prefixes = (*StackUser.orphan_prefixes, ORPHAN)
    identified_by = IntentKey.TAG
    unobserved = {"input": "the service shows the inputs as one text"}
    known_by = "a tag, which stays; its user has the key in name and description"

    # steps

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        create = Step("create", self.create, self.find)
        return (*self.user_steps(ctx, keys=True), create)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        defining = ctx.changed - {"params", "use_request_body_as_input"}
        return (Step("update", self.update),) if defining else ()

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        delete = (Step("delete", self.delete),) if ctx.physical_id else ()
        return (*delete, *self.drop_user_steps(ctx))

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the workflow definition."""
        answer = await self._define(ctx, "POST", ctx.wanted_name)
        return Made(physical_id=ctx.wanted_name, body=answer.body["workflows"][0])

    async def find(self, ctx: ResourceContext) -> Made | None:
        """Return the workflow with this name if it contains this record's intent key, else None."""
        try:
            body = (await ctx.cloud.request(SERVICE, "GET", path_of(ctx.wanted_name))).body
        except NotFound:
            return None
        if mark(ctx) not in (body.get("tags") or ()):
            return None
        return Made(physical_id=ctx.wanted_name, body=body)

    async def update(self, ctx: ResourceContext) -> Made:
        """Replace the workflow definition."""
        answer = await self._define(ctx, "PUT", ctx.physical)
        return Made(body=answer.body["workflows"][0])

    async def _define(self, ctx: ResourceContext, method: str, name: str) -> Response:
        return await ctx.cloud.request(
            SERVICE,
            method,
            "/workflows",
            data=definition(ctx.properties, name, mark(ctx)),
            headers=TEXT,
            idempotent=method == "PUT",
        )

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the workflow; its executions remain."""
        await self._drop(ctx, ctx.physical)
        return None

    async def _drop(self, ctx: ResourceContext, name: str) -> None:
        await forgiving(ctx.cloud.request(SERVICE, "DELETE", path_of(name), idempotent=True))

    async def orphans(self, ctx: ResourceContext) -> Sequence[str]:
        workflow = None if ctx.physical_id is not None else await self.find(ctx)
        ids = [f"{ORPHAN}{workflow.physical_id}"] if workflow is not None else []
        return [*ids, *await super().orphans(ctx)]

    async def delete_orphan(self, ctx: ResourceContext, physical_id: str) -> None:
        if physical_id.startswith(ORPHAN):
            await self._drop(ctx, physical_id.removeprefix(ORPHAN))
        else:
            await super().delete_orphan(ctx, physical_id)

    async def replace_failed(self, ctx: ResourceContext) -> bool:
        """Return whether the workflow does not exist; an existing one is updated instead."""
        if ctx.physical_id is None:
            return True
        try:
            await self.show(ctx)
        except NotFound:
            return True
        return False

    # what is shown

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        body: Body = (await ctx.cloud.request(SERVICE, "GET", path_of(ctx.physical))).body
        if text := body.get("definition"):
            return {**body, "definition": untagged(text, mark(ctx))}
        return body

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        match name:
            case "alarm_url":
                data = ctx.data
                if "access_key" not in data:
                    return None
                return signed_url(ctx, data["access_key"], data["secret_key"], "signal")
            case "executions":
                return [await self._execution(ctx, ident) for ident in started(ctx)]
            case "data":
                return self.recordable(ctx)["data"]
        return await super().attribute(ctx, name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"data": {"name": ctx.physical_id, "input": ctx.given("input")}}

    async def _execution(self, ctx: ResourceContext, ident: str) -> Body | None:
        try:
            body = (await ctx.cloud.request(SERVICE, "GET", f"/executions/{segment(ident)}")).body
        except NotFound:
            return None
        return {name: body.get(name) for name in SHOWN}

    # signals

    async def deliver(self, ctx: ResourceContext, details: Any) -> Any:
        """Start an execution with the data of a signal, and return the id of the execution."""
        fields = wanted_by(ctx.properties, {} if details is None else details)
        body = {"workflow_name": ctx.physical, **fields}
        answer = await ctx.cloud.request(SERVICE, "POST", "/executions", json=body)
        return answer.body["id"]

    def signal(self, ctx: ResourceContext, details: Any) -> SignalResult:
        ids = ",".join([str(details), *started(ctx)])
        return SignalResult(data={"executions": ids}, reason=f"execution {details} started")


def path_of(name: str) -> str:
    """Return the path of a workflow."""
    return f"/workflows/{segment(name)}"


def started(ctx: ResourceContext) -> list[str]:
    """Return the ids of the executions that signals have started, latest first."""
    return [ident for ident in ctx.data.get("executions", "").split(",") if ident]


def wanted_by(properties: Mapping[str, Any], details: Any) -> Body:
    """Return the input and the parameters of the execution for a signal with these `details`.

    Raises Rejected if the signal's data is invalid.
    """
    if not isinstance(details, Mapping):
        raise rejection(StackValidationFailed, "Signal data must be a map")
    defaults = dict(properties.get("input") or {})
    if properties.get("use_request_body_as_input"):
        workflow_input: Any = {name: value for name, value in details.items() if name in defaults}
    else:
        workflow_input = details.get("input") or {}
    params = details.get("params") or {}
    for label, value in (("Input", workflow_input), ("Params", params)):
        if not isinstance(value, Mapping):
            raise rejection(StackValidationFailed, f"{label} in signal data must be a map")
    if unknown := sorted(workflow_input.keys() - defaults.keys()):
        message = f"Unknown input {', '.join(unknown)}"
        raise rejection(StackValidationFailed, message)
    return {
        "input": {**defaults, **workflow_input},
        "params": {**(properties.get("params") or {}), **params},
    }


def definition(properties: Mapping[str, Any], name: str, tag: str) -> str:
    """Return the workflow's definition as YAML in the Mistral workflow language, version 2."""
    workflow: Body = {
        "type": properties["type"],
        "description": properties.get("description"),
        "tags": [*(properties.get("tags") or ()), tag],
        "input": [n if v is None else {n: v} for n, v in (properties.get("input") or {}).items()],
        "output": properties.get("output"),
        "task-defaults": _dashed(properties.get("task_defaults") or {}),
        "tasks": {
            task["name"]: _dashed({key: value for key, value in task.items() if key != "name"})
            for task in properties["tasks"]
        },
    }
    fields = {key: value for key, value in workflow.items() if value or key == "tasks"}
    plain = json.loads(json.dumps({"version": "2.0", name: fields}))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


def untagged(text: str, tag: str) -> str:
    """Return a workflow definition without the tag `tag`, which `definition` added last."""
    return text.replace(f"  tags:\n  - {tag}\n", "").replace(f"  - {tag}\n", "")


def _dashed(values: Mapping[str, Any]) -> Body:
    """Return the values with keys in the style of the workflow language, as in "on-success".

    Null values are left out.
    """
    dashed = {key.replace("_", "-"): value for key, value in values.items() if value is not None}
    if str(dashed.get("join", "")).isdecimal():
        dashed["join"] = int(dashed["join"])
    return dashed
