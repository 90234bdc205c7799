"""Servers that run, for tests: what the machine needs, and a cloud with such servers."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hearth_devcloud.settings import Settings
from tests.conftest import lacking
from tests.devcloud.running import Served

WAIT_S = 40.0
KEEPER = "hearth_devcloud.sandbox.keeper"
ATTEMPTS, ATTEMPT_S = 10, 1.0
# tests change the path of programs
UNSHARE, TRUE = (shutil.which(name) or name for name in ("unshare", "true"))


@cache
def namespaces() -> bool:
    """Whether this machine permits namespaces of users."""
    command = [UNSHARE, "--user", "--map-root-user", "--mount", "--pid", "--net", "--fork"]
    for _ in range(ATTEMPTS):  # the kernel frees those of ended servers a little later
        try:
            if subprocess.run([*command, TRUE], check=False, capture_output=True).returncode == 0:
                return True
        except FileNotFoundError:
            return False
        time.sleep(ATTEMPT_S)
    return False


def need_namespaces() -> None:
    """Skip, or fail under CI, on a machine that has none."""
    if not sys.platform.startswith("linux") or not namespaces():
        lacking("Linux that permits user namespaces")


def until(what: Callable[[], Any], limit_s: float = WAIT_S) -> Any:
    """Return what it gives once it is true; fails after a while."""
    deadline = time.monotonic() + limit_s
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {limit_s} s"
        time.sleep(0.02)


def keepers(cloud: int | None = None) -> set[int]:
    """The processes of the keeper and the servers of a cloud, by the process that it is."""
    mark = f"--of={cloud or os.getpid()}".encode()
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if KEEPER.encode() in words and mark in words:
            found.add(int(path.parent.name))
    return found


def haproxies(cloud: int | None = None) -> set[int]:
    """The processes of HAProxy that the keeper of a cloud has started."""
    found, ours = set(), keepers(cloud)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if words[0].endswith(b"haproxy") and parent in ours:
            found.add(int(path.parent.name))
    return found


class Machines(Served):
    """A cloud whose servers run."""

    def __init__(self, *, data: Path | None = None, **more: Any) -> None:
        need_namespaces()
        super().__init__(Settings(sandbox=True, **more), data=data)

    def boot(self, script: str | bytes | None = None, **more: Any) -> str:
        """Order a server with a user-data script; return its id."""
        if isinstance(script, str):
            script = script.encode()
        images = self.call("GET", "/image/v2/images").json()["images"]
        server = {"name": "box", "flavorRef": "1", "imageRef": images[0]["id"], **more}
        if script is not None:
            server["user_data"] = base64.b64encode(script).decode()
        reply = self.call("POST", "/compute/v2.1/servers", {"server": server})
        assert reply.status_code == 202, reply.text
        return str(reply.json()["server"]["id"])

    def show(self, server: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.call("GET", f"/compute/v2.1/servers/{server}").json()
        return found["server"]

    def reaches(self, server: str, status: str) -> Mapping[str, Any]:
        """The server once it has a status."""
        shown: Mapping[str, Any] = until(
            lambda: s if (s := self.show(server))["status"] == status else None
        )
        return shown

    def act(self, server: str, verb: str, given: Any = None) -> Any:
        reply = self.call("POST", f"/compute/v2.1/servers/{server}/action", {verb: given})
        assert reply.status_code < 300, reply.text
        return reply.json() if reply.content else None

    def console(self, server: str) -> str:
        """What the console shows; nothing before the server is built."""
        path = f"/compute/v2.1/servers/{server}/action"
        reply = self.call("POST", path, {"os-getConsoleOutput": {}})
        return str(reply.json()["output"]) if reply.status_code == 200 else ""

    def said(self, server: str, word: str = "boot finished", times: int = 1) -> str:
        """The console once a word has been said so often."""
        text: str = until(lambda: t if (t := self.console(server)).count(word) >= times else None)
        return text

    def delete(self, server: str) -> None:
        """Delete a server and wait until it is gone."""
        self.call("DELETE", f"/compute/v2.1/servers/{server}")
        path = f"/compute/v2.1/servers/{server}"
        until(lambda: self.call("GET", path).status_code == 404)

    @property
    def notes(self) -> list[str]:
        """What the machine lacks for networks."""
        assert self.running.sandbox is not None
        return self.running.sandbox.notes
