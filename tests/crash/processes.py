"""The two processes of a crash test: a cloud that survives, and a Hearth that does not."""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import requests
import sqlalchemy as sa

from tests import hurry
from tests.clock import Clock
from tests.forked import Forked

STOPPED_S = 60.0
READY_S = 120.0  # sixteen processes may start side by side, and others beside them
SITUATION = {
    "stacks": "SELECT id, owner, epoch, takeovers, action, status FROM stack"
    " WHERE deleted_at IS NULL",
    "engines": "SELECT id, pid, extract(epoch from clock_timestamp()) - beat_at AS age FROM engine",
    "sessions": "SELECT pid, state, clock_timestamp() - state_change AS since, wait_event, query"
    " FROM pg_stat_activity WHERE datname = current_database()",
}
NO_ANSWER = requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError
TAKEN_OVER_S = 40.0  # a lease is 15 s
PASSWORD = "secret"
LOOPBACK = "127.0.0.1"


class Cloud:
    """devcloud in a process of its own, with its admin API. It listens on `host`."""

    def __init__(
        self,
        *,
        build_s: float = 0.2,
        orchestration_url: str | None = None,
        host: str = LOOPBACK,
    ) -> None:
        command = [sys.executable, "-m", "hearth_devcloud", "--no-quotas", "--listen", host]
        command += ["--parent-pid", str(os.getpid())]
        command += ["--build-s", str(build_s), "--volume-s", str(build_s)]
        if orchestration_url is not None:
            command += ["--orchestration-url", orchestration_url]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = json.loads(self.process.stdout.readline())
        self.url: str = told["url"]
        self.auth_url: str = told["auth_url"]
        self.http = requests.Session()
        self.admin("POST", "knobs", {"threshold_alarms": True})

    def close(self) -> None:
        self.http.close()
        self.process.terminate()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def admin(self, method: str, path: str, body: Any = None) -> Any:
        """A call to the admin API."""
        reply = self.http.request(method, f"{self.url}/devcloud/{path}", json=body, timeout=30)
        assert reply.ok, reply.text
        return reply.json() if reply.content else None

    def knobs(self, rules: list[dict[str, Any]]) -> None:
        """More rules."""
        self.admin("POST", "knobs", {"rules": rules})

    def clear(self) -> None:
        """No rules; whoever waits goes on."""
        self.admin("DELETE", "knobs")

    def struck(self) -> list[int]:
        """How often each rule struck."""
        return [rule["struck"] for rule in self.admin("GET", "knobs")["rules"]]

    def waiting(self) -> int:
        """How many calls are held or without their answer."""
        return int(self.admin("GET", "knobs")["waiting"])

    def release(self, *, discard: bool = False) -> None:
        """Let held calls go on, or cut them off as if they had never arrived."""
        self.admin("POST", f"knobs/release?discard={int(discard)}")

    def objects(self) -> list[dict[str, Any]]:
        """All objects since the mark that somebody asked for."""
        found = self.admin("GET", "ledger")["objects"]
        return [one for one in found if not one["implicit"]]

    def answered(self) -> dict[int, int]:
        """The status of each call that has ended, by its number."""
        return {
            call["seq"]: call["status"] for call in self.admin("GET", "ledger?calls=1")["calls"]
        }

    def login(self, user: str) -> tuple[str, str, str]:
        """A token of a user, the id of its project, and where its servers are."""
        who = {"name": user, "domain": {"id": "default"}, "password": PASSWORD}
        where = {"name": user, "domain": {"id": "default"}}
        identity = {"methods": ["password"], "password": {"user": who}}
        body = {"auth": {"identity": identity, "scope": {"project": where}}}
        reply = self.http.post(f"{self.auth_url}/auth/tokens", json=body, timeout=30)
        assert reply.status_code == 201, reply.text
        token = reply.json()["token"]
        (compute,) = [one["endpoints"] for one in token["catalog"] if one["type"] == "compute"]
        return reply.headers["X-Subject-Token"], token["project"]["id"], str(compute[0]["url"])


