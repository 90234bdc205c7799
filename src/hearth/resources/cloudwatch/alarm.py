"""AWS::CloudWatch::Alarm: a nested stack with an alarm on a metric in Gnocchi."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hearth.model.unknown import unknown_in
from hearth.resources.base import Child, ResourceContext
from hearth.resources.capabilities import NestedType
from hearth.resources.cloudwatch.metrics import (
    GROUP,
    metric_of,
    query,
)
from hearth.resources.heat.group import template_of
from hearth.schema import LIST, STRING, AllowedValues, Check, Fits, Prop, Support, Violation

COMPARISONS = {
    "GreaterThanOrEqualToThreshold": "ge",
    "GreaterThanThreshold": "gt",
    "LessThanThreshold": "lt",
    "LessThanOrEqualToThreshold": "le",
}
ACTIONS = {
    "AlarmActions": "alarm_actions",
    "InsufficientDataActions": "insufficient_data_actions",
    "OKActions": "ok_actions",
}
OF_PROJECT = {
    "str_replace": {
        "template": '{"=": {"project_id": "PROJECT"}}',
        "params": {"PROJECT": {"get_param": "OS::project_id"}},
    }
}
"""The query for all resources of the project, as a template expression."""

_SIZES = tuple(
    f"{prefix}{unit}".capitalize()
    for unit in ("bytes", "bits")
    for prefix in ("", "kilo", "mega", "giga", "tera")
)
UNITS = [
    *("Seconds", "Microseconds", "Milliseconds", *_SIZES, "Percent", "Count"),
    *(f"{name}/Second" for name in (*_SIZES, "Count")),
    "None",
]


def _actions(state: str) -> Prop:
    description = f"URLs to call when the state becomes {state}."
    return Prop(LIST, description, update_allowed=True, allow_conversion=True)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _unfit(name: str, dimensions: Sequence[Any] | None) -> Iterator[Violation]:
    """Yield a violation for each dimension by which the metric cannot be selected."""
    for number, dimension in enumerate(dimensions or []):
        if not isinstance(dimension, Mapping) or not {"Name", "Value"} <= dimension.keys():
            yield Violation(("Dimensions", number), "expected a map of Name and Value")
        elif metric_of(name).field(str(dimension["Name"])) is None:
            message = f"{name} can be selected by InstanceId only"
            yield Violation(("Dimensions", number), message)


def _number(description: str) -> Prop:
    return Prop(STRING, description, required=True, update_allowed=True)


class Alarm(NestedType):
    """An alarm on a metric of servers: a nested stack with an alarm of Aodh."""

    type_name = "AWS::CloudWatch::Alarm"
    support = Support()
    properties = {
        "AlarmActions": _actions("alarm"),
        "AlarmDescription": Prop(STRING, "Description.", update_allowed=True),
        "ComparisonOperator": Prop(
            STRING,
            "How values are compared with the threshold.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(list(COMPARISONS)),),
        ),
        "Dimensions": Prop(
            LIST,
            "Conditions that select the resources, each a map of Name and Value.",
            update_allowed=True,
            allow_conversion=True,
        ),
        "EvaluationPeriods": _number("Number of periods to evaluate."),
        "InsufficientDataActions": _actions("insufficient data"),
        "MetricName": Prop(STRING, "Name of the metric.", required=True, update_allowed=True),
        "Namespace": Prop(
            STRING, "Accepted for compatibility: metrics have no namespaces.", update_allowed=True
        ),
        "OKActions": _actions("ok"),
        "Period": _number("Length of a period, in seconds."),
        "Statistic": Prop(
            STRING,
            "How the measures of a period are aggregated.",
            required=True,
            update_allowed=True,
            constraints=(AllowedValues(["SampleCount", "Average", "Sum", "Minimum", "Maximum"]),),
        ),
        "Threshold": _number("Value that the measures are compared with."),
        "Units": Prop(
            STRING,
            "Accepted for compatibility: a metric has one unit.",
            update_allowed=True,
            constraints=(AllowedValues(UNITS),),
        ),
    }

    relations = (
        Fits("EvaluationPeriods", str.isdecimal, "expected a whole number"),
        Fits("Period", str.isdecimal, "expected a whole number"),
        Fits("Threshold", _is_number, "expected a number"),
        Check(
            "Dimensions: each is a map of Name and Value that the metric can be selected by",
            _unfit,
            "MetricName",
            "Dimensions",
        ),
    )

    async def prepare(self, ctx: ResourceContext) -> None:
        """Find the names of the groups that the dimensions refer to."""
        values = [
            str(dimension["Value"])
            for dimension in _dimensions(ctx.properties)
            if dimension["Name"] == GROUP
        ]
        names = {value: ctx.name_of(value) for value in values}
        ctx.prepared = {
            "groups": {value: name for value, name in names.items() if name is not None}
        }

    def child(self, ctx: ResourceContext) -> Child:
        return Child(_template(ctx.properties, ctx.prepared.get("groups", {})))

    def nested_definition(self, properties: Mapping[str, Any]) -> Any:
        relevant = {name: value for name, value in properties.items() if name not in ACTIONS}
        return None if unknown_in(relevant) is not None else _template(relevant, {})


def _dimensions(properties: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the dimensions that are maps; others are refused when the template is checked."""
    dimensions = properties.get("Dimensions") or []
    return [
        dimension
        for dimension in dimensions
        if isinstance(dimension, Mapping) and {"Name", "Value"} <= dimension.keys()
    ]


def _template(properties: Mapping[str, Any], groups: Mapping[str, str]) -> dict[str, Any]:
    """Return the template of the nested stack. `groups` has the names of groups by reference."""
    metric, period = metric_of(str(properties["MetricName"])), properties["Period"]
    chosen = query(metric, _dimensions(properties), groups)
    alarm: dict[str, Any] = {
        "metric": metric.name,
        "resource_type": metric.resource_type,
        "aggregation_method": metric.method(properties["Statistic"]),
        "comparison_operator": COMPARISONS[properties["ComparisonOperator"]],
        "evaluation_periods": properties["EvaluationPeriods"],
        "granularity": period,
        "threshold": metric.threshold(properties["Threshold"], period),
        "query": chosen or OF_PROJECT,
    }
    if properties.get("AlarmDescription"):
        alarm["description"] = properties["AlarmDescription"]
    for name, ours in ACTIONS.items():
        if urls := [url for url in properties.get(name) or [] if "://" in str(url)]:
            alarm[ours] = urls
    kind = "OS::Aodh::GnocchiAggregationByResourcesAlarm"
    return template_of({"alarm": {"type": kind, "properties": alarm}})
