"""Servers on the cloud in a box: processor time, calls, and the way to the end."""

import asyncio
import heapq
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks import templates
from benchmarks.figure import Figure
from benchmarks.machine import cpu_s
from benchmarks.reading import latency_ms
from benchmarks.served import Client, Served, served

IN_FLIGHT = 64  # calls of one project at a time
READ_MIN_MS = 50.0  # what the quickest read of one server takes; see _latencies
FEW, MANY = 20, 500  # resources of the stacks whose difference is taken
RUNS = 5  # of each; an odd number
SERVER_MAX_MS = 0.3 * (1.1 + 3)  # 0.3 ms for each of so many calls


def servers(quick: bool) -> Iterator[Figure]:
    """20 servers and 200 by one process; then the engine alone, for the time of a call."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        _warm(both)
        yield from _calls(both, 20)
        if not quick:
            yield from _calls(both, 200)
            note = f"{MANY} servers less {FEW}; one process: API, compiler, store and engine"
            yield Figure("whole process per further server", _further(both)[0], "ms", note=note)
    if not quick:
        yield from _engine()


def _engine() -> Iterator[Figure]:
    """The engine as a process of its own, with the store's work (SQLite) in it; the template is
    compiled by then, which has a budget of its own."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), apart=True) as both:
        _warm(both)
        server, calls = _further(both)
        trivial, _ = _further(both, templates.wide)
        pair, pair_calls = _further(both, templates.ported)
        took = _made_s(both, templates.ported(MANY))
        bare = asyncio.run(_bare_ms(both))
    whole = f"{MANY} servers less {FEW}; engine process with its store, nothing taken off"
    yield Figure("engine's processor time per further server", server, "ms", SERVER_MAX_MS, whole)
    each = f"{calls:.2f} calls each; 0.3 ms were asked for at 4.1 calls: decision 8"
    yield Figure("- per call", server / calls, "ms", note=each)
    yield Figure("- of that, a resource without calls", trivial, "ms")
    yield Figure("- the same POSTs by a bare HTTP client", bare, "ms", note="aiohttp, nothing else")
    yield Figure("per further server with a port of its own", pair, "ms", 2 * SERVER_MAX_MS)
    yield Figure("- per call", pair / pair_calls, "ms")
    yield Figure("- calls per resource", pair_calls / 2, "", 1.1)
    yield Figure(f"create {MANY} servers with ports", took, "s")


def _further(
    both: Served, template: Callable[[int], str] = templates.servers
) -> tuple[float, float]:
    """Milliseconds of processor time that each resource beyond the first few takes, and calls."""
    used = {}
    for count in (FEW, MANY):
        spent = [_spent(both, template, count, number) for number in range(RUNS + 1)]
        used[count] = statistics.median(spent[1:])  # the first one compiles
    more = MANY - FEW
    return (used[MANY][0] - used[FEW][0]) / more * 1000, (used[MANY][1] - used[FEW][1]) / more


def _made_s(both: Served, template: str) -> float:
    stack = both.stack("ported-once-more", template)
    took = stack.create()
    stack.delete()
    return took


async def _bare_ms(both: Served) -> float:
    """Processor time of this process for a POST, as many of them and as many at a time."""
    slots = asyncio.Semaphore(IN_FLIGHT)
    url, body = f"{both.cloud_url}/network/v2.0/networks", '{"network": {"name": "bare"}}'
    headers = {"X-Auth-Token": both.client.token, "Content-Type": "application/json"}

    async def one(http: aiohttp.ClientSession) -> None:
        async with slots, http.post(url, data=body, headers=headers) as answer:
            json.loads(await answer.read())
            assert answer.status == 201

    spent = []
    async with aiohttp.ClientSession() as http:
        for _ in range(RUNS + 1):
            before = time.process_time()
            await asyncio.gather(*(one(http) for _ in range(MANY)))
            spent.append((time.process_time() - before) / MANY * 1000)
    return statistics.median(spent[1:])


def _warm(both: Served) -> None:
    both.stack("network", templates.network()).create()
    both.stack("warm", templates.servers(1)).create()


def _spent(
    both: Served, template: Callable[[int], str], count: int, number: int
) -> tuple[float, int]:
    """Processor seconds of Hearth, and calls to the cloud."""
    both.mark()
    before = cpu_s(both.hearth.pid)
    stack = both.stack(f"{template.__name__}{count}-{number}", template(count))
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
    even = sum(c["ms"] for c in calls if c["method"] == "POST") / IN_FLIGHT
    over = took / (bound - (door_ms(calls) - even) / 1000)
    note = f"{took:.2f} s; floor {bound:.2f} s: {len(calls)} calls, {IN_FLIGHT} at a time"
    note += f"; {over:.2f} x if the last creates ended together"
    yield Figure(f"makespan of {count} slow servers over the floor", took / bound, "x", 1.2, note)
    for what, budget in (("show", 30), ("list", 60), ("100 events", 30)):
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
    return (2 * max(lists) + door_ms(calls) + READ_MIN_MS) / 1000


def door_ms(calls: list[dict[str, Any]]) -> float:
    """How long the creates take where each begins as soon as one of the places is free. The latency
    belongs to the number of the call, so none is spared by another order."""
    places = [0.0] * IN_FLIGHT
    creates = sorted((c for c in calls if c["method"] == "POST"), key=lambda c: c["at"])
    for create in creates:
        heapq.heapreplace(places, places[0] + create["ms"])
    return max(places)


def _read_beside(both: Served, stack: Any, seen: dict[str, float]) -> None:
    mine = Client(both.client.url, both.client.token)
    while not stack.path:
        time.sleep(0.01)
    seen["show"] = latency_ms(mine, stack.path, 50)
    seen["list"] = latency_ms(mine, "/stacks?limit=200", 50)
    seen["100 events"] = latency_ms(mine, f"{stack.path}/events?limit=100", 50)
    mine.close()
