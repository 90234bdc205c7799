"""Operations and readings through the REST API of a real process, over a synced SQLite file."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import templates
from benchmarks.figure import Figure, p95
from benchmarks.served import Client, Served, served

BUDGETS = {1000: (0.7, None, None), 10_000: (6.0, 1.0, 4.5)}


def trivial(quick: bool) -> Iterator[Figure]:
    """Stacks of values: create, update, delete."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        both.stack("warm", templates.wide(10)).create()
        for count in (1000,) if quick else (1000, 10_000):
            create, nothing, one = BUDGETS[count]
            stack = both.stack(f"wide{count}", templates.wide(count))
            yield Figure(f"REST: create {count} trivial", stack.create(), "s", create)
            same = stack.update(stack.template)
            yield Figure(f"REST: update {count}, nothing changes", same, "s", nothing)
            moved = stack.update(templates.wide(count, changed=True))
            yield Figure(f"REST: update {count}, one changes", moved, "s", one)
            yield Figure(f"REST: delete {count}", stack.delete(), "s")
        runs = [both.stack(f"chain{i}", templates.chain(200)).create() for i in range(3)]
        yield Figure("REST: chain of 200", sorted(runs)[1], "s", 0.3)


def reading(quick: bool) -> Iterator[Figure]:
    """Latencies of what clients read, nothing else going on."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        for i in range(200):
            stack = both.stack(f"one{i}", templates.wide(3))
            body = {"stack_name": stack.name, "template": stack.template, "timeout_mins": 60}
            assert both.client.call("POST", "/stacks", body)[0] == 201
        stack = both.stack("wide", templates.wide(100))
        stack.create()
        _settle(both)
        times = 50 if quick else 300
        paths = (
            ("show a stack", stack.path, 10),
            ("list 200 stacks", "/stacks?limit=200", 20),
            ("100 events", f"{stack.path}/events?limit=100", 10),
        )
        for what, path, budget in paths:
            yield Figure(
                f"{what}, 95th percentile", latency_ms(both.client, path, times), "ms", budget
            )


def _settle(both: Served) -> None:
    while True:
        _, answer = both.client.call("GET", "/stacks?status=IN_PROGRESS&limit=1")
        if not answer["stacks"]:
            return
        time.sleep(0.2)


def latency_ms(client: Client, path: str, times: int) -> float:
    """The 95th percentile of so many GETs, in milliseconds."""
    values = []
    for _ in range(times):
        start = time.perf_counter()
        status, _ = client.call("GET", path)
        values.append((time.perf_counter() - start) * 1000)
        assert status == 200
    return p95(values)
