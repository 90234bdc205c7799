"""OS::Aodh::Alarm: an alarm on a meter of Ceilometer, for clouds that have threshold rules."""

from hearth.resources.aodh.base import COMMON, COMPARISONS, THRESHOLD, Alarm
from hearth.schema import (
    INTEGER,
    LIST,
    MAP,
    STRING,
    AllowedValues,
    Prop,
    Support,
    SupportStatus,
)


class ThresholdAlarm(Alarm):
    """An alarm on a meter of Ceilometer, which needs an Aodh from before Queens."""

    type_name = "OS::Aodh::Alarm"
    support = Support(
        SupportStatus.DEPRECATED,
        version="10.0.0",
        message=(
            "Aodh no longer has threshold rules since Queens; use "
            "OS::Aodh::GnocchiAggregationByResourcesAlarm"
        ),
        previous=Support(version="2014.1"),
    )
    properties = {
        **COMMON,
        **THRESHOLD,
        "evaluation_periods": Prop(INTEGER, "Number of periods to evaluate.", update_allowed=True),
        "matching_metadata": Prop(
            MAP,
            "Metadata of the samples, for example of those of all servers of a group.",
            default={},
            update_allowed=True,
        ),
        "meter_name": Prop(STRING, "Name of the meter.", required=True),
        "period": Prop(INTEGER, "Length of a period, in seconds.", update_allowed=True),
        "query": Prop(
            LIST,
            "Conditions that samples must meet.",
            update_allowed=True,
            since="2015.1",
            schema=Prop(
                MAP,
                schema={
                    "field": Prop(STRING, "Field of the sample, such as resource_id."),
                    "op": Prop(STRING, "Operator of the comparison.", constraints=(COMPARISONS,)),
                    "type": Prop(
                        STRING,
                        "Type of the value.",
                        default="string",
                        since="8.0.0",
                        constraints=(
                            AllowedValues(["integer", "float", "string", "boolean", "datetime"]),
                        ),
                    ),
                    "value": Prop(STRING, "Value to compare with."),
                },
            ),
        ),
        "statistic": Prop(
            STRING,
            "How the samples of a period are aggregated.",
            update_allowed=True,
            constraints=(AllowedValues(["count", "avg", "sum", "min", "max"]),),
        ),
    }
    alarm_type = "threshold"
