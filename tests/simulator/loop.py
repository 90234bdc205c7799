"""An event loop with virtual time: sleeping takes no real time, and each run is the same."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from heapq import heappop
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Args = TypeVarTuple("Args")

EPOCH_S = 1_750_000_000.0
ROUNDS_MAX = 2_000_000
"""Maximum number of rounds of the loop in one run, about half a minute of real time."""


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop without I/O. Time starts at 0 and jumps to the next timer when nothing is
    ready.
    """

    _ready: deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self._time = 0.0
        self._rounds = 0

    def time(self) -> float:
        return self._time

    def call_soon(
        self,
        callback: Callable[[Unpack[Args]], object],
        *args: *Args,
        context: Context | None = None,
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)  # without the checks of a loop that others may reach
        return handle

    def _run_once(self) -> None:
        self._rounds += 1
        if self._rounds == ROUNDS_MAX:
            raise RuntimeError("the run has too many rounds: a task never ends")
        ready, timers = self._ready, self._scheduled
        while timers and (timers[0].cancelled() or timers[0].when() <= self._time or not ready):
            timer = heappop(timers)
            if not timer.cancelled():
                self._time = max(self._time, timer.when())
                ready.append(timer)
        if not ready:
            raise RuntimeError("deadlock: every task waits and there is no timer")
        for _ in range(len(ready)):  # what these make ready has its turn after the timers
            handle = ready.popleft()
            if not handle._cancelled:
                handle._run()


class VirtualClock:
    """The clock of a machine on a virtual loop. A `jump` changes the wall clock but not
    `monotonic`.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._jumped = 0.0

    def now(self) -> float:
        """Return the time of the wall clock, in seconds since 1970."""
        return EPOCH_S + self._loop.time() + self._jumped

    def monotonic(self) -> float:
        return self._loop.time()

    def wall(self) -> float:
        return self.now()

    def tells(self, now: float, asked_at: float) -> None:
        """Ignore the database's time, because the database uses this clock too."""

    def jump(self, seconds: float) -> None:
        self._jumped += seconds


def run(loop: VirtualLoop, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in virtual time, and return its result.

    Afterwards cancel all remaining tasks and close the loop. Raises RuntimeError if every task
    waits without a timer, or if the run has too many rounds.
    """
    asyncio.set_event_loop(loop)
    try:
        return loop.run_until_complete(main)
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        asyncio.set_event_loop(None)
        loop.close()
