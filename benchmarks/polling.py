"""Servers that poll for their deployments: what a poll costs the API."""

import contextlib
import http.client
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from benchmarks.figure import Figure
from benchmarks.machine import cpu_s, pss_mib
from benchmarks.served import Client, Served, served
from hearth.agent.agent import signature

SERVERS = 200
GUESTS = 10_000
EVERY_S = 30.0
SHARE_MAX = 0.15  # of a core
SECONDS = 10
CLIENTS = 32

OVER_EMPTY_MAX = 2.5
EMPTY = """
import socket, uvicorn, uvloop
async def app(scope, receive, send):
    if scope["type"] == "http":
        headers = [(b"content-length", b"2000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x" * 2000})
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
config = uvicorn.Config(app, log_level="error", http="httptools", lifespan="off")
uvloop.run(uvicorn.Server(config).serve([listening]))
"""

SERVER = """
  server{n}:
    type: OS::Heat::DeployedServer
    properties: {{software_config_transport: {transport}}}
  deployment{n}:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {{get_resource: script}}
      server: {{get_resource: server{n}}}
      signal_transport: NO_SIGNAL
"""
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  script:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: "#!/bin/sh\\necho done"}
"""


@dataclass
class Guest:
    """A server: the section of its agent for its transport."""

    section: dict[str, Any]
    token: str = ""


def polling(quick: bool) -> Iterator[Figure]:
    """Processor time of a poll, for each transport that asks the API itself."""
    times = 2 if quick else SECONDS
    empty_ms = _empty_server_ms(times)
    yield Figure("a request of an empty server: processor time", empty_ms, "ms", note="the floor")
    for transport, kind, poll in (
        ("POLL_SERVER_CFN", "cfn", _by_signature),
        ("POLL_SERVER_HEAT", "heat", _by_token),
    ):
        with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
            guests = _guests(both, transport, kind)
            yield from _measured(both, transport, guests, poll, times, empty_ms)


def _guests(both: Served, transport: str, kind: str) -> list[Guest]:
    parts = (SERVER.format(n=n, transport=transport) for n in range(SERVERS))
    stack = both.stack("guests", TEMPLATE + "".join(parts))
    stack.create()
    found = []
    for n in range(SERVERS):
        _, answer = both.client.call("GET", f"{stack.path}/resources/server{n}")
        found.append(Guest(answer["resource"]["attributes"]["os_collect_config"][kind]))
    return found


def _measured(
    both: Served,
    transport: str,
    guests: list[Guest],
    poll: Callable[[Served, Guest], None],
    times: int,
    empty_ms: float,
) -> Iterator[Figure]:
    for one in (*guests, *guests):  # the first polls of each: afterwards their answers are kept
        poll(both, one)
    both.mark()
    time.sleep(1)
    before, memory, start = cpu_s(both.hearth.pid), pss_mib(both.hearth.pid), time.perf_counter()
    waits = _at_rate(lambda number: poll(both, guests[number % len(guests)]), times)
    polls = len(waits)
    took, spent = time.perf_counter() - start, cpu_s(both.hearth.pid) - before
    calls = len(both.ledger()["calls"])
    note = (
        f"{polls / took:.0f} polls a second; half of them within {waits[polls // 2] * 1000:.0f} ms"
    )
    each_ms = spent / polls * 1000
    yield Figure(f"{transport}: processor time of a poll", each_ms, "ms", note=note)
    yield Figure(f"{transport}: over an empty server", each_ms / empty_ms, "x", OVER_EMPTY_MAX)
    share = spent / took
    what = f"{transport}: {GUESTS:,} guests, a poll every {EVERY_S:.0f} s"
    yield Figure(what, share * 100, "%", SHARE_MAX * 100, "of a core")
    yield Figure(f"{transport}: calls of the cloud for {polls} polls", calls, "", note="")
    yield Figure(f"{transport}: growth", pss_mib(both.hearth.pid) - memory, "MiB")


def _at_rate(poll: Callable[[int], None], times: int) -> list[float]:
    """Poll at the rate of all guests together for so many seconds; return how long each took."""
    rate, polls, start = GUESTS / EVERY_S, int(times * GUESTS / EVERY_S), time.perf_counter()

    def client(first: int) -> list[float]:
        waited = []
        for number in range(first, polls, CLIENTS):
            due = start + number / rate
            time.sleep(max(0.0, due - time.perf_counter()))
            begun = time.perf_counter()
            poll(number)
            waited.append(time.perf_counter() - begun)
        return waited

    with ThreadPoolExecutor(CLIENTS) as clients:
        return sorted(chain.from_iterable(clients.map(client, range(CLIENTS))))


def _empty_server_ms(times: int) -> float:
    """Return the processor time of a request to an ASGI server that does nothing.

    Each request comes on a connection of its own, as those of the guests do.
    """
    with subprocess.Popen([sys.executable, "-c", EMPTY], stdout=subprocess.PIPE, text=True) as one:
        assert one.stdout is not None
        port = int(one.stdout.readline())

        def poll(_: int) -> None:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
                connection.request("GET", "/")
                assert connection.getresponse().read()

        for number in range(100):
            poll(number)
        before = cpu_s(one.pid)
        polls = len(_at_rate(poll, times))
        spent = cpu_s(one.pid) - before
        one.terminate()
    return spent / polls * 1000


def _by_signature(both: Served, guest: Guest) -> None:
    section = guest.section
    params = {
        "Action": "DescribeStackResource",
        "StackName": section["stack_name"],
        "LogicalResourceId": section["path"].partition(".")[0],
        "AWSAccessKeyId": section["access_key_id"],
        "SignatureVersion": "2",
        "SignatureMethod": "HmacSHA256",
        "Version": "2010-05-15",
        "Timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    served_at = urlsplit(both.client.url)
    url = f"{served_at.scheme}://{served_at.netloc}/cfn/v1/"
    params["Signature"] = signature("GET", url, params, section["secret_access_key"])
    with contextlib.closing(http.client.HTTPConnection(served_at.netloc)) as connection:
        connection.request("GET", f"/cfn/v1/?{urlencode(params)}")
        answer = connection.getresponse()
        content = answer.read()
    assert answer.status == 200, content
    assert b"deploy_action" in content


def _by_token(both: Served, guest: Guest) -> None:
    section = guest.section
    if not guest.token:
        guest.token = token_of(section)
    url = urlsplit(both.client.url)
    base = f"{url.scheme}://{url.netloc}/v1/{section['project_id']}"
    path = f"/stacks/{quote(section['stack_id'])}/resources/{section['resource_name']}/metadata"
    with contextlib.closing(Client(base, guest.token)) as client:
        status, answer = client.call("GET", path)
    assert status == 200, answer
    assert answer["metadata"]["deployments"]


def token_of(section: dict[str, Any]) -> str:
    """Return a token of the user in a section."""
    who = {"id": section["user_id"], "password": section["password"]}
    auth = {
        "identity": {"methods": ["password"], "password": {"user": who}},
        "scope": {"project": {"id": section["project_id"]}},
    }
    with contextlib.closing(Client(section["auth_url"])) as client:
        status, answer = client.call("POST", "/auth/tokens", {"auth": auth})
        assert status == 201, answer
        return client.token
