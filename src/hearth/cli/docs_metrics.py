"""The table of metrics, generated from their definitions."""

from hearth.telemetry.catalog import METRICS

BEGIN, END = "<!-- made by `hearth docs metrics` -->", "<!-- end -->"


def metrics_table() -> str:
    """Return a row for each metric, as Markdown."""
    lines = ["| metric | kind | labels | meaning |", "| --- | --- | --- | --- |"]
    for metric in METRICS:
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.text} |")
    return "\n".join(lines)
