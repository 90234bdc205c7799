"""OS::Mistral::ExternalResource: an object that workflows create, update and delete."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.path import segment
from hearth.model.json_text import parse_json
from hearth.resources.base import (
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    Step,
)
from hearth.resources.capabilities import IntentKey, MakesObject, Suspends
from hearth.resources.collection import unknown_status
from hearth.schema import BOOLEAN, LIST, MAP, STRING, Attr, Prop, Support

SERVICE = "workflow"
LOOK_AGAIN_S = 2.0
ACTIONS = {
    "CREATE": "Workflow that creates the object.",
    "UPDATE": "Workflow that updates the object.",
    "SUSPEND": "Workflow that suspends the object.",
    "RESUME": "Workflow that resumes the object.",
    "DELETE": "Workflow that deletes the object.",
}


def _action(description: str) -> Prop:
    return Prop(
        MAP,
        description,
        schema={
            "params": Prop(MAP, "Parameters of the execution.", default={}),
            "workflow": Prop(
                STRING, "Name or id of the workflow.", required=True, constraint="mistral.workflow"
            ),
        },
    )


class ExternalResource(MakesObject, Suspends):
    """An object that Mistral workflows create, update and delete.

    The output `resource_id` of a workflow is the physical id. The output of an execution is in the
    environment of later executions.
    """

    type_name = "OS::Mistral::ExternalResource"
    support = Support(version="9.0.0")
    properties = {
        "actions": Prop(
            MAP,
            "The workflows, by the action of the resource.",
            required=True,
            schema={name: _action(text) for name, text in ACTIONS.items()},
        ),
        "always_update": Prop(
            BOOLEAN, "true: each update of the stack runs the UPDATE workflow.", default=False
        ),
        "description": Prop(STRING, "Description of the executions.", default="Heat managed"),
        "input": Prop(MAP, "Input of the workflows.", default={}, update_allowed=True),
        "replace_on_change_inputs": Prop(
            LIST, "Inputs whose change replaces the resource.", default=[]
        ),
    }
    attributes = {"output": Attr(MAP, "Output of the last execution.")}
    service = SERVICE
    identified_by = IntentKey.OWN_ID
    known_by = "the id of the execution, which Hearth chooses"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run("CREATE", ctx)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run("UPDATE", ctx)

    def suspend_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run("SUSPEND", ctx)

    def resume_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run("RESUME", ctx)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return self._run("DELETE", ctx) if ctx.physical_id else ()

    def must_replace(self, change: Change) -> str | None:
        before, after = change.before.get("input") or {}, change.after.get("input") or {}
        for name in change.after.get("replace_on_change_inputs") or ():
            if before.get(name) != after.get(name):
                return f"the input {name} changed, which is in replace_on_change_inputs"
        return super().must_replace(change)

    def _run(self, action: str, ctx: ResourceContext) -> tuple[Step, ...]:
        """Return the steps that run the workflow of `action` and store its output.

        If no workflow is given for the action, there are no steps; a create still sets the physical
        id.
        """
        call = (ctx.properties.get("actions") or {}).get(action)
        if not call:
            if action != "CREATE":
                return ()
            return (Step("nothing", self.nothing),)

        async def start(ctx: ResourceContext) -> Made:
            return await self.start(ctx, action, call)

        return (
            Step(f"start-{action.lower()}", start, poll=self.ended),
            Step(f"keep-{action.lower()}", self.keep),
        )

    async def nothing(self, ctx: ResourceContext) -> Made:
        """Set the physical id when no workflow is given for the create."""
        return Made(physical_id=ctx.physical_name)

    async def start(self, ctx: ResourceContext, action: str, call: Mapping[str, Any]) -> Made:
        """Start an execution of the workflow of an action.

        `call` contains the name of the workflow and the parameters of the execution. The id is
        derived, so that a repeated call starts no second execution.
        """
        ident = execution_id(ctx, action)
        params = dict(call.get("params") or {})
        if ctx.data.get("outputs"):
            params["env"] = {**(params.get("env") or {}), **json.loads(ctx.data["outputs"])}
        body = {
            "id": ident,
            "workflow_name": call["workflow"],
            "input": ctx.given("input") or {},
            "params": params,
            "description": ctx.given("description") or "",
        }
        await ctx.cloud.request(SERVICE, "POST", "/executions", json=body, idempotent=True)
        return Made(physical_id=ctx.physical_id or ident, data={"execution": ident})

    async def ended(self, ctx: ResourceContext) -> Progress:
        """Report whether the execution has ended."""
        body = await self._get(ctx, ctx.data["execution"])
        match body["state"]:
            case "SUCCESS":
                return Ready(body)
            case "ERROR" | "CANCELLED":
                reason = body.get("state_info") or "Unknown"
                return Failed(f'Went to status {body["state"]} due to "{reason}"')
            case "IDLE" | "RUNNING" | "DELAYED" | "WAITING" | "PAUSED" as state:
                return Later(LOOK_AGAIN_S, seen=f"state {state}")
            case state:
                return unknown_status(ctx.name, state, body.get("state_info") or "Unknown")

    async def keep(self, ctx: ResourceContext) -> Made:
        """Store the output of the execution in private data."""
        body = await self._get(ctx, ctx.data["execution"])
        output = output_of(body)
        return Made(
            physical_id=str(output["resource_id"]) if output.get("resource_id") else None,
            data={"outputs": json.dumps(output)},
        )

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        ident = ctx.data.get("execution")
        return await self._get(ctx, ident) if ident else {}

    async def _get(self, ctx: ResourceContext, ident: str) -> Body:
        body: Body = (await ctx.cloud.request(SERVICE, "GET", f"/executions/{segment(ident)}")).body
        return body

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"output": json.loads(ctx.data.get("outputs") or "{}")}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        if name == "output":
            return self.recordable(ctx)["output"]
        return await super().attribute(ctx, name)


def output_of(execution: Mapping[str, Any]) -> Body:
    """Return the output of an execution, which the service sends as JSON text."""
    output = execution.get("output") or {}
    parsed = parse_json(output) if isinstance(output, str) else output
    return parsed if isinstance(parsed, dict) else {}


def execution_id(ctx: ResourceContext, action: str) -> str:
    """Return the id of the execution for an action, the same for all attempts of this action."""
    name = f"{ctx.key}/{action}/{round(ctx.started_at * 1000)}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))
