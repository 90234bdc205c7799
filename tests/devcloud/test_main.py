"""The cloud as a process: ready line, restart, death with the parent."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import openstack
import pytest
import requests

from hearth_devcloud.testing import TestCloud
from tests.crash.processes import free_port

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


@contextmanager
def ready(*arguments: str) -> Iterator[dict[str, str]]:
    """What a cloud prints when it is ready."""
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield json.loads(child.stdout.readline())
        finally:
            child.terminate()
            child.wait(5)


@pytest.mark.filterwarnings("ignore")  # the SDK warns about itself
def test_the_line_has_all_that_a_client_needs(tmp_path: Path) -> None:
    with ready("--password", "sesame") as line:
        url = line.pop("url")
        assert line["auth_url"] == f"{url}/identity/v3"
        with openstack.connect(**line) as connection:
            assert connection.list_projects()
    file = tmp_path / "password"
    file.write_text("sesame")
    with ready("--password-file", str(file)) as secretive:
        assert sorted(secretive) == sorted({"url", *line} - {"password"})


def test_it_listens_on_all_addresses_and_names_one_that_clients_reach() -> None:
    with ready("--listen", "0.0.0.0") as line:
        assert line["url"].startswith("http://127.0.0.1:")
        assert requests.get(line["auth_url"], timeout=5).ok
    with ready("--listen", "127.0.0.3", "--url", "http://cloud:5000/") as line:
        assert line["url"] == "http://cloud:5000"
        assert line["auth_url"] == "http://cloud:5000/identity/v3"


def test_the_control_api_knows_the_name_in_the_url() -> None:
    headers = {"Host": "cloud:5000"}
    with TestCloud() as cloud:
        refused = requests.get(f"{cloud.url}/devcloud/knobs", headers=headers, timeout=5)
        assert refused.status_code == 403
    port = free_port()
    with ready("--port", str(port), "--url", "http://cloud:5000"):
        address = f"http://127.0.0.1:{port}/devcloud/knobs"
        for host, status in (("cloud:5000", 200), (f"127.0.0.1:{port}", 200), ("else", 403)):
            answer = requests.get(address, headers={"Host": host}, timeout=5)
            assert answer.status_code == status, host


def test_servers_do_not_run_where_others_reach_them() -> None:
    words = [*COMMAND, "--servers", "sandbox", "--listen", "0.0.0.0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
    assert (done.returncode, "--listen is 0.0.0.0" in done.stderr) == (1, True)


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
