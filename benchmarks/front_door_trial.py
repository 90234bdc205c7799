"""What shows and polls cost in several trees of Hearth, side by side in one run.

`python -m benchmarks.front_door_trial show|poll|all ROUNDS NAME=FOLDER…`: a name and a folder for
each tree. The processes of all run all the time, and each round measures one after the other. The
figures of each are compared with those of the first.
"""

import asyncio
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import uvloop

from benchmarks import polling, showing
from benchmarks.machine import cpu_s
from benchmarks.served import Served, Stack, served
from benchmarks.several import several
from hearth.agent.agent import signature

RATE = 333  # polls per second, those of 10,000 servers
Side = Callable[[float], float]
"""A function that sends requests for so many seconds, and returns the milliseconds of one."""


@contextlib.contextmanager
def sources(tree: Path) -> Iterator[None]:
    """Let processes that start now use the sources of a tree."""
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = f"{tree}/src:{tree}/packages/hearth-devcloud/src:{tree}"
    yield
    os.environ["PYTHONPATH"] = before


class Requests(asyncio.Protocol):
    """Sends a request on its connection, again and again until `ends`, and counts the responses."""

    def __init__(self, request: bytes, ends: float, done: "asyncio.Future[int]") -> None:
        self.request, self.ends, self.done = request, ends, done
        self.count, self.got = 0, b""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.got += data
        head, end, body = self.got.partition(b"\r\n\r\n")
        if not end:
            return
        assert b" 200 " in head[:15], self.got
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < size:
            return
        self.got, self.count = b"", self.count + 1
        if time.perf_counter() < self.ends:
            self.transport.write(self.request)
        else:
            self.transport.close()
            self.done.set_result(self.count)


async def on_kept(url: str, token: str, connections: int, seconds: float) -> int:
    """Request a URL all the time on some connections; return how often."""
    place, ends = urlsplit(url), time.perf_counter() + seconds
    head = f"GET {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nX-Auth-Token: {token}\r\n\r\n"
    return sum(
        await asyncio.gather(
            *(_connected(place.netloc, head.encode(), ends) for _ in range(connections))
        )
    )


async def on_new(netloc: str, request: Callable[[int], bytes], seconds: float) -> int:
    """Send each request on a new connection, at RATE; return how many."""
    start, sent = time.perf_counter(), []
    while (now := time.perf_counter()) < start + seconds:
        await asyncio.sleep(max(0.0, start + len(sent) / RATE - now))
        sent.append(asyncio.ensure_future(_connected(netloc, request(len(sent)), 0.0)))
    return sum(await asyncio.gather(*sent))


async def _connected(netloc: str, request: bytes, ends: float) -> int:
    loop, (host, _, port) = asyncio.get_running_loop(), netloc.partition(":")
    done: asyncio.Future[int] = loop.create_future()
    await loop.create_connection(lambda: Requests(request, ends, done), host, int(port))
    return await done


