"""OS::Heat::TestResource: waits, fails or requests replacement, as its properties specify."""

from typing import Any

from hearth.resources.base import (
    Change,
    Failed,
    Later,
    Made,
    Progress,
    Ready,
    ResourceContext,
    ResourceType,
    Step,
)
from hearth.schema import BOOLEAN, MAP, NUMBER, STRING, Attr, Prop, Support


class TestResource(ResourceType):
    """A resource for testing templates and engines."""

    type_name = "OS::Heat::TestResource"
    support = Support(version="5.0.0")
    properties = {
        "action_wait_secs": Prop(
            MAP,
            "Seconds to wait, per action.",
            update_allowed=True,
            schema={
                "create": Prop(NUMBER, "Seconds a create takes.", update_allowed=True),
                "delete": Prop(NUMBER, "Seconds a delete takes.", update_allowed=True),
                "update": Prop(NUMBER, "Seconds an update takes.", update_allowed=True),
            },
        ),
        "attr_wait_secs": Prop(
            NUMBER,
            "Seconds that reading the attribute takes.",
            default=0,
            update_allowed=True,
            since="6.0.0",
        ),
        "client_name": Prop(
            STRING, "Service that validates the value.", default="", update_allowed=True
        ),
        "constraint_prop_secs": Prop(
            NUMBER,
            "Seconds that checking this value takes.",
            default=0,
            update_allowed=True,
            constraint="test_constr",
            since="6.0.0",
        ),
        "entity_name": Prop(
            STRING,
            "Collection of the service that validates the value.",
            default="",
            update_allowed=True,
        ),
        "fail": Prop(
            BOOLEAN, "true: a create or an update fails.", default=False, update_allowed=True
        ),
        "update_replace": Prop(
            BOOLEAN,
            "true: an update that changes value requests a replacement.",
            default=False,
            update_allowed=True,
        ),
        "update_replace_value": Prop(
            STRING, "A value whose change requests a replacement.", since="7.0.0"
        ),
        "value": Prop(
            STRING, "Text for the attribute output.", default="test_string", update_allowed=True
        ),
        "wait_secs": Prop(
            NUMBER, "Seconds that every action takes.", default=0, update_allowed=True
        ),
    }
    attributes = {
        "output": Attr(None, "The value of the property value.", cached=False),
    }
    __test__ = False  # no test of ours

    def create_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("create", self.begin, poll=self.wait),)

    def update_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("update", self.begin, poll=self.wait),)

    def delete_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("delete", self.nothing, poll=self.wait),) if ctx.physical_id else ()

    def check_steps(self, ctx: ResourceContext) -> tuple[Step, ...]:
        return (Step("check", self.nothing),)

    async def begin(self, ctx: ResourceContext) -> Made:
        """Store the value of the property `value`."""
        return Made(ctx.physical_id or ctx.physical_name, data={"value": self.text(ctx)})

    async def nothing(self, ctx: ResourceContext) -> Made | None:
        return None

    async def wait(self, ctx: ResourceContext) -> Progress:
        """Report ready after the waiting time; except in a delete, fail if `fail` is true."""
        per_action = (ctx.given("action_wait_secs") or {}).get(ctx.action.value.lower())
        wanted_s = float(ctx.given("wait_secs") or 0 if per_action is None else per_action)
        left_s = ctx.started_at + wanted_s - ctx.now
        if left_s > 0:
            return Later(left_s)
        if ctx.given("fail") and ctx.action.value != "DELETE":
            return Failed(f"Test Resource failed {ctx.name}", "ValueError")
        return Ready()

    def must_replace(self, change: Change) -> str | None:
        if "value" in change.changed and change.after.get("update_replace"):
            return "update_replace is true, and value changes"
        return None

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"output": ctx.data.get("value", self.text(ctx))}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return ctx.data.get("value") if name == "output" else None

    def text(self, ctx: ResourceContext) -> str:
        """Return the value of the attribute `output`."""
        return str(ctx.given("value") or "")
