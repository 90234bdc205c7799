"""The first process (init) of a server: it starts the boot, writes the console, reaps processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import time
from typing import Any

from hearth_devcloud.sandbox import boot, cloud_init

CONSOLE_MAX = 1024 * 1024  # bytes; older output is dropped
GRACE_S = 1.0  # between SIGTERM and SIGKILL when the server is stopped
_CHUNK = 65536


def run(plan: dict[str, Any], console: int) -> None:
    """Boot the server as `plan` describes, and run until it is stopped; never return.

    `console` is the descriptor of the file for the console output.
    """
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    stopping: list[float] = []
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(time.monotonic() + GRACE_S))
    reads, writes = os.pipe2(os.O_CLOEXEC)
    device = os.open("/dev/console", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    if os.fork() == 0:
        _boot(plan, writes)
    os.close(writes)
    _serve(_Console(console, log=not plan["cloud_init"]), [reads, device], woken, stopping)
    os._exit(0)


def _boot(plan: dict[str, Any], output: int) -> None:
    """Run the boot in this child process and exit; `output` is the descriptor for its output."""
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.setsid()
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        (cloud_init if plan["cloud_init"] else boot).run(plan)
        status = 0
    finally:
        os._exit(status)


def _serve(console: _Console, outputs: list[int], woken: int, stopping: list[float]) -> None:
    """Copy output to the console until the server is stopped.

    When `stopping` contains a deadline, end all processes. Return when they have ended or the
    deadline has passed. `woken` is readable after each signal.
    """
    is_reported = False
    while True:
        if stopping and not is_reported:
            is_reported = True
            with contextlib.suppress(ProcessLookupError):
                os.kill(-1, signal.SIGTERM)
        wait_s = max(0.0, stopping[0] - time.monotonic()) if stopping else None
        ready, _, _ = select.select([*outputs, woken], [], [], wait_s)
        for output in outputs[:]:
            if output in ready and not console.copy(output):
                outputs.remove(output)
        if woken in ready:
            os.read(woken, _CHUNK)
        alone = _reap()
        if stopping and (alone or time.monotonic() >= stopping[0]):
            for output in outputs:
                os.set_blocking(output, False)
                while console.copy(output):
                    pass
            return


def _reap() -> bool:
    """Reap processes that have ended; return whether no other process is left."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return False
        except ChildProcessError:
            return True


class _Console:
    """Writes output to the console of a server and, if `log` is true, to cloud-init's log file.

    `log` is false if cloud-init writes this file itself.
    """

    def __init__(self, file: int, *, log: bool) -> None:
        self._file = file
        flags = fcntl.fcntl(file, fcntl.F_GETFL)
        fcntl.fcntl(file, fcntl.F_SETFL, flags | os.O_APPEND)
        path = "/var/log/cloud-init-output.log" if log else "/dev/null"
        self._log = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)

    def copy(self, source: int) -> bool:
        """Copy the available output of a descriptor; return whether there was any."""
        try:
            data = os.read(source, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            return False
        with contextlib.suppress(OSError):  # the disk of the server may be full
            os.write(self._log, data)
        if os.fstat(self._file).st_size + len(data) > CONSOLE_MAX:
            tail = os.pread(self._file, CONSOLE_MAX, CONSOLE_MAX // 2)
            os.ftruncate(self._file, 0)
            os.write(self._file, tail)
        os.write(self._file, data)
        return True
