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


class _Place(Struct):
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
        self._places = [_Place() for _ in range(count)]
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
        told, tell = os.pipe()
        woken, wake = os.pipe()
        for end in (woken, wake):
            os.set_blocking(end, False)
        before = signal.set_wakeup_fd(wake)
        handlers = {one: signal.signal(one, self._pass_on) for one in PASSED_ON}
        handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            for number in range(len(self._places)):
                self._start(number, told, tell)
            while any(place.pid or place.start_at is not None for place in self._places):
                ready, _, _ = select.select([told, woken], [], [], self._pause_s())
                if woken in ready:
                    os.read(woken, 4096)
                if told in ready:
                    self._is_ready(os.read(told, 4096))
                self._bury()
                self._replace(told, tell)
        finally:
            signal.set_wakeup_fd(before)
            for one, handler in handlers.items():
                signal.signal(one, handler)
            for end in (told, tell, woken, wake):
                os.close(end)
        return self._status

    def _start(self, number: int, told: int, tell: int) -> None:
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            self._live(number, parent, told, tell)
        place = self._places[number]
        place.pid, place.started_at, place.start_at = pid, time.monotonic(), None

    def _live(self, number: int, parent: int, told: int, tell: int) -> NoReturn:
        """Run the process with this number in the forked child, and exit."""
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            for one in (*PASSED_ON, signal.SIGCHLD):
                signal.signal(one, signal.SIG_DFL)
            os.close(told)
            _end_with(parent)
            status = self._run(number, lambda: _told(tell, number))
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
        for place in self._places:
            if place.pid:
                os.kill(place.pid, signal.SIGTERM if number == signal.SIGINT else number)

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
        for number, place in enumerate(self._places):
            if not place.pid:
                continue
            pid, status = os.waitpid(place.pid, os.WNOHANG)
            if not pid:
                continue
            code = os.waitstatus_to_exitcode(status)
            place.pid = 0
            if self._stopping:
                self._status = self._status or code
            elif number in self._not_ready:
                self._status = code or 1
                self._pass_on(signal.SIGTERM, None)
            else:
                self._plan(number, place, code)
        if self._stopping:
            for place in self._places:
                place.start_at = None

    def _plan(self, number: int, place: _Place, code: int) -> None:
        """Plan when to replace a process that was not stopped but has ended."""
        now = time.monotonic()
        place.deaths = 0 if now - place.started_at >= LONG_S else place.deaths + 1
        pause_s = min(PAUSE_MAX_S, 2.0 ** (place.deaths - 2)) if place.deaths > 1 else 0.0
        place.start_at = now + pause_s
        how = f"signal {-code}" if code < 0 else f"status {code}"
        log.error("process %d ended with %s; replaced in %g s", number, how, pause_s)

    def _replace(self, told: int, tell: int) -> None:
        now = time.monotonic()
        for number, place in enumerate(self._places):
            if place.start_at is not None and place.start_at <= now:
                self._start(number, told, tell)

    def _pause_s(self) -> float | None:
        due = [place.start_at for place in self._places if place.start_at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None


def _end_with(parent: int) -> None:
    """Let this process receive SIGTERM when its parent dies, if the operating system supports
    that.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it has died already
        os.kill(os.getpid(), signal.SIGTERM)


def _told(tell: int, number: int) -> None:
    os.write(tell, bytes([number]))
