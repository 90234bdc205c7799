"""`hearth serve` and the cloud in a box as processes of their own, and a client.

Apart, the API and the engine are two processes on one SQLite file. The lock of `hearth serve`
forbids that, so the engine knows the file by a second name.
"""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PASSWORD = "secret"
Begin = Callable[..., "subprocess.Popen[str]"]
HEARTH = Path(sys.executable).with_name("hearth")

CONFIG = """
[DEFAULT]
auth_encryption_key = 0123456789abcdef0123456789abcdef
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = {password}
stack_user_domain_name = heat
region_name_for_services = RegionOne
max_resources_per_stack = -1
max_template_size = 100000000
max_json_body_size = 100000000
[database]
connection = sqlite:///{database}
[heat_api_cfn]
bind_host = 127.0.0.1
bind_port = 0
[heat_api]
bind_host = 127.0.0.1
bind_port = {port}
[keystone_authtoken]
auth_url = {auth_url}
username = hearth
password = {password}
project_name = service
"""


@dataclass
class Client:
    """One kept connection with a token."""

    url: str
    token: str = ""
    _kept: http.client.HTTPConnection | None = field(default=None, repr=False)

    def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and decoded body. `path` is below the client's address."""
        parts = urlsplit(self.url)
        if self._kept is None:
            self._kept = http.client.HTTPConnection(parts.netloc, timeout=300)
        headers = {"X-Auth-Token": self.token, "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        self._kept.request(method, parts.path + path, data, headers)
        answer = self._kept.getresponse()
        raw = answer.read()
        if "X-Subject-Token" in answer.headers:
            self.token = answer.headers["X-Subject-Token"]
        return answer.status, json.loads(raw) if raw[:1] in (b"{", b"[") else None

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()


@dataclass
class Served:
    """The running processes. `hearth` is the engine where the API is another."""

    cloud: subprocess.Popen[str]
    hearth: subprocess.Popen[str]
    cloud_url: str
    client: Client  # of the Orchestration API, below the project
    started_s: float

    def ledger(self) -> dict[str, Any]:
        """The cloud's account of calls since the last mark."""
        return Client(self.cloud_url).call("GET", "/devcloud/ledger?calls=1")[1]

    def mark(self) -> None:
        Client(self.cloud_url).call("POST", "/devcloud/ledger/mark", {})

    def knobs(self, rules: list[dict[str, Any]]) -> None:
        status, _ = Client(self.cloud_url).call("POST", "/devcloud/knobs", rules)
        assert status == 200

    def stack(self, name: str, template: str, files: Mapping[str, str] | None = None) -> "Stack":
        return Stack(self.client, name, template, files or {})


@dataclass
class Stack:
    """A stack, and the seconds each operation took until a final state was shown."""

    client: Client
    name: str
    template: str
    files: Mapping[str, str] = field(default_factory=dict)
    path: str = ""

    def create(self) -> float:
        body = {
            "stack_name": self.name, "template": self.template, "files": self.files,
            "timeout_mins": 60,
        }  # fmt: skip
        start = time.perf_counter()
        status, answer = self.client.call("POST", "/stacks", body)
        assert status == 201, answer
        self.path = f"/stacks/{self.name}/{answer['stack']['id']}"
        return self._until("CREATE_COMPLETE", start)

    def update(self, template: str) -> float:
        start = time.perf_counter()
        body = {"template": template, "files": self.files}
        status, answer = self.client.call("PUT", self.path, body)
        assert status == 202, answer
        return self._until("UPDATE_COMPLETE", start)

    def delete(self) -> float:
        start = time.perf_counter()
        status, answer = self.client.call("DELETE", self.path)
        assert status == 204, answer
        return self._until("DELETE_COMPLETE", start)

    def _until(self, wanted: str, start: float) -> float:
        while True:
            _, answer = self.client.call("GET", f"{self.path}?resolve_outputs=False")
            state, now = answer["stack"]["stack_status"], time.perf_counter() - start
            if state == wanted:
                return now
            assert state.endswith("IN_PROGRESS"), answer["stack"]["stack_status_reason"]
            time.sleep(min(1.0, max(0.01, now * 0.01)))


@contextlib.contextmanager
def served(folder: Path, *, apart: bool = False) -> Iterator[Served]:
    """Start all, sign in, and end all afterwards."""
    with contextlib.ExitStack() as all_of_it:
        begin = partial(begun, all_of_it)
        port = free_port()
        cloud, started = cloud_for(begin, port)
        config, database = folder / "hearth.conf", folder / "hearth.db"
        values = {"password": PASSWORD, "auth_url": started["auth_url"], "port": port}
        config.write_text(CONFIG.format(database=database, **values))
        start = time.perf_counter()
        hearth = begin(HEARTH, "serve", "--config", config, "--role", "api" if apart else "all")
        url = url_in(line(hearth))
        if apart:
            again, config = folder / "again.db", folder / "engine.conf"
            again.symlink_to(database)
            config.write_text(CONFIG.format(database=again, **values))
            hearth = begin(HEARTH, "serve", "--config", config, "--role", "engine")
            line(hearth)
        token, project = sign_in(started["auth_url"])
        client = all_of_it.enter_context(contextlib.closing(Client(f"{url}/{project}", token)))
        yield Served(cloud, hearth, started["url"], client, time.perf_counter() - start)


def cloud_for(begin: Begin, port: int) -> tuple["subprocess.Popen[str]", dict[str, Any]]:
    """Start a cloud in a box whose catalogue has a Hearth at a port; return its first line too."""
    here = f"http://127.0.0.1:{port}/v1/$(project_id)s"
    cloud = begin(sys.executable, "-m", "hearth_devcloud", "--no-quotas",
                  "--password", PASSWORD, "--orchestration-url", here)  # fmt: skip
    return cloud, json.loads(line(cloud))


def url_in(ready: str) -> str:
    """The address in the line of a process that is ready."""
    return next(word for word in ready.split() if word.startswith("http"))


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def begun(all_of_it: contextlib.ExitStack, *command: str | Path) -> "subprocess.Popen[str]":
    quiet = {**os.environ, "HEARTH_LOG": "WARNING"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet)
    all_of_it.callback(end, process)
    return process


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def end(process: "subprocess.Popen[str]") -> None:
    """Ask a process to stop, and wait."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def sign_in(auth_url: str) -> tuple[str, str]:
    """A token of the user demo, and the id of its project."""
    who = {"name": "demo", "domain": {"id": "default"}, "password": PASSWORD}
    auth = {
        "identity": {"methods": ["password"], "password": {"user": who}},
        "scope": {"project": {"name": "demo", "domain": {"id": "default"}}},
    }
    client = Client(auth_url)
    _, answer = client.call("POST", "/auth/tokens", {"auth": auth})
    client.close()
    return client.token, answer["token"]["project"]["id"]
