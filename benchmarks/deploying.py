"""Software deployments on servers whose agents answer at once."""

import contextlib
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.figure import Figure
from benchmarks.machine import cpu_s
from benchmarks.polling import token_of
from benchmarks.served import Client, Served, Stack, served

SERVERS = 20
EACH = 5  # deployments of a server
LOOK_S = 0.02  # between two polls of a server
GUESTS = 4  # threads

SERVER = """
  server{n}:
    type: OS::Heat::DeployedServer
    properties: {{software_config_transport: POLL_SERVER_HEAT}}
"""
DEPLOYMENT = """
  deployment{n}x{m}:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: {{get_resource: script}}
      server: {{get_resource: server{n}}}
      signal_transport: HEAT_SIGNAL
      input_values: {{colour: {colour}}}
"""
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  script:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, inputs: [{name: colour}], config: "#!/bin/sh\\necho done"}
"""


def deploying(quick: bool) -> Iterator[Figure]:
    """How long a stack of deployments takes, and the processor time of each deployment."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as both:
        stack = both.stack("guests", _template("red"))
        with _Guests(both, stack):
            yield from _figures(both, "create", stack.create)
            yield from _figures(both, "update", lambda: stack.update(_template("blue")))
            if not quick:
                yield from _figures(both, "delete", stack.delete)


def _template(colour: str) -> str:
    parts = [SERVER.format(n=n) for n in range(SERVERS)]
    parts += [
        DEPLOYMENT.format(n=n, m=m, colour=colour) for n in range(SERVERS) for m in range(EACH)
    ]
    return TEMPLATE + "".join(parts)


def _figures(both: Served, verb: str, work: Callable[[], float]) -> Iterator[Figure]:
    both.mark()
    before = cpu_s(both.hearth.pid)
    took = work()
    spent = cpu_s(both.hearth.pid) - before
    count = SERVERS * EACH
    calls = len(both.ledger()["calls"])
    yield Figure(f"{verb} {count} deployments on {SERVERS} servers", took, "s")
    what = f"{verb} {count} deployments: processor time of each"
    note = f"polls and signals included; {calls / count:.1f} calls of the cloud, logins included"
    yield Figure(what, spent / count * 1000, "ms", note=note)


class _Guests:
    """The agents of all servers: each polls all the time, and reports each run once."""

    def __init__(self, both: Served, stack: Stack) -> None:
        self._both, self._stack = both, stack
        self._base, _, _ = both.client.url.rpartition("/")
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(GUESTS)

    def __enter__(self) -> None:
        shares = (range(first, SERVERS, GUESTS) for first in range(GUESTS))
        self._running = [self._pool.submit(self._all, share) for share in shares]

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._pool.shutdown()
        for one in self._running:
            one.result()  # raises what has ended a guest

    def _all(self, servers: range) -> None:
        sections: dict[int, Any] = {}
        tokens: dict[str, str] = {}
        seen: set[str] = set()
        while not self._over.wait(LOOK_S):
            for n in servers:
                if n not in sections and (section := self._section(n)):
                    sections[n] = section
                if n in sections:
                    self._poll(sections[n], tokens, seen)

    def _section(self, n: int) -> Any:
        """Return what the agent of a server needs; None until the server is complete."""
        if not self._stack.path:
            return None
        client = Client(self._both.client.url, self._both.client.token)
        with contextlib.closing(client):
            status, answer = client.call("GET", f"{self._stack.path}/resources/server{n}")
        if status != 200 or answer["resource"]["resource_status"] != "CREATE_COMPLETE":
            return None
        return answer["resource"]["attributes"]["os_collect_config"]["heat"]

    def _poll(self, section: dict[str, Any], tokens: dict[str, str], seen: set[str]) -> None:
        path = f"/stacks/{section['stack_id']}/resources/{section['resource_name']}/metadata"
        status, answer = self._as_user(section, tokens, "GET", path)
        if status != 200:
            return
        for one in answer["metadata"].get("deployments", ()):
            if one["id"] in seen:
                continue
            given = {each["name"]: each["value"] for each in one["inputs"]}
            user = {
                "user_id": given["deploy_user_id"],
                "password": given["deploy_password"],
                "project_id": given["deploy_project_id"],
                "auth_url": given["deploy_auth_url"],
            }
            path = f"/stacks/{given['deploy_stack_id']}/resources"
            path += f"/{given['deploy_resource_name']}/signal"
            status, _ = self._as_user(user, tokens, "POST", path, {"deploy_status_code": 0})
            if status == 200:
                seen.add(one["id"])

    def _as_user(
        self, user: dict[str, Any], tokens: dict[str, str], method: str, path: str, body: Any = None
    ) -> tuple[int, Any]:
        """Make a call of the API as a user of the stack."""
        known = user["user_id"]
        if known not in tokens:
            tokens[known] = token_of(user)
        client = Client(f"{self._base}/{user['project_id']}", tokens[known])
        with contextlib.closing(client):
            return client.call(method, path, body)
