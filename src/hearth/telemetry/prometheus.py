"""Counts the work of a process for Prometheus."""

import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from hearth.telemetry import catalog
from hearth.telemetry.catalog import METRICS, Metric, MetricKind
from hearth.telemetry.observer import Observer, Rows

LABEL_MAX = 100  # characters


class Metrics(Observer):
    """The metrics of one process; `exposition` returns the text that a Prometheus server reads."""

    def __init__(self) -> None:
        # no second series beside each counter with the time of its creation
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._families: dict[str, Any] = {}
        self._children: dict[tuple[str, ...], Any] = {}
        for metric in METRICS:
            if metric.kind is MetricKind.HISTOGRAM:
                self._families[metric.name] = Histogram(
                    metric.name,
                    metric.text,
                    metric.labels,
                    buckets=metric.buckets,
                    registry=self._registry,
                )
            elif metric.kind is MetricKind.COUNTER and metric is not catalog.STATEMENTS:
                self._families[metric.name] = Counter(
                    metric.name, metric.text, metric.labels, registry=self._registry
                )
        self._measured = _Measured()
        self._registry.register(self._measured)
        _Process(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def exposition(self) -> bytes:
        """Return all metrics in the text format of Prometheus, version 0.0.4."""
        return generate_latest(self._registry)

    def measure(self, metric: str, rows: Rows) -> None:
        """Register the function that returns the values of a metric, which replaces an earlier
        one.
        """
        self._measured.rows[metric] = rows

    def _child(self, metric: Metric, *labels: str) -> Any:
        """Return the time series of a metric with these label values, which are truncated if they
        are long.
        """
        key = (metric.name, *labels)
        child = self._children.get(key)
        if child is None:
            family = self._families[metric.name]
            child = family.labels(*(label[:LABEL_MAX] for label in labels)) if labels else family
            self._children[key] = child
        return child

    def request_ended(self, api: str, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self._child(catalog.REQUESTS, api, method, route, str(status)).inc()
        self._child(catalog.REQUEST_S, api, route).observe(seconds)

    def operation_begun(self, action: str, manner: str) -> None:
        """Count an operation that this process works on."""
        self._child(catalog.BEGUN, action, manner).inc()

    def operation_ended(self, action: str, status: str, seconds: float) -> None:
        """Count the end of an operation."""
        self._child(catalog.OPERATIONS, action, status).inc()
        self._child(catalog.OPERATION_S, action).observe(seconds)

    def resource_ended(
        self, type_name: str, action: str, status: str, seconds: float | None
    ) -> None:
        """Count the end of an action on a resource."""
        self._child(catalog.RESOURCES, type_name, action, status).inc()
        if seconds is not None:
            self._child(catalog.RESOURCE_S, action).observe(seconds)

    def attempt_repeated(self, action: str) -> None:
        """Count an action that is tried again."""
        self._child(catalog.REPEATED, action).inc()

    def call_ended(self, service: str, method: str, status: int, seconds: float) -> None:
        """Count a call to a service."""
        self._child(catalog.CALLS, service, method, str(status)).inc()
        self._child(catalog.CALL_S, service).observe(seconds)

    def call_repeated(self, service: str) -> None:
        """Count a call that is sent again."""
        self._child(catalog.CALLS_REPEATED, service).inc()

    def committed(self, stacks: int, rows: int, seconds: float) -> None:
        """Count a transaction of the engine."""
        self._child(catalog.COMMIT_STACKS).observe(stacks)
        self._child(catalog.COMMIT_ROWS).observe(rows)
        self._child(catalog.COMMIT_S).observe(seconds)

    def message_delivered(self, seconds: float) -> None:
        """Count a message that reached the engine that owns its stack."""
        self._child(catalog.MESSAGE_S).observe(max(0.0, seconds))

    def ownership_lost(self) -> None:
        """Count a stack that another engine took over."""
        self._child(catalog.LOST).inc()

    def cluster_task_ended(self, action: str, status: str) -> None:
        """Count the end of a task of a cluster."""
        self._child(catalog.CLUSTER_TASKS, action, status).inc()

    def drift_checked(self, result: str) -> None:
        """Count a drift check."""
        self._child(catalog.DRIFT_CHECKS, result).inc()


class _Measured(Collector):
    """The metrics whose values are computed each time a Prometheus server reads them."""

    def __init__(self) -> None:
        self.rows: dict[str, Rows] = {}

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Yield the metrics with their current values."""
        for metric in METRICS:
            if metric.name not in self.rows:
                continue
            family_class = (
                GaugeMetricFamily if metric.kind is MetricKind.GAUGE else CounterMetricFamily
            )
            family = family_class(metric.name, metric.text, labels=metric.labels)
            for labels, value in self.rows[metric.name]():
                family.add_metric(labels, value)
            yield family


class _Process(ProcessCollector):
    """The measurements of this process, also where /proc has processes only, as with `ProcSubset=`
    of systemd.
    """

    def _boot_time(self) -> float:
        """Return the start of the machine in seconds since the epoch; /proc/stat has it, too.

        Raises OSError if this is not Linux.
        """
        if not hasattr(time, "CLOCK_BOOTTIME"):
            raise OSError("no clock counts from the start of the machine")
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
