"""`hearth serve --workers N`: processes on one socket, each replaced when it dies."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.conftest import drop_database, fresh_database
from tests.crash.processes import Client, Cloud, settings, until
from tests.forked import Forked
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]
COUNT = 3


def children(pid: int) -> set[int]:
    try:
        return {int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    except FileNotFoundError:
        return set()


class Served:
    """A running `hearth serve --workers`."""

    def __init__(self, process: Forked, line: str, cloud: Cloud, log: Path) -> None:
        self.process = process
        self.line = line
        self.log = log
        self.url = line.split()[4].removesuffix("/v1")
        self.client = Client(cloud, self.url)

    def workers(self) -> set[int]:
        return children(self.process.pid)

    def answers(self) -> bool:
        """Whether a new connection gets an answer."""
        reply = requests.get(f"{self.url}/", timeout=20)
        return reply.status_code == 300


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with contextlib.ExitStack() as ends:
        url, name = fresh_database("postgresql")
        ends.callback(drop_database, "postgresql", name)
        cloud = Cloud()
        ends.callback(cloud.close)
        config = tmp_path / "hearth.conf"
        config.write_text(settings(url, cloud, 0))
        log = (tmp_path / "log").open("w")
        ends.callback(log.close)
        command = ["serve", "--port", "0", "--role", "api", "--workers", str(COUNT)]
        process = Forked([*command, "--config", str(config)], stderr=log.fileno())
        ends.enter_context(process)
        ends.callback(process.kill)  # its children end with it
        served = Served(process, process.stdout.readline(), cloud, tmp_path / "log")
        ends.callback(served.client.close)
        yield served


def test_one_that_dies_is_replaced_and_nobody_notices(served: Served):
    assert served.line.endswith(f", {COUNT} processes\n")
    first = served.workers()
    assert len(first) == COUNT
    assert all(served.answers() for _ in range(20))
    for victim in sorted(first):
        os.kill(victim, signal.SIGKILL)
        assert served.answers()  # by another one
        until("a replacement", lambda v=victim: len(served.workers() - {v}) == COUNT, 20)
    assert not served.workers() & first
    assert all(served.answers() for _ in range(20))
    assert served.log.read_text().count("ended with signal 9; replaced in") == COUNT
    assert served.process.poll() is None


def test_signals_are_passed_on(served: Served):
    before = served.workers()
    served.process.send_signal(signal.SIGHUP)
    until(
        "each has read the settings",
        lambda: served.log.read_text().count("settings") >= COUNT,
        20,
    )
    assert served.workers() == before
    served.process.terminate()
    assert served.process.wait(30) == 0
    for pid in before:
        assert not Path(f"/proc/{pid}").exists()


def test_they_end_with_their_parent(served: Served):
    before = served.workers()
    served.process.kill()
    until("their end", lambda: not any(Path(f"/proc/{pid}").exists() for pid in before), 30)


def test_connections_are_spread_over_the_processes(served: Served):
    sessions = [requests.Session() for _ in range(60)]
    for session in sessions:
        assert session.get(f"{served.url}/", timeout=20).status_code == 300
    inodes = [
        sum("socket:" in os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir())
        for pid in served.workers()
    ]
    for session in sessions:
        session.close()
    assert max(inodes) - min(inodes) < 55, inodes  # not all of them in one process


def test_what_prevents_the_start_is_said_and_ends_all(tmp_path: Path):
    cloud = Cloud()
    with contextlib.closing(cloud):
        url, name = fresh_database("postgresql")
        config = tmp_path / "hearth.conf"
        rules = tmp_path / "policy.yaml"
        rules.write_text("- not a table\n")
        config.write_text(f"{settings(url, cloud, 0)}\n[oslo_policy]\npolicy_file = {rules}\n")
        log = (tmp_path / "log").open("w")
        command = ["serve", "--port", "0", "--role", "api", "--workers", "2"]
        began = time.monotonic()
        with log, Forked([*command, "--config", str(config)], stderr=log.fileno()) as process:
            assert process.wait(40) == 1
            assert process.stdout.read() == ""
        assert time.monotonic() - began < 30
        assert "[oslo_policy]: the policy file must map" in (tmp_path / "log").read_text()
        drop_database("postgresql", name)


def test_an_sqlite_database_serves_one_process(tmp_path: Path):
    cloud = Cloud()
    with contextlib.closing(cloud):
        config = tmp_path / "hearth.conf"
        config.write_text(settings(f"sqlite:///{tmp_path}/hearth.db", cloud, 0))
        log = (tmp_path / "log").open("w")
        command = ["serve", "--port", "0", "--workers", "2", "--config", str(config)]
        with log, Forked(command, stderr=log.fileno()) as process:
            assert process.wait(30) == 1
    assert "--workers: expected 1 with SQLite" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("count", ["0", "65", "x"])
def test_a_number_that_makes_no_sense_is_refused(count: str):
    process = Forked(["serve", "--workers", count], stderr=os.open(os.devnull, os.O_WRONLY))
    with process, contextlib.suppress(subprocess.TimeoutExpired):
        assert process.wait(20) == 2