def signed(netloc: str, guests: list[polling.Guest], n: int) -> bytes:
    """The poll of a server with a signature."""
    section = guests[n % len(guests)].section
    params = {
        "Action": "DescribeStackResource", "StackName": section["stack_name"],
        "LogicalResourceId": section["path"].partition(".")[0], "Version": "2010-05-15",
        "AWSAccessKeyId": section["access_key_id"], "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }  # fmt: skip
    url, secret = f"http://{netloc}/cfn/v1/", section["secret_access_key"]
    params["Signature"] = signature("GET", url, params, secret)
    return f"GET /cfn/v1/?{urlencode(params)} HTTP/1.1\r\nHost: {netloc}\r\n\r\n".encode()


def with_token(netloc: str, guests: list[polling.Guest], n: int) -> bytes:
    """The poll of a server with a token."""
    guest = guests[n % len(guests)]
    section, guest.token = guest.section, guest.token or polling.token_of(guest.section)
    stack = f"{section['project_id']}/stacks/{quote(section['stack_id'])}"
    path = f"/v1/{stack}/resources/{section['resource_name']}/metadata"
    head = f"GET {path} HTTP/1.1\r\nHost: {netloc}\r\nX-Auth-Token: {guest.token}\r\n\r\n"
    return head.encode()


def nothing(netloc: str, n: int) -> bytes:
    """A request to the empty server."""
    return f"GET / HTTP/1.1\r\nHost: {netloc}\r\n\r\n".encode()


def measured(what: str, sides: Mapping[str, Side], rounds: int) -> None:
    """Measure all sides in turns, and print what a request costs."""
    found: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name in list(sides)[:: 1 if number % 2 else -1]:
            found[name].append(sides[name](1.0 if number else 0.5))
    first, *_ = found.values()
    for name, costs in found.items():
        ratio = statistics.median(cost / of for cost, of in zip(costs[1:], first[1:], strict=True))
        print(f"{what}, {name}: {statistics.median(costs[1:]):.3f} ms, {ratio:.2f} x", flush=True)


def cost(pid: int, load: Callable[[float], "asyncio.Future[int]"], seconds: float) -> float:
    """Return the milliseconds of processor time that a process needs for each request of a load."""
    before = cpu_s(pid)
    count = uvloop.run(load(seconds))  # type: ignore[arg-type]
    return (cpu_s(pid) - before) / count * 1000


@contextlib.contextmanager
def empty_server() -> Iterator[tuple[int, str]]:
    """A server that does nothing: its process and its address."""
    command = [sys.executable, "-c", polling.EMPTY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, f"127.0.0.1:{int(process.stdout.readline())}"
        process.terminate()


def shows(rounds: int, trees: Mapping[str, Path]) -> None:
    with contextlib.ExitStack() as opened:
        shown = {}
        for name, tree in trees.items():
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            with sources(tree):
                here = opened.enter_context(several(folder, "PostgreSQL", 1))
            stack = Stack(here.client, "shown", showing.TEMPLATE)
            stack.create()
            shown[name] = here.api.pid, f"{here.client.url}{stack.path}", here.client.token
        pid, netloc = opened.enter_context(empty_server())
        shown["empty"] = pid, f"http://{netloc}/", ""
        for connections in (8, 1):
            sides = {
                name: partial(cost, pid, partial(on_kept, url, token, connections))
                for name, (pid, url, token) in shown.items()
            }
            measured(f"show, {connections} connections", sides, rounds)


def polls(rounds: int, trees: Mapping[str, Path]) -> None:
    for transport, kind in (("POLL_SERVER_CFN", "cfn"), ("POLL_SERVER_HEAT", "heat")):
        with contextlib.ExitStack() as opened:
            sides: dict[str, Side] = {}
            for name, tree in trees.items():
                folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
                with sources(tree):
                    here = opened.enter_context(served(folder))
                sides[name] = _poll_side(here, transport, kind)
            pid, netloc = opened.enter_context(empty_server())
            sides["empty"] = partial(cost, pid, partial(on_new, netloc, partial(nothing, netloc)))
            measured(f"poll, {transport}", sides, rounds)


def _poll_side(here: Served, transport: str, kind: str) -> Side:
    guests = polling._guests(here, transport, kind)
    for guest in (*guests, *guests):  # afterwards the responses are kept
        (polling._by_signature if kind == "cfn" else polling._by_token)(here, guest)
    netloc = urlsplit(here.client.url).netloc
    request = partial(signed if kind == "cfn" else with_token, netloc, guests)
    return partial(cost, here.hearth.pid, partial(on_new, netloc, request))


if __name__ == "__main__":
    what, rounds, *folders = sys.argv[1:]
    trees = {name: Path(folder) for name, _, folder in (one.partition("=") for one in folders)}
    if what in ("show", "all"):
        shows(int(rounds), trees)
    if what in ("poll", "all"):
        polls(int(rounds), trees)
