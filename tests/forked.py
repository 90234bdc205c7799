"""`hearth` commands in processes that need not import Hearth: forks of one that has.

A process of `hearth serve` spends most of its start on imports, and the suite starts a hundred.
The first `Forked` starts a nursery; it imports everything and forks for each command. In a fork
runs `hearth.cli.main`, as in a process of its own, which the tests of the commands still start.
"""

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
MODULES = (
    "hearth.cli.main", "hearth.cli.apply.look_commands", "hearth.cli.authoring_commands",
    "hearth.cli.serve_commands", "hearth.cli.dev", "hearth.cli.serve", "hearth.process.lifetime",
    "hearth.config.from_conf", "hearth.process.logs", "hearth.process.reloading",
    "hearth.process.http.connection", "hearth.process.http.polled", "hearth.api.app",
    "hearth.api.cfn.app", "hearth.api.clusters.app",
    "hearth.api.front.chain", "hearth.bus.postgresql", "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl", "uvloop", "oslo_config.cfg", "oslo_policy.policy",
    "sqlalchemy.dialects.sqlite", "cryptography.hazmat.backends.openssl.backend", "email.generator",
)  # fmt: skip
MESSAGE_BYTES = 1 << 20
STDERR = 2
NAMESPACES = Path("/run/netns")
CLONE_NEWNET = 0x40000000


class Forked:
    """A running `hearth` command, with the methods of `subprocess.Popen` that tests use.

    Its standard output is a pipe, its standard error is that of the tests, or `stderr`. With a
    `speed` it is in a hurry, see `tests.hurry`. With a `namespace` it runs in the network namespace
    with this name, as after `ip netns exec`.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stderr: int = STDERR,
        speed: float | None = None,
        clock: Path | None = None,
        namespace: str | None = None,
    ) -> None:
        out, given = os.pipe()
        request = {
            "arguments": list(arguments), "env": dict(env or os.environ),
            "folder": str(Path.cwd()), "speed": speed, "clock": clock and str(clock),
            "namespace": namespace,
        }  # fmt: skip
        try:
            self._nursery = _nursery()
            self.pid = self._nursery.start(request, [given, stderr])
        finally:
            os.close(given)
        self.stdout: IO[str] = os.fdopen(out)
        self.returncode: int | None = None
        self._ended = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self._reap()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has ended. Raises subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("hearth", timeout or 0)
            self._reap()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> "Forked":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stdout.close()
        if kind is not None:  # nobody tells it to end
            self.kill()
        self.wait()

    def _reap(self) -> None:
        self.returncode = self._nursery.status(self.pid)
        os.close(self._ended)


class _Nursery:
    """The process that forks."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        for end in (self._ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, MESSAGE_BYTES)
        with theirs:  # the nursery ends when this process closes its end of the pair
            theirs.set_inheritable(True)
            command = [sys.executable, "-P", __file__, str(theirs.fileno())]
            os.posix_spawn(sys.executable, command, os.environ)

    def start(self, request: Mapping[str, object], fds: Sequence[int]) -> int:
        with self._lock:
            socket.send_fds(self._ours, [json.dumps(request).encode()], list(fds))
            return int(self._ours.recv(100))

    def status(self, pid: int) -> int:
        with self._lock:
            self._ours.send(json.dumps({"ended": pid}).encode())
            return int(self._ours.recv(100))


_known: dict[tuple[int, str | None], _Nursery] = {}  # by process and search path
_starting = threading.Lock()


def _nursery() -> _Nursery:
    with _starting:
        key = os.getpid(), os.environ.get("PYTHONPATH")
        if key not in _known:
            _known[key] = _Nursery()
        return _known[key]


def _requests(own: socket.socket) -> Iterator[tuple[dict[str, object], list[int]]]:
    while True:
        message, fds, _, _ = socket.recv_fds(own, MESSAGE_BYTES, 2)
        if not message:
            return
        yield json.loads(message), fds


def _serve(own: socket.socket) -> None:
    for name in MODULES:
        import_module(name)
    registry = import_module("hearth.resources.registry")
    for name in registry.builtin_types():
        registry.type_named(name)
    gc.freeze()
    for request, fds in _requests(own):
        if "ended" in request:
            _, status = os.waitpid(int(str(request["ended"])), 0)
            own.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        pid = os.fork()
        if pid == 0:
            own.close()
            _become(request, fds)
        for fd in fds:
            os.close(fd)
        own.send(str(pid).encode())


def _become(request: dict[str, object], fds: list[int]) -> None:
    """Run the command in this process, which is a fork, and end."""
    status = 1
    try:
        for fd, own in zip(fds, (1, 2), strict=True):
            os.dup2(fd, own)
            os.close(fd)
        env, arguments = request["env"], request["arguments"]
        assert isinstance(env, dict)
        assert isinstance(arguments, list)
        os.environ.clear()
        os.environ.update(env)
        os.chdir(str(request["folder"]))
        if request["namespace"] is not None:
            enter(NAMESPACES / str(request["namespace"]))
        time.tzset()
        sys.argv[:] = ["hearth", *arguments]
        sys.path[:0] = [str(request["folder"])]
        from hearth.cli.main import main
        from tests.clock import follow
        from tests.hurry import hurried

        if request["clock"] is not None:
            follow(str(request["clock"]))
        speed = request["speed"]
        with contextlib.nullcontext() if speed is None else hurried(float(str(speed))):
            main()
        status = 0
    except SystemExit as ended:
        code = ended.code
        status = code if isinstance(code, int) else int(code is not None)
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(status)


def enter(namespace: Path) -> None:
    """Let this thread be in a network namespace. Raises OSError."""
    with namespace.open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    _serve(socket.socket(fileno=int(sys.argv[1])))
