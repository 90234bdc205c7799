"""Waiting in a hurry: while an event loop has nothing to do, each second counts as many.

What runs takes as long as ever. All clocks of the process go forward together, so leases, pauses,
and time limits keep their lengths and their order by these clocks; only nobody sits them out.

    python -P tests/hurry.py SPEED MODULE [ARGUMENT…]

runs a module so. A process that talks to others should not be in too great a hurry: while it waits
for their answers, its time limits come nearer. A process whose loop is of uvloop is in no hurry:
uvloop waits by a clock of its own.
"""

import asyncio
import runpy
import selectors
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from unittest import mock

T = TypeVar("T")

ALONE = 20.0
"""For a process whose waiting is all its own."""

WITH_OTHERS = 6.0

_monotonic, _time, _clock_gettime = time.monotonic, time.time, time.clock_gettime


class _Ahead:
    """How far the clocks are ahead of the real ones."""

    s = 0.0


class _Selector(selectors.DefaultSelector):
    """Wait for I/O or the next timer, for a part of the time that passes by the clocks."""

    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def select(self, timeout: float | None = None) -> Any:
        if timeout is not None and timeout <= 0:
            return super().select(timeout)
        began = _monotonic()
        ready = super().select(None if timeout is None else timeout / self._speed)
        waited_s = _monotonic() - began
        passed_s = waited_s * self._speed
        if timeout is not None:
            passed_s = min(passed_s, max(timeout, waited_s))
        _Ahead.s += passed_s - waited_s
        return ready


class _Policy(asyncio.DefaultEventLoopPolicy):
    def __init__(self, speed: float) -> None:
        super().__init__()
        self._speed = speed

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.SelectorEventLoop(_Selector(self._speed))


@contextmanager
def hurried(speed: float = ALONE) -> Iterator[None]:
    """Event loops that begin here are in a hurry, and the clocks of this process with them."""
    before = asyncio.get_event_loop_policy()
    with mock.patch.multiple(
        time,
        monotonic=lambda: _monotonic() + _Ahead.s,
        time=lambda: _time() + _Ahead.s,
        clock_gettime=lambda clock: _clock_gettime(clock) + _Ahead.s,
    ):
        asyncio.set_event_loop_policy(_Policy(speed))
        try:
            yield
        finally:
            asyncio.set_event_loop_policy(before)
            _Ahead.s = 0.0


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, in a hurry."""
    with hurried():
        return asyncio.run(main)


def command(speed: float = WITH_OTHERS) -> list[str]:
    """What stands before the name of a module and its arguments to run them in a hurry."""
    return [sys.executable, "-P", __file__, str(speed)]


if __name__ == "__main__":
    _, _speed, *sys.argv[:] = sys.argv
    with hurried(float(_speed)):
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
