"""Alarms on metrics in Gnocchi: of one resource, of several metrics, of many resources."""

from collections.abc import Mapping

from hearth.resources.aodh.base import COMMON, THRESHOLD, Alarm
from hearth.schema import INTEGER, LIST, STRING, Prop

_MEASURED: Mapping[str, Prop] = {
    **COMMON,
    **THRESHOLD,
    "aggregation_method": Prop(
        STRING, "How the measures of a period are aggregated.", update_allowed=True
    ),
    "evaluation_periods": Prop(INTEGER, "Number of periods to evaluate.", update_allowed=True),
    "granularity": Prop(INTEGER, "Length of a period, in seconds.", update_allowed=True),
}
_METRIC = Prop(STRING, "Name of the metric.", required=True, update_allowed=True)
_RESOURCE_TYPE = Prop(STRING, "Type of the resource.", required=True, update_allowed=True)


class GnocchiResourcesAlarm(Alarm):
    """An alarm on a metric of one resource."""

    type_name = "OS::Aodh::GnocchiResourcesAlarm"
    properties = {
        **_MEASURED,
        "metric": _METRIC,
        "resource_id": Prop(STRING, "Id of the resource.", required=True, update_allowed=True),
        "resource_type": _RESOURCE_TYPE,
    }
    alarm_type = "gnocchi_resources_threshold"


class GnocchiAggregationByMetricsAlarm(Alarm):
    """An alarm on the aggregate of several metrics."""

    type_name = "OS::Aodh::GnocchiAggregationByMetricsAlarm"
    properties = {
        **_MEASURED,
        "metrics": Prop(LIST, "Ids of the metrics.", required=True, update_allowed=True),
    }
    alarm_type = "gnocchi_aggregation_by_metrics_threshold"


class GnocchiAggregationByResourcesAlarm(Alarm):
    """An alarm on a metric, aggregated over all resources that a query finds."""

    type_name = "OS::Aodh::GnocchiAggregationByResourcesAlarm"
    properties = {
        **_MEASURED,
        "metric": _METRIC,
        "query": Prop(
            STRING,
            "Query for the resources, as JSON in the format of Gnocchi.",
            required=True,
            update_allowed=True,
        ),
        "resource_type": _RESOURCE_TYPE,
    }
    alarm_type = "gnocchi_aggregation_by_resources_threshold"
