"""Members of a real etcd join, and one that is replaced takes its own place."""

import importlib.util
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.service.clusters.template_files import TEMPLATES

pytestmark = pytest.mark.slow


def free_ports(count: int) -> list[int]:
    socks = [socket.socket() for _ in range(count)]
    for sock in socks:
        sock.bind(("127.0.0.1", 0))
    found = [int(sock.getsockname()[1]) for sock in socks]
    for sock in socks:
        sock.close()
    return found


class Master:
    """The program of one master, with ports and folders of its own on this machine."""

    def __init__(self, number: int, folder: Path, shared: str | None) -> None:
        spec = importlib.util.spec_from_file_location(
            f"node{number}", TEMPLATES / "scripts/node.py"
        )
        assert spec is not None
        assert spec.loader is not None
        self.program = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.program)
        self.folder = folder / str(number)
        self.program.service = self._service
        self.program.ETCD_DATA = self.folder / "etcd"
        self.program.CLIENT_PORT, self.program.PEER_PORT = free_ports(2)
        node = {"name": f"farm-master-{number}", "address": "127.0.0.2"}
        self.etcd = self.program.Etcd(node, plain=True)
        self.etcd._existing = lambda: shared
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Master":
        self.etcd.start()
        return self

    def _service(self, name: str, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def members(self) -> list[str]:
        listed = self.etcd.call(self.etcd.here, "/v3/cluster/member/list", {})["members"]
        return sorted(one.get("name", "") for one in listed)


@pytest.fixture
def masters(tmp_path: Path) -> Iterator[list[Master]]:
    if shutil.which("etcd") is None:
        pytest.skip("needs etcd (package etcd-server)")
    found: list[Master] = []
    try:
        found.append(Master(0, tmp_path, None).start())
        shared = found[0].etcd.here
        found += [Master(number, tmp_path, shared) for number in (1, 2)]
        for one in found[1:]:
            one.start()
        yield found
    finally:
        for one in found:
            one.kill()


def test_a_replaced_master_takes_its_own_place(masters: list[Master], tmp_path: Path):
    names = [f"farm-master-{number}" for number in range(3)]
    assert masters[2].members() == names
    key: Any = masters[1].etcd.shared("/hearth/k", lambda: "made once")
    assert masters[2].etcd.shared("/hearth/k", lambda: "made twice") == key == "made once"
    masters[2].kill()
    shutil.rmtree(masters[2].folder)
    masters[2] = Master(2, tmp_path, masters[0].etcd.here).start()
    assert masters[2].members() == names
    assert masters[2].etcd.shared("/hearth/k", lambda: "lost") == "made once"
