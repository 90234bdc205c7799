"""OS::Heat::Value: a named value."""

from typing import Any

from hearth.model.span import Span
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import Immediate, Mirrors
from hearth.schema import (
    ANY,
    STRING,
    AllowedValues,
    Attr,
    Check,
    Findings,
    Prop,
    Support,
    ValueKind,
    Violation,
    coerce,
)

TYPES = {
    "string": ValueKind.STRING,
    "number": ValueKind.NUMBER,
    "comma_delimited_list": ValueKind.LIST,
    "json": ValueKind.MAP,
    "boolean": ValueKind.BOOLEAN,
}


def _of_another_type(name: str | None, value: Any) -> list[Violation]:
    """Return a violation if the value does not have the type that the property `type` names."""
    kind = TYPES.get(name or "")
    if kind is None or value is None:
        return []
    findings = Findings()
    coerce(Prop(kind), value, Span(path="value"), findings)
    return [Violation(("value",), problem.text) for problem in findings.problems]


class Value(Immediate, Mirrors):
    """A named value, so that a template computes an expression only once."""

    type_name = "OS::Heat::Value"
    support = Support(version="7.0.0")
    properties = {
        "type": Prop(
            STRING,
            "Type of the value.",
            update_allowed=True,
            constraints=(
                AllowedValues(["string", "number", "comma_delimited_list", "json", "boolean"]),
            ),
        ),
        "value": Prop(ANY, "The value.", required=True, nullable=True, update_allowed=True),
    }
    attributes = {
        "value": Attr(None, "The value."),
    }
    mirrors = {"value": "value"}
    relations = (
        Check("the value has the type that type names", _of_another_type, "type", "value"),
    )

    def recordable(self, ctx: ResourceContext) -> dict[str, Any]:
        return {"value": ctx.given("value")}

    async def attribute(self, ctx: ResourceContext, name: str) -> Any:
        return ctx.given("value") if name == "value" else None
