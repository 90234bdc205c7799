"""Threads for the keys of clusters of many projects, in which no project waits for another's queue.

To make or use a key takes a whole core for a moment. The next job is one of the project that has
used the least time lately, so a project that asks seldom is served at once. Only one job at a time
may create keys of authorities, which is slow: the other threads are free for quick jobs.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, TypeVar

from msgspec import Struct

from hearth.clusters.problems import refused
from hearth.model.cache import Cache

T = TypeVar("T")

THREADS = 2  # a thread uses a whole core and releases the interpreter lock
WAITING_MAX = 256  # quick jobs of one project
LATELY_S = 60.0  # after each such time, half of the time that a project has used is forgotten
PROJECTS_MAX = 10_000  # of which the used time is known


class _Queue(Struct, frozen=True):
    """Identifies the queue of the slow or the quick jobs of a project."""

    project: str
    slow: bool


class Turns:
    """Runs jobs in threads. `run` must be called on one event loop.

    A project has at most one quick and one slow job at work.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "x509")
        self._waiting: dict[_Queue, deque[asyncio.Future[None]]] = {}
        self._at_work: set[_Queue] = set()
        self._used = Cache[str, tuple[float, float]](PROJECTS_MAX)  # (seconds, moment)

    async def run(self, project: str, work: Callable[[], T], *, slow: bool = False) -> T:
        """Return the result of `work`, which runs in a thread when it is the project's turn.

        A job that nobody waits for any more does not start. Raises what `work` raises, and Rejected
        with status 429 if too many quick jobs of the project wait. Slow jobs belong to tasks, which
        have limits of their own.
        """
        queue = _Queue(project, slow)
        waiting = self._waiting.setdefault(queue, deque())
        if not slow and sum(not turn.done() for turn in waiting) >= WAITING_MAX:
            raise refused(429, "Too many certificates are requested at once. Try again later.")
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        waiting.append(turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # the turn came at the same moment
                self._ended(queue)
            raise
        began = monotonic()
        done = loop.run_in_executor(self._threads, work)
        done.add_done_callback(lambda one: self._done(queue, began, one))
        return await asyncio.shield(done)

    def _done(self, queue: _Queue, began: float, done: asyncio.Future[Any]) -> None:
        if not done.cancelled():
            done.exception()  # the caller may have gone
        now = monotonic()
        self._used.keep(queue.project, (self._lately(queue.project, now) + now - began, now))
        self._ended(queue)

    def _ended(self, queue: _Queue) -> None:
        self._at_work.discard(queue)
        self._next()

    def _next(self) -> None:
        """Let the jobs start for which there is a thread."""
        while len(self._at_work) < THREADS:
            now = monotonic()
            may = [queue for queue in self._waiting if self._may_start(queue)]
            queue = min(may, key=lambda one: self._lately(one.project, now), default=None)
            if queue is None:
                return
            turn = self._waiting[queue].popleft()
            if not self._waiting[queue]:
                del self._waiting[queue]
            if not turn.cancelled():
                self._at_work.add(queue)
                turn.set_result(None)

    def _may_start(self, queue: _Queue) -> bool:
        busy = queue.slow and any(one.slow for one in self._at_work)
        return queue not in self._at_work and not busy

    def _lately(self, project: str, now: float) -> float:
        """Return the seconds of thread time that a project has used, less the older they are."""
        seconds, moment = self._used.peek(project) or (0.0, now)
        return float(seconds * 0.5 ** ((now - moment) / LATELY_S))
