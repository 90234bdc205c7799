"""What engines do for their processor time, and what they cost while nothing happens."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.databases import SERVERS
from benchmarks.figure import Figure
from benchmarks.picking import TRIVIAL
from benchmarks.several import Several, several

ENGINES = (1, 2, 4)
STACKS = 200
IDLE_ENGINES = 10
IDLE_S = 30.0
AT_ONCE_MAX_S = 120.0


def scaling(quick: bool) -> Iterator[Figure]:
    """Trivial stacks for each second of the engines' processor time; statements of idle engines."""
    for kind in SERVERS:
        for engines in ENGINES:
            with (
                tempfile.TemporaryDirectory() as folder,
                several(Path(folder), kind, engines) as found,
            ):
                yield from _throughput(found, f"{kind}, {engines} engines", 40 if quick else STACKS)
        with (
            tempfile.TemporaryDirectory() as folder,
            several(Path(folder), kind, IDLE_ENGINES) as found,
        ):
            yield from _idle(found, kind, 5.0 if quick else IDLE_S)


def _throughput(found: Several, name: str, count: int) -> Iterator[Figure]:
    found.client.call("GET", "/stacks")  # the first request of a token
    statements, spent, begun = found.statements(), found.cpu_s(), time.perf_counter()
    for number in range(count):
        body = {"stack_name": f"s{number}", "template": TRIVIAL, "timeout_mins": 30}
        status, answer = found.client.call("POST", "/stacks", body)
        assert status == 201, answer
    _until_complete(found, count)
    took = time.perf_counter() - begun
    spent, statements = found.cpu_s() - spent, found.statements() - statements
    rate = f"{count / took:.0f} stacks a second"
    yield Figure(f"{name}: stacks per second of their processors", count / spent, "1/s", note=rate)
    yield Figure(f"{name}: statements per stack, with the API", statements / count, "")


def _until_complete(found: Several, count: int) -> None:
    begun = time.perf_counter()
    while True:
        _, answer = found.client.call("GET", "/stacks?limit=1000")
        states = [one["stack_status"] for one in answer["stacks"]]
        if states.count("CREATE_COMPLETE") == count:
            return
        assert not any(state.endswith("FAILED") for state in states), states
        assert time.perf_counter() - begun < AT_ONCE_MAX_S
        time.sleep(0.1)


def _idle(found: Several, kind: str, seconds: float) -> Iterator[Figure]:
    time.sleep(3)  # the first looks
    statements, spent = found.statements(), found.cpu_s()
    time.sleep(seconds)
    spent, statements = found.cpu_s() - spent, found.statements() - statements
    name = f"{kind}, {IDLE_ENGINES} engines and an API process without work"
    yield Figure(f"{name}: statements", statements / seconds, "1/s")
    yield Figure(f"{name}: all engines", spent / seconds * 100, "% of a core")
