"""OS::Mistral::Workflow: tasks, and what leads from one to another.

A signal starts an execution of it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from hearth.cloud.contract import Body, Response
from hearth.cloud.fault import CloudFault
from hearth.cloud.path import segment
from hearth.model.problem import Rejected, StackValidationFailed
from hearth.resources.base import IntentKey, Live, Made, SignalResult, Step
from hearth.resources.capabilities import DeliversSignals
from hearth.resources.collection import forgiving
from hearth.resources.heat.signed_url import signed_url
from hearth.resources.heat.stack_user import StackUser
from hearth.resources.mark import mark
from hearth.schema import (
    BOOLEAN,
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Attr,
    Delete,
    Length,
    Prop,
    Replace,
    Support,
    SupportStatus,
    Violation,
)

SERVICE = "workflow"
TEXT = {"Content-Type": "text/plain"}
STRAY = "workflow:"  # before the name of a stray workflow, which is no user
POLICIES = ("pause_before", "wait_after", "wait_before", "timeout", "concurrency", "retry")
SHOWN = ("id", "workflow_name", "created_at", "updated_at", "state", "input", "output")
ON = {
    "on_success": Prop(LIST, "Tasks to do after one that went well."),
    "on_error": Prop(LIST, "Tasks to do after one that went wrong."),
    "on_complete": Prop(LIST, "Tasks to do after one that has ended, well or not."),
}


def _since(version: str) -> Support:
    return Support(version=version)


TASK = {
    **ON,
    "action": Prop(STRING, "What it does, with its input if that fits into a line."),
    "concurrency": Prop(
        INTEGER, "How many of its items are done at a time.", support=_since("8.0.0")
    ),
    "description": Prop(STRING, "Description."),
    "input": Prop(MAP, "Input of the action or workflow."),
    "join": Prop(
        STRING,
        "Waits until all tasks, or so many, have led to it: all, one or a number.",
        support=_since("6.0.0"),
    ),
    "keep_result": Prop(BOOLEAN, "Whether its result stays known.", support=_since("5.0.0")),
    "name": Prop(STRING, "Its name.", required=True),
    "pause_before": Prop(
        BOOLEAN, "Whether the execution pauses before it.", support=_since("5.0.0")
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
    "publish": Prop(MAP, "Variables that it sets for those after it."),
    "requires": Prop(LIST, "Tasks that come first; in reverse workflows."),
    "retry": Prop(MAP, "How often it is tried again, and when.", support=_since("5.0.0")),
    "target": Prop(STRING, "Which executor does it.", support=_since("5.0.0")),
    "timeout": Prop(INTEGER, "Seconds that it may take.", support=_since("5.0.0")),
    "wait_after": Prop(INTEGER, "Seconds to wait after it.", support=_since("5.0.0")),
    "wait_before": Prop(INTEGER, "Seconds to wait before it.", support=_since("5.0.0")),
    "with_items": Prop(STRING, "Does it for each item of a list.", support=_since("5.0.0")),
    "workflow": Prop(STRING, "Workflow that it starts.", constraint="mistral.workflow"),
}
DEFAULTS = {
    **ON,
    "concurrency": Prop(
        INTEGER, "How many items of a task are done at a time.", support=_since("8.0.0")
    ),
    "pause_before": Prop(BOOLEAN, "Whether the execution pauses before each."),
    "requires": Prop(LIST, "Tasks that come first; in reverse workflows."),
    "retry": Prop(MAP, "How often each is tried again, and when."),
    "timeout": Prop(INTEGER, "Seconds that each may take."),
    "wait_after": Prop(INTEGER, "Seconds to wait after each."),
    "wait_before": Prop(INTEGER, "Seconds to wait before each."),
}


class Workflow(DeliversSignals, StackUser):
    """Tasks that are done one after another or side by side. Its reference is its name."""

    type_name = "OS::Mistral::Workflow"
    support = Support(version="2015.1")
    properties = {
        "description": Prop(STRING, "Description.", update_allowed=True),
        "input": Prop(
            MAP,
            "What it takes: names with defaults; without a default it must be given.",
            update_allowed=True,
        ),
        "name": Prop(STRING, "Its name; generated when not given."),
        "output": Prop(MAP, "What an execution gives.", update_allowed=True),
        "params": Prop(
            MAP,
            "Parameters of executions that signals start; a reverse workflow needs task_name.",
            update_allowed=True,
        ),
        "tags": Prop(LIST, "Its tags.", update_allowed=True, support=_since("10.0.0")),
        "task_defaults": Prop(
            MAP,
            "What holds for all tasks that say nothing else.",
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
            "Whether the body of a signal is the input itself, not a map with it in `input`.",
            update_allowed=True,
            support=_since("6.0.0"),
        ),
    }
    attributes = {
        "alarm_url": Attr(STRING, "Signed URL; a POST to it starts an execution.", cached=False),
        "data": Attr(MAP, "Name and input."),
        "executions": Attr(
            LIST, "The executions that signals have started, latest first.", cached=False
        ),
    }
    translation = (
        *(Replace(("tasks", name), value_name="policies", entry=name) for name in POLICIES),
        Delete(("tasks", "policies")),
    )
    service = SERVICE
    identified_by = IntentKey.TAG
    known_by = "a tag, which stays; its user by name and description"

    def check_properties(self, properties: Mapping[str, Any]) -> Iterable[str | Violation]:
        reverse = properties.get("type") == "reverse"
        if reverse and not (properties.get("params") or {}).get("task_name"):
            yield Violation(
                "params", "'task_name' is not assigned in case of a reverse type workflow."
            )
        tasks = [task for task in properties.get("tasks") or [] if isinstance(task, Mapping)]
        names = [task.get("name") for task in tasks]
        for number, task in enumerate(tasks):
            at, name = f"tasks.{number}", task.get("name")
            if (task.get("action") is None) == (task.get("workflow") is None):
                yield Violation(at, f"Task {name} needs either action or workflow.")
            if task.get("requires") and not reverse:
                yield Violation(
                    f"{at}.requires",
                    f"Task {name} contains property 'requires' in case of a direct workflow. "
                    "Only reverse workflows can contain it.",
                )
            for needed in task.get("requires") or []:
                if reverse and needed not in names:
                    yield Violation(f"{at}.requires", f"There is no task {needed}.")
            if names.index(name) != number:
                yield Violation(f"{at}.name", f"There is a task {name} already.")
        if (properties.get("task_defaults") or {}).get("requires") and not reverse:
            words = "Only reverse workflows can contain it."
            yield Violation("task_defaults.requires", words)

    # steps

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        create = Step("create", self.create, self.find)
        return (*self.user_steps(live, keys=True), create)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        defining = live.changed - {"params", "use_request_body_as_input"}
        return (Step("update", self.update),) if defining else ()

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        delete = (Step("delete", self.delete),) if live.physical_id else ()
        return (*delete, *self.drop_user_steps(live))

    async def create(self, live: Live) -> Made:
        """Define it."""
        answer = await self._define(live, "POST", live.wanted_name)
        return Made(physical_id=live.wanted_name, body=answer.body["workflows"][0])

    async def find(self, live: Live) -> Made | None:
        """The workflow of that name, if it is ours."""
        try:
            body = (await live.cloud.request(SERVICE, "GET", path_of(live.wanted_name))).body
        except CloudFault as fault:
            if fault.not_found:
                return None
            raise
        if mark(live) not in (body.get("tags") or ()):
            return None
        return Made(physical_id=live.wanted_name, body=body)

    async def update(self, live: Live) -> Made:
        """Define it anew."""
        answer = await self._define(live, "PUT", live.physical)
        return Made(body=answer.body["workflows"][0])

    async def _define(self, live: Live, method: str, name: str) -> Response:
        return await live.cloud.request(
            SERVICE,
            method,
            "/workflows",
            data=definition(live.properties, name, mark(live)),
            headers=TEXT,
            idempotent=method == "PUT",
        )

    async def delete(self, live: Live) -> Made | None:
        """Forget it; its executions stay."""
        await self._drop(live, live.physical)
        return None

    async def _drop(self, live: Live, name: str) -> None:
        await forgiving(live.cloud.request(SERVICE, "DELETE", path_of(name), idempotent=True))

    async def strays(self, live: Live) -> Sequence[str]:
        found = None if live.physical_id is not None else await self.find(live)
        own = [f"{STRAY}{found.physical_id}"] if found is not None else []
        return [*own, *await super().strays(live)]

    async def drop_stray(self, live: Live, physical_id: str) -> None:
        if physical_id.startswith(STRAY):
            await self._drop(live, physical_id.removeprefix(STRAY))
        else:
            await super().drop_stray(live, physical_id)

    async def replace_failed(self, live: Live) -> bool:
        """One that is there is only defined anew."""
        if live.physical_id is None:
            return True
        try:
            await self.show(live)
        except CloudFault as fault:
            if fault.not_found:
                return True
            raise
        return False

    # what is shown

    async def show(self, live: Live) -> Mapping[str, Any] | None:
        body: Body = (await live.cloud.request(SERVICE, "GET", path_of(live.physical))).body
        if text := body.get("definition"):
            return {**body, "definition": untagged(text, mark(live))}
        return body

    async def attribute(self, live: Live, name: str) -> Any:
        match name:
            case "alarm_url":
                data = live.data
                if "access_key" not in data:
                    return None
                return signed_url(live, data["access_key"], data["secret_key"], "signal")
            case "executions":
                return [await self._execution(live, ident) for ident in started(live)]
            case "data":
                return self.recordable(live)["data"]
        return await super().attribute(live, name)

    def recordable(self, live: Live) -> dict[str, Any]:
        return {"data": {"name": live.physical_id, "input": live.given("input")}}

    async def _execution(self, live: Live, ident: str) -> Body | None:
        try:
            body = (await live.cloud.request(SERVICE, "GET", f"/executions/{segment(ident)}")).body
        except CloudFault as fault:
            if fault.not_found:
                return None
            raise
        return {name: body.get(name) for name in SHOWN}

    # signals

    async def deliver(self, live: Live, details: Any) -> Any:
        """Start an execution with what a signal brings; its id."""
        asked = wanted_by(live.properties, {} if details is None else details)
        body = {"workflow_name": live.physical, **asked}
        made = await live.cloud.request(SERVICE, "POST", "/executions", json=body)
        return made.body["id"]

    def signal(self, live: Live, details: Any) -> SignalResult:
        ids = ",".join([str(details), *started(live)])
        return SignalResult(data={"executions": ids}, reason=f"execution {details} started")


def path_of(name: str) -> str:
    """The path of a workflow."""
    return f"/workflows/{segment(name)}"


def started(live: Live) -> list[str]:
    """Ids of the executions that signals have started, latest first."""
    return [ident for ident in live.data.get("executions", "").split(",") if ident]


def wanted_by(properties: Mapping[str, Any], details: Any) -> Body:
    """Input and parameters of the execution that a signal wants. Raises Rejected."""
    if not isinstance(details, Mapping):
        raise Rejected([StackValidationFailed(None, "Signal data must be a map")])
    known = dict(properties.get("input") or {})
    if properties.get("use_request_body_as_input"):
        given: Any = {name: value for name, value in details.items() if name in known}
    else:
        given = details.get("input") or {}
    params = details.get("params") or {}
    for what, value in (("Input", given), ("Params", params)):
        if not isinstance(value, Mapping):
            raise Rejected([StackValidationFailed(None, f"{what} in signal data must be a map")])
    if unknown := sorted(given.keys() - known.keys()):
        words = f"Unknown input {', '.join(unknown)}"
        raise Rejected([StackValidationFailed(None, words)])
    return {
        "input": {**known, **given},
        "params": {**(properties.get("params") or {}), **params},
    }


def definition(properties: Mapping[str, Any], name: str, tag: str) -> str:
    """A workflow in the language of the service."""
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
    given = {key: value for key, value in workflow.items() if value or key == "tasks"}
    plain = json.loads(json.dumps({"version": "2.0", name: given}))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


def untagged(text: str, tag: str) -> str:
    """A `definition` without its last tag."""
    return text.replace(f"  tags:\n  - {tag}\n", "").replace(f"  - {tag}\n", "")


def _dashed(values: Mapping[str, Any]) -> Body:
    """Keys as the language writes them; null ones are left out."""
    found = {key.replace("_", "-"): value for key, value in values.items() if value is not None}
    if str(found.get("join", "")).isdecimal():
        found["join"] = int(found["join"])
    return found
