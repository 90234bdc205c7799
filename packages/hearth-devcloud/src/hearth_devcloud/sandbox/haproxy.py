"""The HAProxy processes of load balancers: one for each, in its own network namespace.

If a configuration changes, a new process takes over from the old one. All processes end with the
keeper, which is the first process of their pid namespace.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

CONNECTIONS_MAX = 2000
FORMER_S = 30  # then a replaced process closes its remaining connections
_GLOBAL = """\
global
  maxconn {connections}
  hard-stop-after {former}s
  nbthread 1
  stats socket {socket} mode 600 level admin
"""


def program() -> str | None:
    """Return the path of the program `haproxy`, or None if it is not installed.

    It is also found in /usr/sbin and /sbin, which the PATH of ordinary users may not contain.
    """
    return shutil.which("haproxy", path=os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin")


@dataclass
class _Running:
    text: str  # the last configuration, even if HAProxy refused it; empty: the process has ended
    process: subprocess.Popen[bytes] | None = None
    former: list[subprocess.Popen[bytes]] = field(default_factory=list)  # replaced, with clients


class Balancers:
    """The running HAProxy processes, by the name of their network namespace."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = program()
        self._running: dict[str, _Running] = {}

    @property
    def notes(self) -> list[str]:
        """Messages for the user about programs that are missing on this machine."""
        return (
            [] if self._program else ["haproxy is not installed: load balancers forward no traffic"]
        )

    def keep(self, configs: Mapping[str, str]) -> None:
        """End the processes of all load balancers that are not in `configs`.

        This must happen before their network namespaces are removed.
        """
        for place in [place for place in self._running if place not in configs]:
            ended = self._running.pop(place)
            for process in (ended.process, *ended.former):
                if process is not None:
                    process.kill()
            for path in (self._config(place), self._socket(place)):
                path.unlink(missing_ok=True)

    def settle(
        self, configs: Mapping[str, str], inside: Callable[[str], AbstractContextManager[None]]
    ) -> list[str]:
        """Start a process for each new or changed configuration in `configs`.

        `configs` maps names of network namespaces to configurations, and `inside` returns a context
        manager that enters a namespace. Return the errors that HAProxy reports.
        """
        problems = []
        for place, text in configs.items():
            running = self._running.get(place)
            if running is None or running.text != text:
                problem = self._start(place, text, inside)
                problems += [f"{place}: {problem}"] if problem else []
        return problems

    def statistics(self, place: str) -> int:
        """Return the descriptor of a connection to the statistics socket of a load balancer.

        Raises OSError.
        """
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(self._socket(place)))
            return sock.detach()

    def ended(self, pid: int) -> None:
        """Record that the process `pid` has ended.

        If it was the current process of a load balancer, the next `settle` starts a new one.
        """
        for running in self._running.values():
            running.former = [process for process in running.former if process.pid != pid]
            if running.process is not None and running.process.pid == pid:
                running.text, running.process = "", None

    def _start(
        self, place: str, text: str, inside: Callable[[str], AbstractContextManager[None]]
    ) -> str:
        """Check a configuration and start a process with it, which replaces the old process.

        Return HAProxy's error message, or an empty text.
        """
        assert self._program is not None
        config = self._config(place)
        begin = _GLOBAL.format(
            connections=CONNECTIONS_MAX, former=FORMER_S, socket=self._socket(place)
        )
        config.write_text(begin + text)
        running = self._running.setdefault(place, _Running(""))
        running.text = text
        done = subprocess.run(
            [self._program, "-c", "-q", "-f", str(config)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            return " ".join(done.stderr.split())
        command = [self._program, "-db", "-q", "-f", str(config)]
        if running.process is not None:
            command += ["-sf", str(running.process.pid)]
            running.former.append(running.process)
        with inside(place):
            running.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return ""

    def _config(self, place: str) -> Path:
        return self._folder / f"{place}.cfg"

    def _socket(self, place: str) -> Path:
        return self._folder / f"{place}.sock"
