"""OS::Heat::TestResource: waits, fails and is replaced on demand."""

from typing import Any

from hearth.resources.base import (
    NOTHING_MADE,
    Change,
    Failed,
    IntentKey,
    Later,
    Live,
    Made,
    Progress,
    Ready,
    ResourceType,
    Step,
)
from hearth.schema import BOOLEAN, MAP, NUMBER, STRING, Attr, Prop, Support


class TestResource(ResourceType):
    """A resource for trying out templates and engines."""

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
        "client_name": Prop(STRING, "Service to ask.", default="", update_allowed=True),
        "constraint_prop_secs": Prop(
            NUMBER,
            "Seconds that checking this value takes.",
            default=0,
            update_allowed=True,
            constraint="test_constr",
            since="6.0.0",
        ),
        "entity_name": Prop(STRING, "Collection to ask.", default="", update_allowed=True),
        "fail": Prop(BOOLEAN, "Whether every action fails.", default=False, update_allowed=True),
        "update_replace": Prop(
            BOOLEAN, "Whether an update asks for a replacement.", default=False, update_allowed=True
        ),
        "update_replace_value": Prop(
            STRING, "A value whose change asks for a replacement.", since="7.0.0"
        ),
        "value": Prop(STRING, "A text to give back.", default="test_string", update_allowed=True),
        "wait_secs": Prop(
            NUMBER, "Seconds that every action takes.", default=0, update_allowed=True
        ),
    }
    attributes = {
        "output": Attr(None, "The text given.", cached=False),
    }
    __test__ = False  # no test of ours
    identified_by = IntentKey.OWN_ID
    known_by = NOTHING_MADE
    visibility_delay_s = 0

    def create_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("create", self.begin, poll=self.wait),)

    def update_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("update", self.begin, poll=self.wait),)

    def delete_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("delete", self.nothing, poll=self.wait),) if live.physical_id else ()

    def check_steps(self, live: Live) -> tuple[Step, ...]:
        return (Step("check", self.nothing),)

    async def begin(self, live: Live) -> Made:
        """Take over the text."""
        return Made(live.physical_id or live.physical_name, data={"value": self.text(live)})

    async def nothing(self, live: Live) -> Made | None:
        return None

    async def wait(self, live: Live) -> Progress:
        """Wait as long as asked, then fail if asked."""
        per_action = (live.given("action_wait_secs") or {}).get(live.action.value.lower())
        wanted_s = float(live.given("wait_secs") or 0 if per_action is None else per_action)
        left_s = live.started_at + wanted_s - live.now
        if left_s > 0:
            return Later(left_s)
        if live.given("fail") and live.action.value != "DELETE":
            return Failed(f"Test Resource failed {live.name}", "ValueError")
        return Ready()

    def must_replace(self, change: Change) -> str | None:
        if "update_replace" in change.changed and change.after.get("update_replace"):
            return "update_replace asks for it"
        return None

    def recordable(self, live: Live) -> dict[str, Any]:
        return {"output": live.data.get("value", self.text(live))}

    async def attribute(self, live: Live, name: str) -> Any:
        return live.data.get("value") if name == "output" else None

    def text(self, live: Live) -> str:
        """The text to give back."""
        return str(live.given("value") or "")
