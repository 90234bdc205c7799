"""Servers of `hearth dev --servers sandbox`: from a create to the last signal, and their memory."""

import contextlib
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from benchmarks.figure import Figure
from benchmarks.machine import pss_mib
from benchmarks.served import HEARTH, Client

SERVERS = 10
LIMIT_S = 120.0
KEEPER = b"hearth_devcloud.sandbox.keeper"
SERVER = """
  server{n}:
    type: OS::Nova::Server
    properties:
      image: host
      flavor: m1.tiny
      networks: [{{network: private}}]
      user_data_format: RAW
      user_data:
        str_replace:
          template: |
            #!/bin/sh
            NOTIFY --data-binary '{{"status": "SUCCESS"}}'
          params: {{NOTIFY: {{get_attr: [handle{n}, curl_cli]}}}}
  handle{n}: {{type: OS::Heat::WaitConditionHandle}}
  wait{n}:
    type: OS::Heat::WaitCondition
    properties: {{handle: {{get_resource: handle{n}}}, timeout: 100}}
"""


def booting(quick: bool) -> Iterator[Figure]:
    """Seconds from the create of a stack to the signals of its servers."""
    sizes = (1,) if quick else (1, SERVERS)
    with tempfile.TemporaryDirectory() as folder, _dev(Path(folder)) as (client, pid):
        for count in sizes:
            body = {"stack_name": f"boot-{count}", "template": _template(count)}
            start = time.perf_counter()
            status, made = client.call("POST", "/stacks", body)
            assert status == 201, made
            path = f"/stacks/boot-{count}/{made['stack']['id']}"
            _until(client, path, "CREATE_COMPLETE")
            took = time.perf_counter() - start
            yield Figure(f"{count} servers: from create to the last signal", took, "s")
            memory = [pss_mib(one) for one in sorted(_keeper(pid))[1:]]  # the keeper is the oldest
            yield Figure(f"{count} servers: memory of one (PSS)", sum(memory) / count, "MiB")
            client.call("DELETE", path)
            _until(client, path, "DELETE_COMPLETE")


def _template(count: int) -> str:
    parts = "".join(SERVER.format(n=n) for n in range(count))
    return f"heat_template_version: 2021-04-16\nresources:{parts}"


@contextlib.contextmanager
def _dev(folder: Path) -> Iterator[tuple[Client, int]]:
    command = [str(HEARTH), "dev", "--port", "0", "--data", str(folder), "--servers", "sandbox"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"orchestration (\S+), cloud \S+, identity (\S+);", line)
        assert found is not None, line
        yield _client(folder, found[1], found[2]), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()


def _client(folder: Path, url: str, auth_url: str) -> Client:
    """Return a client with a token of the first user of the folder's clouds.yaml."""
    cloud = yaml.safe_load((folder / "clouds.yaml").read_text())["clouds"]["hearth"]["auth"]
    domain = {"id": "default"}
    who = {"name": cloud["username"], "password": cloud["password"], "domain": domain}
    project = {"name": cloud["project_name"], "domain": domain}
    identity = {"methods": ["password"], "password": {"user": who}}
    keystone = Client(auth_url)
    body: Any = {"auth": {"identity": identity, "scope": {"project": project}}}
    status, answer = keystone.call("POST", "/auth/tokens", body)
    assert status == 201, answer
    keystone.close()
    return Client(f"{url}/{answer['token']['project']['id']}", keystone.token)


def _until(client: Client, path: str, state: str) -> None:
    """Wait for a state of a stack."""
    deadline = time.perf_counter() + LIMIT_S
    while True:
        status, answer = client.call("GET", path)
        now = answer["stack"]["stack_status"] if status == 200 else None
        if now == state:
            return
        assert not str(now).endswith("FAILED"), answer
        assert time.perf_counter() < deadline, now
        time.sleep(0.02)


def _keeper(pid: int) -> set[int]:
    """Return the processes of the keeper that a `hearth dev` has, and of its servers."""
    found, ours = set(), {pid}
    for path in sorted(Path("/proc").glob("[0-9]*"), key=lambda one: int(one.name)):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in ours:
                ours.add(int(path.name))
                if KEEPER in (path / "cmdline").read_bytes().split(b"\0"):
                    found.add(int(path.name))
    return found