class Hearth:
    """`hearth serve`, to be killed and started again on the same data.

    `in_a_hurry`: what it waits for takes less, where no test tells its moments by the real time.
    An API listens on `host`. If `namespace` is set, the process starts in this network namespace.
    """

    def __init__(
        self,
        folder: Path,
        cloud: Cloud,
        *,
        database: str | None = None,
        role: str = "all",
        in_a_hurry: bool = False,
        port: int | None = None,
        host: str = LOOPBACK,
    ) -> None:
        self.folder = folder
        self.role = role
        self.speed = hurry.WITH_OTHERS if in_a_hurry else None
        self.port = port or free_port()
        self.url = f"http://{host}:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "hearth.db"
        self.log = folder / "hearth.log"
        self.process: Forked | None = None
        self.clock: Clock | None = None
        self.namespace: str | None = None
        self._pid = 0
        (folder / "hearth.conf").write_text(
            settings(database or f"sqlite:///{self.file}", cloud, self.port, host)
        )

    def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        command = ["serve", "--role", self.role, "--config", str(self.folder / "hearth.conf")]
        with self.log.open("a") as log:
            clock = None if self.clock is None else self.clock.file
            self.process = Forked(
                command, stderr=log.fileno(), speed=self.speed, clock=clock,
                namespace=self.namespace,
            )  # fmt: skip
        self._pid = self.process.pid
        ready, _, _ = select.select([self.process.stdout], [], [], READY_S)
        line = self.process.stdout.readline() if ready else ""
        assert "ready" in line, f"hearth did not start: {self.said()}"

    def configure(self, section: str, **options: str) -> None:
        """Set more options; they count from its next start."""
        with (self.folder / "hearth.conf").open("a") as file:
            file.write(f"[{section}]\n" + "".join(f"{k} = {v}\n" for k, v in options.items()))

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process is None or self.process.poll() is not None

    def said(self) -> str:
        """The end of what it logged."""
        return self.log.read_text()[-4000:] if self.log.exists() else ""

    def kill(self) -> None:
        """kill -9, and wait until the process is gone."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Stop it as an administrator would."""
        self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        """Send a signal and go on."""
        assert self.process is not None
        self.process.send_signal(number)

    @property
    def pid(self) -> int:
        """Its process, also when that is gone."""
        return self._pid

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let it stand still, as a machine that hangs would."""
        self.send(signal.SIGSTOP)
        try:
            yield
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
            assert state == "T", f"somebody woke the stopped engine, which is now {state}"
        finally:
            self.send(signal.SIGCONT)

    def _end(self, number: signal.Signals) -> None:
        if self.process is None:
            return
        self.process.send_signal(number)
        try:
            self.process.wait(STOPPED_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOPPED_S)
            raise AssertionError(f"it does not stop: {self.said()}") from None
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None


class Pair:
    """Two engines on one PostgreSQL: one that works, and a second that takes over from it.

    The second is started when it is needed, so that it is known who has which call under way.
    """

    def __init__(self, folder: Path, cloud: Cloud, database: str) -> None:
        self.log = folder / "all.log"
        self._made = [
            Hearth(folder / name, cloud, database=database, role=role)
            for name, role in (("api", "api"), ("engine-0", "engine"), ("engine-1", "engine"))
        ]
        self.api, self.owner, self.other = self._made
        self.url = self.api.url
        self._database = sa.create_engine(database, isolation_level="AUTOCOMMIT")

    def start(self) -> None:
        self.api.start()
        self.owner.start()

    def kill(self) -> None:
        for one in self._made:
            one.kill()
        self._database.dispose()

    def said(self) -> str:
        """The ends of what they logged."""
        return "".join(one.said() for one in self._made)

    def until_taken_over(self) -> None:
        """Start the other engine and wait until the first one owns nothing any more."""
        self.other.start()
        pid = self.owner.pid
        self.owner, self.other = self.other, self.owner
        owners = sa.text(
            "SELECT count(*) FROM stack JOIN engine ON engine.id = stack.owner"
            " WHERE engine.pid = :pid"
        )

        def taken() -> bool:
            with self._database.connect() as connection:
                return not connection.execute(owners, {"pid": pid}).scalar()

        try:
            until("the other engine has taken the stack over", taken, TAKEN_OVER_S)
        except TimeoutError as problem:
            raise TimeoutError(f"{problem}: {self._situation()}") from None

    def _situation(self) -> dict[str, list[str]]:
        """Who owns what, how old the leases are, and what the database waits for."""
        with self._database.connect() as connection:
            return {
                about: [str(row) for row in connection.execute(sa.text(query))]
                for about, query in SITUATION.items()
            }


class Client:
    """A user of the Orchestration API, who waits while Hearth is away."""

    def __init__(self, cloud: Cloud, url: str, user: str = "demo") -> None:
        self.token, project, self.compute = cloud.login(user)
        self.base = f"{url}/v1/{project}"
        self.http = requests.Session()

    def close(self) -> None:
        self.http.close()

    def call(self, method: str, path: str, body: Any = None) -> requests.Response | None:
        """A call; None while nobody answers."""
        headers = {"X-Auth-Token": self.token}
        try:
            return self.http.request(
                method, f"{self.base}{path}", json=body, headers=headers, timeout=30
            )
        except NO_ANSWER:
            return None

    def create(self, name: str, template: str, files: Mapping[str, str], **more: Any) -> str:
        """Create a stack; its id."""
        body = {"stack_name": name, "template": template, "files": dict(files), "timeout_mins": 5}
        reply = self.call("POST", "/stacks", {**body, **more})
        assert reply is not None
        assert reply.status_code == 201, reply.text
        return str(reply.json()["stack"]["id"])

    def update(
        self, name: str, ident: str, template: str, files: Mapping[str, str], **more: Any
    ) -> None:
        """Update a stack."""
        body = {"template": template, "files": dict(files), "timeout_mins": 5, **more}
        reply = self.call("PUT", f"/stacks/{name}/{ident}", body)
        assert reply is not None
        assert reply.status_code == 202, reply.text

    def act(self, name: str, ident: str, word: str) -> None:
        """Check, suspend or resume a stack."""
        reply = self.call("POST", f"/stacks/{name}/{ident}/actions", {word: None})
        assert reply is not None
        assert reply.ok, reply.text

    def servers(self) -> dict[str, str]:
        """The status of each server of the project by name, as the cloud says."""
        reply = self.http.get(
            f"{self.compute}/servers/detail", headers={"X-Auth-Token": self.token}, timeout=30
        )
        assert reply.ok, reply.text
        return {one["name"]: one["status"] for one in reply.json()["servers"]}

    def delete(self, name: str, ident: str) -> None:
        reply = self.call("DELETE", f"/stacks/{name}/{ident}")
        assert reply is not None
        assert reply.status_code == 204, reply.text

    def state(self, name: str, ident: str) -> tuple[str, str]:
        """Status and reason; GONE when there is no such stack, nothing while nobody answers."""
        reply = self.call("GET", f"/stacks/{name}/{ident}")
        if reply is None:
            return "", ""
        if reply.status_code == 404:
            return "GONE", ""
        assert reply.ok, reply.text
        stack = reply.json()["stack"]
        return stack["stack_status"], stack["stack_status_reason"]

    def states(self) -> dict[str, tuple[str, str]] | None:
        """Status and reason of each stack of the project by its id; None while nobody answers."""
        reply = self.call("GET", "/stacks")
        if reply is None or not reply.ok:
            return None
        return {
            one["id"]: (one["stack_status"], one["stack_status_reason"])
            for one in reply.json()["stacks"]
        }

    def resources(self, name: str, ident: str) -> dict[str, str]:
        """The states of the resources by name; none while nobody answers."""
        reply = self.call("GET", f"/stacks/{name}/{ident}/resources")
        if reply is None or not reply.ok:
            return {}
        return {one["resource_name"]: one["resource_status"] for one in reply.json()["resources"]}

    def all(self, collection: str) -> list[dict[str, Any]]:
        """All members of a collection of the project."""
        reply = self.call("GET", f"/{collection}")
        assert reply is not None
        assert reply.ok, reply.text
        return list(reply.json()[collection])

    def signal(self, name: str, ident: str, resource: str, details: Mapping[str, Any]) -> bool:
        """Signal a resource, in the role of the guest; whether it was taken."""
        path = f"/stacks/{name}/{ident}/resources/{resource}/signal"
        reply = self.call("POST", path, dict(details))
        return reply is not None and reply.ok


_ports = itertools.cycle(random.sample(range(15_000, 32_000), 17_000))


def free_port() -> int:
    """A port that was free a moment ago, below those that connections get: it stays free while a
    process that is started again leaves it.
    """
    while True:
        port = next(_ports)
        with socket.socket() as bound, suppress(OSError):
            bound.bind(("127.0.0.1", port))
            return port


def settings(database: str, cloud: Cloud, port: int, host: str = "127.0.0.1") -> str:
    """A configuration in the form of heat.conf."""
    return f"""
[DEFAULT]
auth_encryption_key = 0123456789abcdef0123456789abcdef
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = {PASSWORD}
stack_user_domain_name = heat
region_name_for_services = RegionOne
heat_metadata_server_url = http://127.0.0.1:{port}/cfn/v1
heat_waitcondition_server_url = http://127.0.0.1:{port}/cfn/v1/waitcondition
[database]
connection = {database.replace("$", "$$")}
[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = 0
[heat_api]
bind_host = {host}
bind_port = {port}
[keystone_authtoken]
auth_url = {cloud.auth_url}
username = hearth
password = {PASSWORD}
project_name = service
user_domain_name = Default
project_domain_name = Default
"""


def until(what: str, is_so: Any, within_s: float) -> Any:
    """Ask until the answer is true, less often the longer it takes; its value. Raises
    TimeoutError."""
    deadline, pause_s = time.monotonic() + within_s, 0.02
    while time.monotonic() < deadline:
        if found := is_so():
            return found
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.3, 0.2)
    raise TimeoutError(f"{what}: not within {within_s} s")
