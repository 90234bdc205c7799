"""Trivial resources through service and engine in this process: times, rows and statements."""

import asyncio
import gc
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import templates
from benchmarks.bare import bare_s
from benchmarks.figure import Figure
from benchmarks.inside import Spent, inside
from benchmarks.machine import peak_mib
from hearth.store.config import StoreConfig

RUNS = 3


def engine(quick: bool) -> Iterator[Figure]:
    """The engine part of a create against the bare rows; statements; all operations once."""
    for count in (1000,) if quick else (1000, 10_000):
        ratios, runs = [], []
        for _ in range(RUNS):
            ratios.append(asyncio.run(_ratio(count)))
            runs.append(asyncio.run(_life(count)))
        yield Figure(
            f"create {count}: engine part over bare rows", statistics.median(ratios), "x", 6
        )
        for word in runs[0]:
            whole = statistics.median(spent[word].whole_s for spent in runs)
            name = word if "chain" in word else f"{word} {count}"
            yield Figure(f"{name} in process", whole, "s", _BUDGETS.get((word, count)))
        statements = runs[0]["create"].statements
        yield Figure(f"create {count}: statements", statements, "", count / 10 + 20 + 3)
    yield from _levels()
    if not quick:
        yield from _growth()


_BUDGETS = {
    ("create", 1000): 0.7,
    ("create", 10_000): 6.0,
    ("update nothing", 10_000): 1.0,
    ("update one", 10_000): 4.5,
    ("chain of 200", 1000): 0.3,
}


async def _ratio(count: int) -> float:
    """The engine part of a create over the bare rows; all events are kept, so that what is written
    on both sides is the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hearth.db"
        async with inside(path, config=StoreConfig(max_events_per_stack=0)) as running:
            await running.create("warm", templates.wide(10))
            row, spent = await running.create("wide", templates.wide(count))
            bare = min(bare_s(path, row.id) for _ in range(3))
    return spent.engine_s / bare


async def _life(count: int) -> dict[str, Spent]:
    spent: dict[str, Spent] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hearth.db"
        async with inside(path) as running:
            await running.create("warm", templates.wide(10))
            row, spent["create"] = await running.create("wide", templates.wide(count))
            row, spent["update nothing"] = await running.update(row, templates.wide(count))
            changed = templates.wide(count, changed=True)
            row, spent["update one"] = await running.update(row, changed)
            _, spent["delete"] = await running.delete(row)
            if count == 1000:
                _, spent["chain of 200"] = await running.create("chain", templates.chain(200))
    return spent


def _levels() -> Iterator[Figure]:
    async def run() -> int:
        with tempfile.TemporaryDirectory() as folder:
            async with inside(Path(folder) / "hearth.db") as running:
                _, spent = await running.create("levels", templates.levels(1000, 20))
                return spent.statements

    yield Figure(
        "create 1000 in 20 levels: statements", asyncio.run(run()), "", 1000 / 10 + 20 + 60
    )


def _growth() -> Iterator[Figure]:
    """Time and memory of a resource at 100,000 against 10,000, each in a process of its own."""
    small, large = (_alone(count) for count in (10_000, 100_000))
    yield Figure("time per resource, 100,000 over 10,000", large[0] / small[0] / 10, "x", 1.2)
    yield Figure("memory per resource, 100,000 over 10,000", large[1] / small[1] / 10, "x", 1.2)


def _alone(count: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.engine", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    time_s, mib = done.stdout.split()
    return float(time_s), float(mib)


async def _create_once(count: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with inside(Path(folder) / "hearth.db") as running:
            _, spent = await running.create("wide", templates.wide(count))
            return spent.whole_s


def main() -> None:
    """Print seconds and MiB of one create of argv[1] resources."""
    gc.collect()
    asyncio.run(_create_once(10))
    before = peak_mib()
    time_s = asyncio.run(_create_once(int(sys.argv[1])))
    print(time_s, peak_mib() - before)


if __name__ == "__main__":
    main()
