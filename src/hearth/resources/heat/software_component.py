"""OS::Heat::SoftwareComponent: one configuration per action.

Source: docs/spec/software-config.md, section 1.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hearth.resources.base import ResourceContext
from hearth.resources.heat.software_config import TOLD, ConfigResource
from hearth.schema import LIST, MAP, STRING, Check, Length, Prop, Support, Violation

DEFAULT_ACTIONS = ("CREATE", "UPDATE")


def _repeated(configs: Sequence[Mapping[str, Any]] | None) -> Iterator[Violation]:
    actions = [action for config in configs or () for action in config["actions"]]
    for action, times in Counter(actions).items():
        if times > 1:
            message = f"the action {action} may occur in one configuration only"
            yield Violation(("configs",), message)


class SoftwareComponent(ConfigResource):
    """Configurations of a software component, one for each action. It cannot be updated."""

    type_name = "OS::Heat::SoftwareComponent"
    support = Support(version="2014.2")
    properties = {
        "configs": Prop(
            LIST,
            "The configurations. An action may occur in one of them only.",
            required=True,
            constraints=(Length(min=1),),
            schema=Prop(
                MAP,
                schema={
                    "actions": Prop(
                        LIST,
                        "Actions that run the configuration: of stacks or of the tool.",
                        default=list(DEFAULT_ACTIONS),
                        constraints=(Length(min=1),),
                        schema=Prop(STRING),
                    ),
                    "config": Prop(STRING, "Text for the hook."),
                    "tool": Prop(
                        STRING, "Name of the hook on the server, such as script.", required=True
                    ),
                },
            ),
        ),
        **TOLD,
    }
    relations = (Check("configs: an action may occur in one of them only", _repeated, "configs"),)

    def group(self, ctx: ResourceContext) -> str:
        return "component"

    async def content(self, ctx: ResourceContext) -> Any:
        return {"configs": ctx.properties["configs"]}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return None if name == "config" else await super().attribute(ctx, name)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"config": None}
