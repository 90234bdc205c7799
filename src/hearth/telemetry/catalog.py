"""The metrics of Hearth. Dashboards and alerts depend on their names and labels."""

from enum import StrEnum

from msgspec import Struct

FAST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LONG_S = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
COUNTS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)


class MetricKind(StrEnum):
    """The kind of a metric, as Prometheus names it."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(Struct, frozen=True):
    """A metric; `text` is its description. The name of a counter ends with `_total`.

    Only a histogram has `buckets`, the upper limits of its ranges.
    """

    name: str
    kind: MetricKind
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.COUNTER, text, labels)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(name, MetricKind.GAUGE, text, labels)


def _histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Metric:
    return Metric(name, MetricKind.HISTOGRAM, text, labels, buckets)


REQUESTS = _counter(
    "hearth_http_requests_total", "Answered requests", "api", "method", "route", "status"
)
REQUEST_S = _histogram(
    "hearth_http_request_seconds", "Time from request to answer", FAST_S, "api", "route"
)
BEGUN = _counter(
    "hearth_operations_begun_total",
    "Operations that this process began to work on: started, continued, or taken over",
    "action",
    "how",
)
OPERATIONS = _counter(
    "hearth_operations_total", "Operations of stacks that ended here", "action", "status"
)
OPERATION_S = _histogram(
    "hearth_operation_seconds", "Time from the start of an operation to its end", LONG_S, "action"
)
RESOURCES = _counter(
    "hearth_resource_actions_total",
    "Actions on resources that ended here",
    "type",
    "action",
    "status",
)
RESOURCE_S = _histogram(
    "hearth_resource_action_seconds", "Time of an action on a resource", LONG_S, "action"
)
REPEATED = _counter(
    "hearth_resource_retries_total", "Failed actions on resources that were tried again", "action"
)
CALLS = _counter(
    "hearth_cloud_calls_total",
    "Calls to services of the cloud; the code is 0 without an answer",
    "service",
    "method",
    "code",
)
CALL_S = _histogram(
    "hearth_cloud_call_seconds", "Time of a call, without waiting for its turn", FAST_S, "service"
)
CALLS_REPEATED = _counter(
    "hearth_cloud_call_retries_total", "Calls that were sent again after a failure", "service"
)
CALLS_IN_FLIGHT = _gauge("hearth_cloud_calls_in_flight", "Calls that wait for an answer now")
COMMIT_S = _histogram(
    "hearth_commit_seconds", "Time of a transaction that writes results of stacks", FAST_S
)
COMMIT_STACKS = _histogram(
    "hearth_commit_stacks", "Stacks whose changes share one transaction", COUNTS
)
COMMIT_ROWS = _histogram("hearth_commit_rows", "Changed rows in one transaction", COUNTS)
MESSAGE_S = _histogram(
    "hearth_message_delay_seconds", "Time from the commit of a message to its owner", FAST_S
)
OWNED = _gauge("hearth_stacks_owned", "Stacks that this engine works on now")
LEASE_S = _gauge("hearth_lease_age_seconds", "Time since the last heartbeat of this engine")
LOST = _counter("hearth_stacks_lost_total", "Stacks that another engine took over from this one")
STATEMENTS = _counter("hearth_database_statements_total", "Statements sent to the database")
STACKS = _gauge("hearth_stacks", "Existing stacks, at most a minute ago", "action", "status")
OLDEST_S = _gauge(
    "hearth_operation_oldest_seconds", "Time since the start of the oldest operation in progress"
)
OVERDUE = _gauge("hearth_operations_overdue", "Operations in progress whose deadline has passed")
CLUSTER_TASKS = _counter(
    "hearth_cluster_tasks_total", "Tasks of clusters that ended here", "action", "status"
)
DRIFT_CHECKS = _counter(
    "hearth_drift_checks_total",
    "Background drift checks that ended here, by the state of the stack; no credential: skipped; "
    "failed: the cloud failed, and the check is repeated",
    "result",
)
DRIFT_STACKS = _gauge(
    "hearth_drift_stacks",
    "Existing root stacks by the state of their last background drift check, at most a minute ago",
    "state",
)
BUILD = _gauge("hearth_build_info", "Always 1; the labels describe the process", "version", "role")

METRICS = (
    REQUESTS, REQUEST_S, BEGUN, OPERATIONS, OPERATION_S, RESOURCES, RESOURCE_S, REPEATED, CALLS,
    CALL_S, CALLS_REPEATED, CALLS_IN_FLIGHT, COMMIT_S, COMMIT_STACKS, COMMIT_ROWS, MESSAGE_S, OWNED,
    LEASE_S, LOST, STATEMENTS, STACKS, OLDEST_S, OVERDUE, CLUSTER_TASKS, DRIFT_CHECKS,
    DRIFT_STACKS, BUILD,
)  # fmt: skip
