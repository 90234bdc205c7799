"""The page on monitoring names each metric; the files for Prometheus and Grafana use no others."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from hearth.cli.docs_metrics import BEGIN, END, metrics_table
from hearth.telemetry.catalog import METRICS, Metric, MetricKind

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "monitoring.md"
FOLDER = ROOT / "deploy" / "monitoring"
ALERTS = yaml.safe_load((FOLDER / "alerts.yaml").read_text())
BOARD = json.loads((FOLDER / "dashboard.json").read_text())
NAME = re.compile(r"\bhearth_[a-z_]+")


def samples(metric: Metric) -> set[str]:
    if metric.kind is MetricKind.HISTOGRAM:
        return {f"{metric.name}_{part}" for part in ("bucket", "sum", "count")}
    return {metric.name}


SAMPLES = {name: metric for metric in METRICS for name in samples(metric)}


def expressions() -> list[str]:
    rules = [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]
    panels = [target["expr"] for panel in BOARD["panels"] for target in panel.get("targets", ())]
    return rules + panels


def test_the_table_of_the_page_is_that_of_the_code():
    _, _, rest = PAGE.read_text().partition(f"{BEGIN}\n")
    told, _, _ = rest.partition(f"\n{END}")
    assert told == metrics_table(), "put the output of `hearth docs metrics` into the page"


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_uses_metrics_and_labels_that_exist(expression: str):
    used = set(NAME.findall(expression))
    assert used <= SAMPLES.keys()
    assert used or "process_" in expression or "up{" in expression
    known = {"le", "job", "instance"}.union(*(SAMPLES[name].labels for name in used))
    grouped = re.findall(r"\bby \(([^)]*)\)", expression)
    matched = re.findall(r"([a-z_]+)(?:=~|!~|!=|=)\"", expression)
    labels = {label.strip() for group in grouped for label in group.split(",")} | set(matched)
    assert labels <= known
    assert expression.count("(") == expression.count(")")


def test_each_alert_says_what_to_do():
    names: list[str] = []
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            names.append(rule["alert"])
            assert rule["labels"]["severity"] in {"critical", "warning"}
            assert set(rule["annotations"]) == {"summary", "description"}
    assert len(set(names)) == len(names) >= 8


def test_the_panels_have_places_of_their_own():
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
