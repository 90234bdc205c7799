"""Servers on the cloud in a box: processor time, calls, and the way to the end."""

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.machine import cpu_s
from benchmarks.rest import latency_ms
from benchmarks.served import Client, Served, served

IN_FLIGHT = 64  # calls of one project at a time


def servers(quick: bool) -> Iterator[Figure]:
    """20 servers, and 200 for the processor time of a call."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        _warm(both)
        yield from _calls(both, 20)
        if not quick:
            yield from _calls(both, 200)
            spent = [_spent(both, count) for count in (100, 600)]
            more = (spent[1][0] - spent[0][0]) / (spent[1][1] - spent[0][1]) * 1000
            note = "600 servers less 100: engine, store, and the compiler's share"
            yield Figure("processor time per further call", more, "ms", 0.3, note)


def _warm(both: Served) -> None:
    both.stack("network", templates.network()).create()
    both.stack("warm", templates.servers(1)).create()


def _spent(both: Served, count: int) -> tuple[float, int]:
    """Processor seconds of Hearth and calls to the cloud for so many servers."""
    both.mark()
    before = cpu_s(both.hearth.pid)
    stack = both.stack(f"spent{count}", templates.servers(count))
    stack.create()
    used = cpu_s(both.hearth.pid) - before
    calls = len([c for c in both.ledger()["calls"] if "/identity" not in c["path"]])
    stack.delete()
    return used, calls


def _calls(both: Served, count: int) -> Iterator[Figure]:
    both.mark()
    before = cpu_s(both.hearth.pid)
    stack = both.stack(f"servers{count}", templates.servers(count))
    took = stack.create()
    used = cpu_s(both.hearth.pid) - before
    calls = [c for c in both.ledger()["calls"] if "/identity" not in c["path"]]
    writes = sum(call["method"] != "GET" for call in calls)
    reads = len(calls) - writes
    yield Figure(f"create {count} servers", took, "s")
    yield Figure(f"create {count} servers: writes per resource", writes / count, "", 1.1)
    yield Figure(f"create {count} servers: reads per resource", reads / count, "", 3)
    cpu = used * 1000 / max(1, len(calls))
    whole = "whole process: API, compiler, store and engine"
    yield Figure(f"create {count} servers: processor time per call", cpu, "ms", note=whole)
    yield Figure(f"delete {count} servers", stack.delete(), "s")


def makespan(quick: bool) -> Iterator[Figure]:
    """500 servers while every call takes 50 to 500 ms, and what readers feel meanwhile."""
    count = 50 if quick else 500
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        _warm(both)
        both.knobs(_latencies(count))
        both.mark()
        stack = both.stack(f"servers{count}", templates.servers(count))
        seen: dict[str, float] = {}
        reader = threading.Thread(target=_read_beside, args=(both, stack, seen))
        reader.start()
        took = stack.create()
        reader.join()
        calls = [c for c in both.ledger()["calls"] if "/identity" not in c["path"]]
    bound = critical_s(calls)
    note = f"{took:.1f} s; floor {bound:.1f} s: {len(calls)} calls, {IN_FLIGHT} at a time"
    yield Figure(f"makespan of {count} slow servers over the floor", took / bound, "x", 1.2, note)
    for what, budget in (("show", 30), ("list", 60)):
        if what in seen:
            yield Figure(f"{what} under a {count}-server create, 95th", seen[what], "ms", budget)


def _latencies(count: int) -> list[dict[str, Any]]:
    """Rules that give every call between 50 and 500 ms, always the same for the same call."""
    middle = {"latency_s": 0.275}
    one = r"/servers/[0-9a-f-]{36}$"
    rules: list[dict[str, Any]] = [
        {"match": {"service": "network"}, "effect": middle},
        {"match": {"service": "image"}, "effect": middle},
        {"match": {"service": "compute", "method": "GET", "path_regex": f"^(?!.*{one})"},
         "effect": middle},
    ]  # fmt: skip
    for digit in range(16):
        path = f"/servers/[0-9a-f-]{{35}}{digit:x}$"
        rules.append(
            {"match": {"service": "compute", "method": "GET", "path_regex": path},
             "effect": {"latency_s": 0.05 + 0.03 * digit}}
        )  # fmt: skip
    rules += [
        {"match": {"service": "compute", "method": "POST", "nth": number + 1},
         "effect": {"latency_s": 0.05 + 0.45 * (number * 7 % 100) / 99}}
        for number in range(count)
    ]  # fmt: skip
    return rules


def critical_s(calls: list[dict[str, Any]]) -> float:
    """What no order of calls could beat: names are looked up twice (with the request, and under the
    stack's own credential), then all creates pass the narrow door, then the last one is read."""
    lists = [c["ms"] for c in calls if c["method"] == "GET" and "/servers" not in c["path"]]
    reads = [c["ms"] for c in calls if c["method"] == "GET" and "/servers" in c["path"]]
    creates = [c["ms"] for c in calls if c["method"] == "POST"]
    door = max(max(creates), sum(creates) / IN_FLIGHT)
    return (2 * max(lists) + door + min(reads)) / 1000


def _read_beside(both: Served, stack: Any, seen: dict[str, float]) -> None:
    mine = Client(both.client.url, both.client.token)
    while not stack.path:
        time.sleep(0.01)
    seen["show"] = latency_ms(mine, stack.path, 50)
    seen["list"] = latency_ms(mine, "/stacks?limit=200", 50)
    mine.close()
