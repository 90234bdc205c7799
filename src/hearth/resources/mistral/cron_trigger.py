"""OS::Mistral::CronTrigger: starts a workflow at given times."""

import json
from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Body
from hearth.cloud.fault import NotFound
from hearth.cloud.path import segment
from hearth.model.json_text import parse_json
from hearth.resources.base import Made, ResourceContext, Step
from hearth.resources.capabilities import IntentKey, Observable
from hearth.resources.collection import forgiving
from hearth.resources.properties import FIXED_NAME
from hearth.schema import INTEGER, MAP, STRING, AtLeastOne, Attr, Prop, Support

SERVICE = "workflow"


class CronTrigger(Observable):
    """Starts a workflow at given times. Its reference is its name."""

    type_name = "OS::Mistral::CronTrigger"
    support = Support(version="5.0.0")
    properties = {
        "count": Prop(INTEGER, "Number of times to start the workflow; unlimited when not given."),
        "first_time": Prop(STRING, "Time of the first start in UTC, such as 2026-01-31 12:00."),
        "name": FIXED_NAME,
        "pattern": Prop(
            STRING, "Times of the starts, as a cron expression.", constraint="cron_expression"
        ),
        "workflow": Prop(
            MAP,
            "Workflow to start.",
            required=True,
            schema={
                "input": Prop(MAP, "Input of the workflow."),
                "name": Prop(
                    STRING,
                    "Name or id of the workflow.",
                    required=True,
                    constraint="mistral.workflow",
                ),
            },
        ),
    }
    attributes = {
        "next_execution_time": Attr(STRING, "Time of the next start."),
        "remaining_executions": Attr(INTEGER, "Number of starts that remain."),
    }
    relations = (AtLeastOne("pattern", "first_time"),)
    service = SERVICE
    identified_by = IntentKey.NATURAL_KEY
    known_by = "its name, which is unique in a project"

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.create, self.find),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.delete),) if ctx.physical_id else ()

    def fields(self, ctx: ResourceContext) -> Body:
        """Return the fields of the create call."""
        workflow = ctx.properties["workflow"]
        values_by_field = {
            "name": ctx.wanted_name,
            "workflow_name": workflow["name"],
            "workflow_input": json.dumps(workflow.get("input") or {}),
            "pattern": ctx.given("pattern"),
            "first_execution_time": ctx.given("first_time"),
            "remaining_executions": ctx.given("count"),
        }
        return {name: value for name, value in values_by_field.items() if value is not None}

    async def create(self, ctx: ResourceContext) -> Made:
        """Create the trigger. Its name must be unique in the project."""
        body = self.fields(ctx)
        answer = await ctx.cloud.request(SERVICE, "POST", "/cron_triggers", json=body)
        return Made(physical_id=ctx.wanted_name, body=answer.body)

    async def find(self, ctx: ResourceContext) -> Made | None:
        """Return the existing trigger with this name if its input and pattern are the same, else
        None.
        """
        try:
            body = await self._get(ctx, ctx.wanted_name)
        except NotFound:
            return None
        fields = self.fields(ctx)
        is_equal = parse_json(body["workflow_input"] or "{}") == parse_json(
            fields["workflow_input"]
        )
        if not is_equal or body.get("pattern") != fields.get("pattern"):
            return None
        return Made(physical_id=ctx.wanted_name, body=body)

    async def delete(self, ctx: ResourceContext) -> Made | None:
        """Delete the trigger."""
        path = f"/cron_triggers/{segment(ctx.physical)}"
        await forgiving(ctx.cloud.request(SERVICE, "DELETE", path, idempotent=True))
        return None

    async def show(self, ctx: ResourceContext) -> Mapping[str, Any] | None:
        return await self._get(ctx, ctx.physical)

    async def _get(self, ctx: ResourceContext, name: str) -> Body:
        path = f"/cron_triggers/{segment(name)}"
        body: Body = (await ctx.cloud.request(SERVICE, "GET", path)).body
        return body
