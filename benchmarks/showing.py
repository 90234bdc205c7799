"""Shows and lists on PostgreSQL: processor time of the API, and requests a second.

The load comes from `wrk` if it is installed, which takes less of the processor than Python.
"""

import http.client
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.figure import Figure
from benchmarks.machine import cpu_s
from benchmarks.polling import EMPTY
from benchmarks.served import Stack
from benchmarks.several import several

SHOW_MAX_MS = 0.4
RUNS = 5
STACKS = 20
CONNECTIONS = 8
TEMPLATE = """
heat_template_version: 2018-08-31
parameters: {word: {type: string, default: hello}}
resources: {one: {type: OS::Heat::Value, properties: {value: {get_param: word}}}}
outputs: {said: {description: What was said., value: {get_attr: [one, value]}}}
"""
LISTED = json.dumps(
    {
        "heat_template_version": "2018-08-31",
        "resources": {
            f"r{n}": {"type": "OS::Heat::Value", "properties": {"value": "hello"}}
            for n in range(10)
        },
    }
)
COUNTED = re.compile(r"(\d+) requests in")


def showing(quick: bool) -> Iterator[Figure]:
    """Processor time of a show, beside that of a server that does nothing."""
    seconds = 2 if quick else 5
    with tempfile.TemporaryDirectory() as name, several(Path(name), "PostgreSQL", 1) as here:
        stack = Stack(here.client, "shown", TEMPLATE)
        stack.create()
        url = f"{here.client.url}{stack.path}"
        shown, empty = [], []
        with subprocess.Popen(
            [sys.executable, "-c", EMPTY], stdout=subprocess.PIPE, text=True
        ) as floor:
            assert floor.stdout is not None
            nothing = f"http://127.0.0.1:{int(floor.stdout.readline())}/"
            _load(url, here.client.token, 1)
            for _ in range(RUNS):  # in turns: a machine is not always as fast
                empty.append(_cost(lambda: _load(nothing, "", seconds), floor.pid))
                shown.append(_cost(lambda: _load(url, here.client.token, seconds), here.api.pid))
            floor.terminate()
    least, rate = min(shown)
    middle = statistics.median(ms for ms, _ in shown)
    note = f"{rate:.0f} a second beside the load; median {middle:.3f} ms"
    yield Figure("PostgreSQL, a show: processor time", least, "ms", SHOW_MAX_MS, note)
    yield Figure("a request of an empty server: processor time", min(empty)[0], "ms")


def listing(quick: bool) -> Iterator[Figure]:
    """Processor time of lists and of a show of a resource."""
    seconds = 1 if quick else 3
    with tempfile.TemporaryDirectory() as name, several(Path(name), "PostgreSQL", 1) as here:
        stacks = [Stack(here.client, f"s{n}", LISTED) for n in range(STACKS)]
        for stack in stacks:
            stack.create()
        path = stacks[0].path
        for what, where in {
            "a list of 10 resources": f"{path}/resources",
            "a show of a resource": f"{path}/resources/r0",
            "a list of 22 events": f"{path}/events",
            f"a list of {STACKS} stacks": "/stacks",
        }.items():
            load = partial(_load, f"{here.client.url}{where}", here.client.token, seconds)
            load()
            found = [_cost(load, here.api.pid) for _ in range(RUNS)]
            least, rate = min(found)
            note = f"{rate:.0f} a second beside the load"
            yield Figure(f"PostgreSQL, {what}: processor time", least, "ms", None, note)


def _cost(load: Callable[[], int], pid: int) -> tuple[float, float]:
    """Milliseconds of the processor for a request, and requests a second."""
    before, start = cpu_s(pid), time.perf_counter()
    count = load()
    took, spent = time.perf_counter() - start, cpu_s(pid) - before
    return spent / count * 1000, count / took


def _load(url: str, token: str, seconds: int) -> int:
    """Make requests for some seconds; return how many."""
    tool = shutil.which("wrk")
    if tool is None:
        return _load_of_python(url, token, seconds)
    command = [
        tool,
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{seconds}s",
        "-H",
        f"X-Auth-Token: {token}",
        url,
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in said, said
    found = COUNTED.search(said)
    assert found is not None, said
    return int(found[1])


def _load_of_python(url: str, token: str, seconds: int) -> int:
    parts, ends = urlsplit(url), time.perf_counter() + seconds

    def client(_: int) -> int:
        connection, count = http.client.HTTPConnection(parts.netloc), 0
        while time.perf_counter() < ends:
            connection.request("GET", parts.path or "/", headers={"X-Auth-Token": token})
            answer = connection.getresponse()
            assert answer.read()
            assert answer.status == 200
            count += 1
        connection.close()
        return count

    with ThreadPoolExecutor(CONNECTIONS) as clients:
        return sum(clients.map(client, range(CONNECTIONS)))
