"""Metrics of CloudWatch in the terms of Gnocchi, as Ceilometer stores them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

GROUP = "AutoScalingGroupName"
STATISTICS = {
    "Average": "mean",
    "Maximum": "max",
    "Minimum": "min",
    "SampleCount": "count",
    "Sum": "sum",
}
"""The aggregation methods of Gnocchi, by statistic."""

_NS_PER_PERCENT = 1e7  # of one processor in a second
_SUFFIX = 12  # characters at the end of a group's name, which occur in no other name
_OF_SERVER = {"ImageId": "image_ref", "InstanceId": "id", "InstanceType": "flavor_name"}


class Metric(Struct, frozen=True):
    """A metric in Gnocchi, and the type of the resources that it belongs to.

    If `grows`, its value is a total, and an alarm compares its growth. `percent` means that the
    metric of CloudWatch is a percentage and that of Gnocchi a time in nanoseconds.
    """

    name: str
    resource_type: str = "instance"
    grows: bool = False
    percent: bool = False

    def method(self, statistic: str) -> str:
        """Return the aggregation method for a statistic, such as "rate:mean"."""
        method = STATISTICS[statistic]
        return f"rate:{method}" if self.grows and method != "count" else method

    def threshold(self, threshold: Any, period: Any) -> Any:
        """Return a threshold in the unit of the metric, for periods of `period` seconds.

        What is not a number stays as it is.
        """
        try:
            number = float(threshold)
            return number * _NS_PER_PERCENT * float(period) if self.percent else number
        except (TypeError, ValueError):
            return threshold

    def field(self, dimension: str) -> str | None:
        """Return the field of the resources that a dimension selects by; None if there is none."""
        if self.resource_type == "instance":
            return _OF_SERVER.get(dimension, dimension)
        return "instance_id" if dimension == "InstanceId" else None


def _device(name: str) -> Metric:
    return Metric(f"disk.device.{name}", "instance_disk", grows=True)


def _interface(name: str) -> Metric:
    return Metric(f"network.{name}", "instance_network_interface", grows=True)


METRICS: Mapping[str, Metric] = {
    "CPUUtilization": Metric("cpu", grows=True, percent=True),
    "DiskReadBytes": _device("read.bytes"),
    "DiskReadOps": _device("read.requests"),
    "DiskWriteBytes": _device("write.bytes"),
    "DiskWriteOps": _device("write.requests"),
    "NetworkIn": _interface("incoming.bytes"),
    "NetworkOut": _interface("outgoing.bytes"),
    "NetworkPacketsIn": _interface("incoming.packets"),
    "NetworkPacketsOut": _interface("outgoing.packets"),
}
"""The metrics of Gnocchi, by the name of a metric in CloudWatch."""

Names = Mapping[str, str]


def metric_of(name: str) -> Metric:
    """Return the metric for a name in CloudWatch; an unknown name is a metric of servers."""
    return METRICS.get(name) or Metric(name)


def query(metric: Metric, dimensions: Iterable[Mapping[str, Any]], groups: Names) -> str:
    """Return the query for the resources that all dimensions select; empty without dimensions.

    `groups` has the name of each group by its reference.
    """
    conditions = [_condition(metric, str(d["Name"]), d["Value"], groups) for d in dimensions]
    if not conditions:
        return ""
    return json.dumps(conditions[0] if len(conditions) == 1 else {"and": conditions})


def _condition(metric: Metric, dimension: str, value: Any, groups: Names) -> dict[str, Any]:
    """Return one condition of a query.

    The names of a group's servers contain the end of the group's name, even if they are shortened.
    """
    if dimension == GROUP and value in groups:
        return {"like": {"display_name": f"%{groups[value][-_SUFFIX:]}-%"}}
    field = "server_group" if dimension == GROUP else metric.field(dimension)
    return {"=": {field: value}}
