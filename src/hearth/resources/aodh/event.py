"""OS::Aodh::EventAlarm: an alarm on events of a service."""

from hearth.resources.aodh.base import COMMON, COMPARISONS, Alarm
from hearth.schema import LIST, MAP, STRING, AllowedValues, Prop, Support


class EventAlarm(Alarm):
    """An alarm that is raised by an event that meets all conditions."""

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
                    "field": Prop(STRING, "Field of the event, such as traits.instance_id."),
                    "op": Prop(STRING, "Operator of the comparison.", constraints=(COMPARISONS,)),
                    "type": Prop(
                        STRING,
                        "Type of the value.",
                        default="string",
                        constraints=(
                            AllowedValues(["integer", "float", "string", "boolean", "datetime"]),
                        ),
                    ),
                    "value": Prop(STRING, "Value to compare with."),
                },
            ),
            empty_is_none=True,
        ),
    }
    alarm_type = "event"
