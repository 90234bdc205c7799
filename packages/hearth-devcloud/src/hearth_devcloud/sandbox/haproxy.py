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


class Proxies:
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
        for namespace in [namespace for namespace in self._running if namespace not in configs]:
            ended = self._running.pop(namespace)
            for process in (ended.process, *ended.former):
                if process is not None:
                    process.kill()
            for path in (self._config(namespace), self._socket(namespace)):
                path.unlink(missing_ok=True)

    def settle(
        self, configs: Mapping[str, str], inside: Callable[[str], AbstractContextManager[None]]
    ) -> list[str]:
        """Start a process for each new or changed configuration in `configs`.

        `configs` maps names of network namespaces to configurations, and `inside` returns a context
        manager that enters a namespace. Return the errors that HAProxy reports.
        """
        problems = []
        for namespace, text in configs.items():
            running = self._running.get(namespace)
            if running is None or running.text != text:
                problem = self._start(namespace, text, inside)
                problems += [f"{namespace}: {problem}"] if problem else []
        return problems

    def statistics(self, namespace: str) -> int:
        """Return the descriptor of a connection to the statistics socket of a load balancer.

        Raises OSError.
        """
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(self._socket(namespace)))
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
        self, namespace: str, text: str, inside: Callable[[str], AbstractContextManager[None]]
    ) -> str:
        """Check a configuration and start a process with it, which replaces the old process.

        Return HAProxy's error message, or an empty text.
        """
        assert self._program is not None
        config = self._config(namespace)
        begin = _GLOBAL.format(
            connections=CONNECTIONS_MAX, former=FORMER_S, socket=self._socket(namespace)
        )
        config.write_text(begin + text)
        running = self._running.setdefault(namespace, _Running(""))
        running.text = text
        done = subprocess.run(
            [self._program, "-c", "-q", "-f", str(config)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            return " ".join(done.stderr.split())
        command = [self._program, "-db", "-q", "-f", str(config)]
        if running.process is not None:
            command += ["-sf", str(running.process.pid)]
            running.former.append(running.process)
        with inside(namespace):
            running.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return ""

    def _config(self, namespace: str) -> Path:
        return self._folder / f"{namespace}.cfg"

    def _socket(self, namespace: str) -> Path:
        return self._folder / f"{namespace}.sock"
