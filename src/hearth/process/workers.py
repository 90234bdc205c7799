"""Several processes of one role that share their sockets; a process that dies is replaced.

The parent process imports Hearth, binds the sockets and forks, so the processes share the memory of
the code. The parent serves no requests itself; it passes signals on to its children.
"""

import contextlib
import ctypes
import logging
import os
import select
import signal
import time
from collections.abc import Callable
from typing import NoReturn

from msgspec import Struct

log = logging.getLogger(__name__)

PAUSE_MAX_S = 30.0
PR_SET_PDEATHSIG = 1
LONG_S = 60.0  # a process that lived this long is replaced at once
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

Run = Callable[[int, Callable[[], None]], int]
"""A function that runs one process until it is stopped, and returns its exit status.

Its arguments are the number of the process, and a function that it calls when it is ready.
"""


class _ChildProcess(Struct):
    """The state of one of the numbered child processes, which stays when the process is replaced.

    `deaths` counts the processes in a row that died soon after their start. `start_at` is the time
    at which a replacement starts, or None.
    """

    pid: int = 0
    started_at: float = 0.0
    deaths: int = 0
    start_at: float | None = None  # a replacement is due then


class Workers:
    """Starts `count` processes and keeps that many until a signal ends all of them.

    `run` is the function that each process runs. `ready` is called once, when all processes are
    ready for the first time.
    """

    def __init__(self, count: int, run: Run, ready: Callable[[], None]) -> None:
        self._children = [_ChildProcess() for _ in range(count)]
        self._run = run
        self._ready = ready
        self._not_ready = set(range(count))
        self._stopping = False
        self._status = 0

    def supervise(self) -> int:
        """Run until all child processes have ended; return the exit status.

        If a process ends before every process has been ready once, the other processes are stopped,
        too.
        """
        receiver, sender = os.pipe()
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        before = signal.set_wakeup_fd(wake)
        handlers = {signum: signal.signal(signum, self._pass_on) for signum in PASSED_ON}
        handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            for number in range(len(self._children)):
                self._start(number, receiver, sender)
            while any(child.pid or child.start_at is not None for child in self._children):
                ready, _, _ = select.select([receiver, woken], [], [], self._pause_s())
                if woken in ready:
                    os.read(woken, 4096)
                if receiver in ready:
                    self._is_ready(os.read(receiver, 4096))
                self._bury()
                self._replace(receiver, sender)
        finally:
            signal.set_wakeup_fd(before)
            for signum, handler in handlers.items():
                signal.signal(signum, handler)
            for end in (receiver, sender, woken, wake):
                os.close(end)
        return self._status

    def _start(self, number: int, receiver: int, sender: int) -> None:
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            self._live(number, parent, receiver, sender)
        child = self._children[number]
        child.pid, child.started_at, child.start_at = pid, time.monotonic(), None

    def _live(self, number: int, parent: int, receiver: int, sender: int) -> NoReturn:
        """Run the process with this number in the forked child, and exit."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for signum in (*PASSED_ON, signal.SIGCHLD):
                signal.signal(signum, signal.SIG_DFL)
            os.close(receiver)
            _end_with(parent)
            status = self._run(number, lambda: _report_ready(sender, number))
        except KeyboardInterrupt:
            status = 130
        except BaseException:
            log.exception("process %d cannot run", number)
        finally:
            logging.shutdown()
            os._exit(status)

    def _pass_on(self, number: int, _frame: object) -> None:
        if number != signal.SIGHUP:
            self._stopping = True
        for child in self._children:
            if child.pid:
                os.kill(child.pid, signal.SIGTERM if number == signal.SIGINT else number)

    def _is_ready(self, numbers: bytes) -> None:
        if not self._not_ready:  # replacements later on
            return
        self._not_ready.difference_update(numbers)
        if not self._not_ready:
            self._ready()

    def _bury(self) -> None:
        """Reap the child processes that have ended, and decide for each whether it is replaced or
        all processes are stopped.
        """
        for number, child in enumerate(self._children):
            if not child.pid:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if not pid:
                continue
            code = os.waitstatus_to_exitcode(status)
            child.pid = 0
            if self._stopping:
                self._status = self._status or code
            elif number in self._not_ready:
                self._status = code or 1
                self._pass_on(signal.SIGTERM, None)
            else:
                self._plan(number, child, code)
        if self._stopping:
            for child in self._children:
                child.start_at = None

    def _plan(self, number: int, child: _ChildProcess, code: int) -> None:
        """Plan when to replace a process that was not stopped but has ended."""
        now = time.monotonic()
        child.deaths = 0 if now - child.started_at >= LONG_S else child.deaths + 1
        pause_s = min(PAUSE_MAX_S, 2.0 ** (child.deaths - 2)) if child.deaths > 1 else 0.0
        child.start_at = now + pause_s
        outcome = f"signal {-code}" if code < 0 else f"status {code}"
        log.error("process %d ended with %s; replaced in %g s", number, outcome, pause_s)

    def _replace(self, receiver: int, sender: int) -> None:
        now = time.monotonic()
        for number, child in enumerate(self._children):
            if child.start_at is not None and child.start_at <= now:
                self._start(number, receiver, sender)

    def _pause_s(self) -> float | None:
        due = [child.start_at for child in self._children if child.start_at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None


def _end_with(parent: int) -> None:
    """Let this process receive SIGTERM when its parent dies, if the operating system supports
    that.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has died already
        os.kill(os.getpid(), signal.SIGTERM)


def _report_ready(sender: int, number: int) -> None:
    os.write(sender, bytes([number]))
