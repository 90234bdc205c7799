"""Threads for the keys of clusters of many projects, in which no project waits for another's queue.

To make or use a key takes a whole core for a moment. Keys of authorities take much longer, so they
have a thread of their own: the other threads are free for quick jobs.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import thread_time
from typing import Any, Generic, TypeVar

from hearth.clusters.problems import ClusterProblem
from hearth.engine import turns
from hearth.engine.turns import Usage
from hearth.model.problem import rejection

T = TypeVar("T")

THREADS = 2  # a thread uses a whole core and releases the interpreter lock
SPARE = 2
WAITING_MAX = 256  # quick jobs of one project


class KeyThreads:
    """Runs jobs in threads. `run` must be called on one event loop.

    A project has at most one quick and one slow job at work. `usage` counts the processor time of
    the jobs of each project.
    """

    def __init__(self, usage: Usage | None = None) -> None:
        self._usage = usage or Usage()
        self._quick = turns.Turns(self._usage, THREADS, of_one=1, spare=SPARE)
        self._slow = turns.Turns(self._usage, 1, of_one=1)
        self._threads = ThreadPoolExecutor(THREADS + SPARE + 1, "x509")

    async def run(self, project: str, work: Callable[[], T], *, slow: bool = False) -> T:
        """Return the result of `work`, which runs in a thread when it is the project's turn.

        A job that nobody waits for any more does not start. Raises what `work` raises, and Rejected
        with status 429 if too many quick jobs of the project wait. Slow jobs belong to tasks, which
        have limits of their own.
        """
        queue = self._slow if slow else self._quick
        if not slow and queue.waiting(project) >= WAITING_MAX:
            raise rejection(
                ClusterProblem, 429, "Too many certificates are requested at once. Try again later."
            )
        await queue.take(project)
        job = _KeyJob(work)
        done = asyncio.get_running_loop().run_in_executor(self._threads, job.run)
        done.add_done_callback(lambda future: self._done(queue, project, job, future))
        return await asyncio.shield(done)

    def _done(
        self, queue: turns.Turns, project: str, job: "_KeyJob[Any]", done: "asyncio.Future[Any]"
    ) -> None:
        if not done.cancelled():
            done.exception()  # the caller may have gone
        self._usage.add(project, job.used_s)
        queue.give_back(project)


class _KeyJob(Generic[T]):
    """A job, and the processor time that it has used."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.used_s = 0.0

    def run(self) -> T:
        began = thread_time()
        try:
            return self._work()
        finally:
            self.used_s = thread_time() - began
