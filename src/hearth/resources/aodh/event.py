"""OS::Aodh::EventAlarm: an alarm on events of a service."""

from hearth.resources.aodh.base import COMMON, COMPARISONS, Alarm
from hearth.schema import LIST, MAP, STRING, AllowedValues, Prop, Support


class EventAlarm(Alarm):
    """Raised by an event of a service that meets all conditions."""

    type_name = "OS::Aodh::EventAlarm"
    support = Support(version="8.0.0")
    properties = {
        **COMMON,
        "event_type": Prop(
            STRING,
            "Type of the event; * stands for any text.",
            default="*",
            update_allowed=True,
            empty_is_none=True,
        ),
        "query": Prop(
            LIST,
            "Conditions that must all be met.",
            update_allowed=True,
            schema=Prop(
                MAP,
                schema={
                    "field": Prop(STRING, "What is compared, such as traits.instance_id."),
                    "op": Prop(STRING, "How.", constraints=(COMPARISONS,)),
                    "type": Prop(
                        STRING,
                        "As what.",
                        default="string",
                        constraints=(
                            AllowedValues(["integer", "float", "string", "boolean", "datetime"]),
                        ),
                    ),
                    "value": Prop(STRING, "With what."),
                },
            ),
            empty_is_none=True,
        ),
    }
    alarm_type = "event"
