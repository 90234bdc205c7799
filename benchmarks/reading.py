"""What clients read, alone, eight at once, and while 500 servers are made."""

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import templates
from benchmarks.figure import Figure, p95
from benchmarks.machine import cpu_s, pss_mib
from benchmarks.served import Client, Served, Stack, served

STACKS = 200  # on the list
RESOURCES = 1000  # of the stack that is shown
VALIDATED = 100  # resources
CLIENTS = 8
SERVERS = 500


@dataclass(frozen=True)
class Reading:
    """A request, and the budgets of its 95th percentile in milliseconds."""

    what: str
    path: str
    budget: float | None = None
    body: Any = None  # with one it is a POST

    def ms(self, client: Client) -> float:
        """How long one takes."""
        start = time.perf_counter()
        status, _ = client.call("POST" if self.body else "GET", self.path, self.body)
        assert status == 200
        return (time.perf_counter() - start) * 1000


def readings(stack: Stack) -> tuple[Reading, ...]:
    """What is read; `stack` has 1,000 resources."""
    return (
        Reading("show a stack", stack.path, 10),
        Reading(f"list {STACKS} stacks", f"/stacks?limit={STACKS}", 20),
        Reading("100 events", f"{stack.path}/events?limit=100", 10),
        Reading(f"resources of {RESOURCES}", f"{stack.path}/resources"),
        Reading(f"all events of {RESOURCES}", f"{stack.path}/events"),
        Reading(f"validate {VALIDATED}", "/validate", body={"template": templates.wide(VALIDATED)}),
    )


def reading(quick: bool) -> Iterator[Figure]:
    """Latencies, requests a second and memory."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        for number in range(STACKS - 1):
            stack = both.stack(f"one{number}", templates.wide(3))
            body = {"stack_name": stack.name, "template": stack.template, "timeout_mins": 60}
            assert both.client.call("POST", "/stacks", body)[0] == 201
        stack = both.stack("wide", templates.wide(RESOURCES))
        stack.create()
        _settle(both)
        told = readings(stack)
        yield Figure("memory before the readings", pss_mib(both.hearth.pid), "MiB")
        times = 50 if quick else 300
        for one in told:
            before = cpu_s(both.hearth.pid)
            values = [one.ms(both.client) for _ in range(times)]
            spent = (cpu_s(both.hearth.pid) - before) / times * 1000
            yield _figure(one, values, f"; {spent:.1f} ms of the processor")
        for one in told:
            yield _at_once(both, one, times)
        yield Figure("memory after the readings", pss_mib(both.hearth.pid), "MiB")
        if not quick:
            yield from _beside(both, told)


def _settle(both: Served) -> None:
    while True:
        _, answer = both.client.call("GET", "/stacks?status=IN_PROGRESS&limit=1")
        if not answer["stacks"]:
            return
        time.sleep(0.2)


def _figure(one: Reading, values: list[float], note: str = "") -> Figure:
    note = f"{statistics.median(values):.1f} ms in the middle of {len(values)}{note}"
    return Figure(f"{one.what}, 95th percentile", p95(values), "ms", one.budget, note)


def _at_once(both: Served, one: Reading, times: int) -> Figure:
    """Eight clients, each with a connection of its own and no pause between requests."""
    clients = [Client(both.client.url, both.client.token) for _ in range(CLIENTS)]
    each = max(5, times // CLIENTS)
    before, start = cpu_s(both.hearth.pid), time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        values = [
            value
            for some in pool.map(lambda client: [one.ms(client) for _ in range(each)], clients)
            for value in some
        ]
    took = time.perf_counter() - start
    busy = (cpu_s(both.hearth.pid) - before) / took
    for client in clients:
        client.close()
    note = f"95th percentile {p95(values):.1f} ms; {busy:.0%} of a core"
    return Figure(f"{one.what}, {CLIENTS} clients", len(values) / took, "1/s", note=note)


def _beside(both: Served, told: tuple[Reading, ...]) -> Iterator[Figure]:
    """The same while 500 servers are made, and the stack that they are in."""
    assert both.stack("network", templates.network()).create()
    stack = both.stack("servers", templates.servers(SERVERS))
    took: list[float] = []
    maker = replace(stack, client=Client(both.client.url, both.client.token))
    thread = threading.Thread(target=lambda: took.append(maker.create()))
    thread.start()
    while not maker.path:
        time.sleep(0.01)
    all_of_it = (*told, Reading(f"show the {SERVERS}", maker.path, 30))
    values: dict[str, list[float]] = {one.what: [] for one in all_of_it}
    peak = 0.0
    while thread.is_alive():
        for one in all_of_it:
            values[one.what].append(one.ms(both.client))
        peak = max(peak, pss_mib(both.hearth.pid))
    thread.join()
    maker.client.close()
    note = f"with {sum(map(len, values.values()))} readings beside it"
    yield Figure(f"create {SERVERS} servers, read beside", took[0], "s", note=note)
    for one in all_of_it:
        budget = None if one.budget is None else 3 * one.budget
        yield _figure(replace(one, what=f"{one.what}, then", budget=budget), values[one.what])
    yield Figure("memory then, at most", peak, "MiB")


def latency_ms(client: Client, path: str, times: int) -> float:
    """The 95th percentile of so many GETs, in milliseconds."""
    one = Reading("", path)
    return p95([one.ms(client) for _ in range(times)])
