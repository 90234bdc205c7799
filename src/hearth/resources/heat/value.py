"""OS::Heat::Value: a value with a name."""

from typing import Any

from hearth.model.span import Span
from hearth.resources.base import NOTHING_MADE, IntentKey, Live, ResourceType
from hearth.schema import ANY, STRING, AllowedValues, Attr, Findings, Kind, Prop, Support, coerce

TYPES = {
    "string": Kind.STRING,
    "number": Kind.NUMBER,
    "comma_delimited_list": Kind.LIST,
    "json": Kind.MAP,
    "boolean": Kind.BOOLEAN,
}


class Value(ResourceType):
    """Keeps a value, so that an expression is written once."""

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
        "value": Prop(ANY, "The value.", required=True, update_allowed=True),
    }
    attributes = {
        "value": Attr(None, "The value."),
    }
    pure = True
    identified_by = IntentKey.OWN_ID
    known_by = NOTHING_MADE
    visibility_delay_s = 0

    def recordable(self, live: Live) -> dict[str, Any]:
        return {"value": self.value_of(live)}

    async def attribute(self, live: Live, name: str) -> Any:
        return self.value_of(live) if name == "value" else None

    def value_of(self, live: Live) -> Any:
        """The value as the declared type."""
        value, wanted = live.given("value"), live.given("type")
        if wanted is None or value is None:
            return value
        prop = Prop(TYPES[wanted], allow_conversion=True)
        return coerce(prop, value, Span(path=live.name), Findings())
