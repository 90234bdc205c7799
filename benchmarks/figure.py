"""One measured value beside its budget."""

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A value; with a budget it is met when the value is not above it."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        return None if self.budget is None else self.value <= self.budget

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


Case = Callable[[bool], Iterator[Figure]]


def median_s(work: Callable[[], object], times: int) -> float:
    """The median of so many runs, in seconds."""
    return statistics.median(_once_s(work) for _ in range(times))


def _once_s(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def p95(values: list[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[max(0, -(-95 * len(values) // 100) - 1)]


def table(figures: list[Figure]) -> str:
    """The figures as text, one line each."""
    lines = [f"{'what':<62} {'figure':>12} {'budget':>10}  met"]
    for one in figures:
        budget = "" if one.budget is None else f"{one.budget:g}"
        met = {None: "", True: "yes", False: "NO"}[one.met]
        value = f"{one.value:.4g} {one.unit}"
        lines.append(f"{one.name:<62} {value:>12} {budget:>10}  {met:<4}{one.note}".rstrip())
    return "\n".join(lines)
