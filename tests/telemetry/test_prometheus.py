"""The metrics, as a Prometheus server reads them."""

import inspect
import time

import pytest
from prometheus_client import ProcessCollector
from prometheus_client.parser import text_string_to_metric_families

from hearth.telemetry import catalog
from hearth.telemetry.catalog import METRICS, MetricKind
from hearth.telemetry.observer import Observer
from hearth.telemetry.prometheus import LABEL_MAX, Metrics

REPORTS: dict[str, tuple[object, ...]] = {
    "request_ended": ("orchestration", "/v1/{tenant_id}/stacks", "GET", 200, 0.02),
    "operation_begun": ("CREATE", "started"),
    "operation_ended": ("CREATE", "COMPLETE", 3.0),
    "resource_ended": ("OS::Nova::Server", "CREATE", "FAILED", 2.0),
    "attempt_repeated": ("CREATE",),
    "call_ended": ("compute", "POST", 0, 0.5),
    "call_repeated": ("compute",),
    "committed": (3, 70, 0.004),
    "message_delivered": (0.02,),
    "ownership_lost": (),
    "cluster_task_ended": ("create", "COMPLETE"),
    "drift_checked": ("in sync",),
}
MEASURED = {
    metric.name
    for metric in METRICS
    if metric.kind is MetricKind.GAUGE or metric is catalog.STATEMENTS
}


def read(metrics: Metrics) -> dict[tuple[str, tuple[str, ...]], float]:
    """{(sample, sorted values of its labels): value}."""
    families = text_string_to_metric_families(metrics.exposition().decode())
    return {
        (sample.name, tuple(sorted(sample.labels.values()))): sample.value
        for family in families
        for sample in family.samples
        if family.name.startswith("hearth_")
    }


def test_each_report_has_a_row_here():
    methods = {name for name, _ in inspect.getmembers(Observer, inspect.isfunction)}
    assert {*REPORTS, "measure", "span"} == {name for name in methods if not name.startswith("_")}


def test_each_metric_of_the_catalog_is_shown_and_no_other():
    metrics = Metrics()
    for name, told in REPORTS.items():
        getattr(metrics, name)(*told)
    for metric in METRICS:
        if metric.name in MEASURED:
            metrics.measure(metric.name, lambda m=metric: [(m.labels, 7.0)])
    families = {
        family.name: family
        for family in text_string_to_metric_families(metrics.exposition().decode())
        if family.name.startswith("hearth_")
    }
    assert set(families) == {metric.name.removesuffix("_total") for metric in METRICS}
    for metric in METRICS:
        family = families[metric.name.removesuffix("_total")]
        assert family.type == metric.kind, metric.name
        assert family.documentation == metric.text
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        assert labels == set(metric.labels), metric.name


@pytest.mark.parametrize("name", REPORTS)
def test_each_report_is_counted(name: str):
    metrics = Metrics()
    before = read(metrics)
    getattr(metrics, name)(*REPORTS[name])
    once = read(metrics)
    assert once != before
    getattr(metrics, name)(*REPORTS[name])
    assert read(metrics) != once


def test_numbers_are_those_of_the_reports():
    metrics = Metrics()
    for status in ("COMPLETE", "COMPLETE", "FAILED"):
        metrics.operation_ended("UPDATE", status, 4.0)
    found = read(metrics)
    assert found["hearth_operations_total", ("COMPLETE", "UPDATE")] == 2
    assert found["hearth_operations_total", ("FAILED", "UPDATE")] == 1
    assert found["hearth_operation_seconds_sum", ("UPDATE",)] == 12
    assert found["hearth_operation_seconds_bucket", ("5.0", "UPDATE")] == 3
    assert found["hearth_operation_seconds_bucket", ("2.5", "UPDATE")] == 0


def test_a_message_from_the_future_has_no_delay():
    metrics = Metrics()  # the clocks of two machines differ
    metrics.message_delivered(-5.0)
    assert read(metrics)["hearth_message_delay_seconds_sum", ()] == 0


def test_an_action_of_unknown_length_is_counted_but_not_timed():
    metrics = Metrics()
    metrics.resource_ended("OS::Heat::Value", "CREATE", "COMPLETE", None)
    found = read(metrics)
    assert found["hearth_resource_actions_total", ("COMPLETE", "CREATE", "OS::Heat::Value")] == 1
    assert ("hearth_resource_action_seconds_count", ("CREATE",)) not in found


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "x" * 10_000, "é\u0000"])
def test_a_label_that_a_user_chose_does_no_harm(name: str):
    metrics = Metrics()
    metrics.resource_ended(name, "CREATE", "COMPLETE", 1.0)
    metrics.resource_ended("other", "CREATE", "COMPLETE", 1.0)
    found = read(metrics)
    for label in (name[:LABEL_MAX], "other"):
        labels = tuple(sorted((label, "CREATE", "COMPLETE")))
        assert found["hearth_resource_actions_total", labels] == 1


def test_a_gauge_is_measured_when_somebody_asks():
    metrics, stacks = Metrics(), [1.0]
    metrics.measure(catalog.OWNED.name, lambda: [((), stacks[0])])
    assert read(metrics)["hearth_stacks_owned", ()] == 1
    stacks[0] = 5
    assert read(metrics)["hearth_stacks_owned", ()] == 5


def test_two_processes_in_one_test_count_apart():
    one, two = Metrics(), Metrics()
    one.ownership_lost()
    assert read(one)["hearth_stacks_lost_total", ()] == 1
    assert read(two)["hearth_stacks_lost_total", ()] == 0


def test_the_process_is_measured_where_proc_has_processes_only(monkeypatch: pytest.MonkeyPatch):
    def no_stat(self: object) -> float:
        raise FileNotFoundError("/proc/stat")

    began = time.time()
    monkeypatch.setattr(ProcessCollector, "_boot_time", no_stat)
    families = text_string_to_metric_families(Metrics().exposition().decode())
    told = {family.name: family.samples[0].value for family in families if family.samples}
    assert told["process_resident_memory_bytes"] > 1e6
    assert began - 24 * 3600 < told["process_start_time_seconds"] < time.time()
