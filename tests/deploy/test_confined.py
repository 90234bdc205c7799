"""Hearth under the restrictions of its units: it starts, answers, computes in a process, ends."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.api.front.conftest import Site
from tests.clients.dev import wait_for
from tests.crash.processes import free_port
from tests.deploy.confined import confined, missing
from tests.devcloud.running import Served

pytestmark = pytest.mark.slow

UNIT = "hearth-api.service"  # the restrictions are those of all units, see test_systemd
CALCULATION = "range(40).select(range(40).sum()).sum()"  # more than the serving process does
COMPUTED = {
    "heat_template_version": "2018-08-31",
    "resources": {
        "sum": {
            "type": "OS::Heat::Value",
            "properties": {"value": {"yaql": {"expression": CALCULATION, "data": {}}}},
        },
        "net": {"type": "OS::Neutron::Net"},
    },
    "outputs": {"sum": {"value": {"get_attr": ["sum", "value"]}}},
}
REFUSED = """
import ctypes, mmap, os, socket
for attempt in (
    lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_WRITE | mmap.PROT_EXEC),
    lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW),
    lambda: os.setuid(0),
    lambda: os.sched_setaffinity(0, {0}),
    lambda: os.chown("/", 1, 1),
    lambda: open("/proc/meminfo"),
):
    try:
        attempt()
    except OSError as error:
        print(error.errno, end=" ")
    else:
        print("done", end=" ")
"""


@pytest.fixture(autouse=True)
def _needs() -> None:
    if lacks := missing():
        pytest.skip(f"needs {lacks}")


def children(pid: int) -> list[int]:
    """Return the children of all threads of a process."""
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(one) for path in listed for one in path.read_text().split()]


class Confined(Site):
    """A site whose process has the restrictions of the unit."""

    confined: "subprocess.Popen[str]"

    def start(self, *options: str) -> None:
        command = ["-m", "hearth.cli.main", "serve", "--port", "0"]
        words = [*command, "--config", str(self.folder / "heat.conf"), *options]
        self.confined = subprocess.Popen(
            confined(UNIT, [sys.executable, *words]), stdout=subprocess.PIPE, text=True,
            env={**os.environ, "HEARTH_LOG": "INFO"},
        )  # fmt: skip
        assert self.confined.stdout is not None
        line = self.confined.stdout.readline()
        assert line.startswith("hearth is ready:"), line
        self.url = line.split()[4].rstrip("/").removesuffix("/v1")

    def stop(self) -> int:
        (pid,) = children(self.confined.pid)
        os.kill(pid, signal.SIGTERM)
        return self.confined.wait(30)

    def children(self) -> str:
        """Return the command lines of the children of Hearth."""
        (pid,) = children(self.confined.pid)
        return " ".join(Path(f"/proc/{one}/cmdline").read_text() for one in children(pid))


@pytest.fixture
def hearth(tmp_path: Path) -> Iterator[Confined]:
    with Served() as cloud:
        one = Confined(cloud, tmp_path)
        one.write(hearth={"monitoring_port": str(free_port())})
        try:
            one.start()
            yield one
        finally:
            one.confined.kill()
            one.confined.wait(10)
            assert one.confined.stdout is not None
            one.confined.stdout.close()


def test_hearth_serves_computes_and_ends(hearth: Confined):
    path = f"/v1/{hearth.project()}/stacks"
    made = hearth.call("POST", path, json={"stack_name": "one", "template": COMPUTED})
    assert made.status_code == 201, made.text

    def look() -> dict[str, object] | None:
        stack = hearth.call("GET", f"{path}/one/{made.json()['stack']['id']}").json()["stack"]
        return None if stack["stack_status"] == "CREATE_IN_PROGRESS" else dict(stack)

    stack = wait_for(look, "the stack")
    assert stack["stack_status"] == "CREATE_COMPLETE", stack
    assert stack["outputs"] == [
        {"output_key": "sum", "output_value": 31200, "description": "No description given"}
    ]
    assert "hearth.process.compute" in hearth.children()
    found = re.search(r"(?m)^monitoring_port = (\d+)$", (hearth.folder / "heat.conf").read_text())
    assert found is not None
    metrics = requests.get(f"http://127.0.0.1:{found[1]}/metrics", timeout=10).text
    assert "process_resident_memory_bytes " in metrics
    assert hearth.stop() == 0
    said = hearth.log.read_text()
    assert "Operation not permitted" not in said
    assert "Permission" not in said


def test_the_restrictions_are_in_force():
    done = subprocess.run(
        confined(UNIT, [sys.executable, "-c", REFUSED]),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1", "97", "1", "1", "1", "2"]
