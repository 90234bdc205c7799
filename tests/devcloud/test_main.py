"""The cloud as a process: ready line, restart, death with the parent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

COMMAND = [sys.executable, "-m", "hearth_devcloud"]


@contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        ready = json.loads(child.stdout.readline())
        try:
            yield child, ready["url"]
        finally:
            child.terminate()
            child.wait(5)


def token(url: str) -> str:
    user = {"name": "demo", "domain": {"id": "default"}, "password": "secret"}
    identity = {"methods": ["password"], "password": {"user": user}}
    body = {"auth": {"identity": identity}}
    reply = requests.post(f"{url}/identity/v3/auth/tokens", json=body, timeout=5)
    return str(reply.headers["X-Subject-Token"])


def test_the_state_survives_a_restart(tmp_path: Path) -> None:
    data = str(tmp_path / "state")
    with process("--data", data) as (_, url):
        headers = {"X-Auth-Token": token(url)}
        body = {"network": {"name": "kept"}}
        network = requests.post(
            f"{url}/network/v2.0/networks", json=body, headers=headers, timeout=5
        ).json()["network"]
        requests.put(
            f"{url}/object-store/v1/AUTH_{network['project_id']}/c", headers=headers, timeout=5
        )
    with process("--data", data) as (_, url):
        again = requests.get(
            f"{url}/network/v2.0/networks/{network['id']}", headers=headers, timeout=5
        )
        assert again.json()["network"] == {k: v for k, v in network.items() if k != "is_default"}
        ledger = requests.get(f"{url}/devcloud/ledger", timeout=5).json()
        assert network["id"] in {o["id"] for o in ledger["objects"]}
        catalogue = requests.get(
            f"{url}/identity/v3/auth/catalog", headers=headers, timeout=5
        ).json()["catalog"]
        assert all(e["url"].startswith(url) for s in catalogue for e in s["endpoints"])


def test_the_state_is_saved_a_moment_after_a_change(tmp_path: Path) -> None:
    data = tmp_path / "state"
    with process("--data", str(data)) as (child, url):
        token(url)
        deadline = time.monotonic() + 5
        while not data.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        child.kill()


def test_another_orchestration_service_is_in_the_catalogue() -> None:
    with process("--orchestration-url", "http://h/v1/$(tenant_id)s") as (_, url):
        headers = {"X-Auth-Token": token(url)}
        reply = requests.get(f"{url}/identity/v3/auth/catalog", headers=headers, timeout=5)
        found = {s["type"]: s["endpoints"] for s in reply.json()["catalog"]}
        assert found["orchestration"][0]["url"].startswith("http://h/v1/")
        assert "tenant_id" not in found["orchestration"][0]["url"]


def test_it_dies_with_its_parent() -> None:
    program = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-m', 'hearth_devcloud',"
        " '--parent-pid', str(os.getpid())], stdout=subprocess.PIPE, text=True)\n"
        "print(child.stdout.readline(), end='', flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=10, check=True
    )
    url = json.loads(done.stdout)["url"]
    deadline = time.monotonic() + 5
    while True:
        try:
            requests.get(url, timeout=1)
        except requests.ConnectionError:
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_it_does_not_start_for_a_parent_that_is_gone() -> None:
    done = subprocess.run([*COMMAND, "--parent-pid", "1"], timeout=10, check=False)
    assert done.returncode == 1
