"""AWS::CloudFormation::Stack: a nested stack whose template has a URL.

Source: docs/spec/groups-and-nesting.md, section 2.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.resources.base import Child, ResourceContext
from hearth.resources.capabilities import NestedType, identifier
from hearth.schema import INTEGER, MAP, STRING, Prop, Support

OUTPUTS = "Outputs."


class Stack(NestedType):
    """A nested stack. Each create and update fetches its template again."""

    type_name = "AWS::CloudFormation::Stack"
    support = Support()
    properties = {
        "Parameters": Prop(MAP, "Parameters of the stack.", update_allowed=True),
        "TemplateURL": Prop(
            STRING,
            "Address of its template, or the name of a file of the request.",
            required=True,
            update_allowed=True,
        ),
        "TimeoutInMinutes": Prop(
            INTEGER, "Timeout of an operation, in minutes.", update_allowed=True
        ),
    }

    def addresses(self, properties: Mapping[str, Any]) -> Sequence[str]:
        url = properties.get("TemplateURL")
        return [url] if isinstance(url, str) else []

    async def prepare(self, ctx: ResourceContext) -> None:
        ctx.prepared = {"template": await ctx.fetched(str(ctx.given("TemplateURL")))}

    def child(self, ctx: ResourceContext) -> Child:
        return Child(
            template=ctx.prepared["template"],
            parameters=dict(ctx.given("Parameters") or {}),
            timeout_mins=ctx.given("TimeoutInMinutes"),
        )

    def reference(self, ctx: ResourceContext) -> str:
        return identifier(ctx)

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {f"{OUTPUTS}{name}": value for name, value in ctx.outputs.items()}
