"""Commit the changes of many stacks together: while one commit runs, the next batch is collected.

Commits are shared fairly between trees of stacks (a root stack with its nested stacks) by deficit
round robin, counted in rows. In each round a tree earns a fixed number of rows. A change set is
committed when its tree has earned as many rows as the change set contains. So small change sets
never wait for many large ones of another tree. A batch that fails is halved until the stack that
causes the failure is alone in its batch; only the worker of that stack gets the exception. If the
database is unavailable, all workers of the batch get it.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from hearth.engine.worker.failure import is_temporary
from hearth.engine.worker.ports import Spawn, tell_nobody
from hearth.store.commit import CommitPart, Fate, commit
from hearth.store.database import Store
from hearth.telemetry.observer import UNOBSERVED, Observer

BATCH_MAX = 64  # stacks in one transaction
QUANTUM_ROWS = 500  # the rows that a tree earns in each round
BATCH_ROWS = 2000  # a transaction with more rows gets no further stack


class _Submission(Struct):
    part: CommitPart
    tree: str
    rows: int
    answer: asyncio.Future[Fate]


class Committer:
    """Collects the changes of stack workers and writes them to the database in batches.

    `spawn` runs a coroutine as a task.
    """

    def __init__(
        self,
        store: Store,
        new_id: Callable[[], str],
        spawn: Spawn,
        tell_others: Callable[[], None] = tell_nobody,
        observer: Observer = UNOBSERVED,
    ) -> None:
        self._store = store
        self._new_id = new_id
        self._spawn = spawn
        self._tell_others = tell_others
        self._observer = observer
        self._queues: dict[str, deque[_Submission]] = {}  # by tree; the next tree comes first
        self._earned: dict[str, int] = {}
        self._busy = False
        self.commits = 0

    async def submit(self, part: CommitPart, tree: str) -> Fate:
        """Write the changes of one stack, and return whether they were written, superseded or lost.

        `tree` is the id of the root stack. Raises the exception of the database if this stack
        caused it, or if the database is unavailable.
        """
        answer: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()
        rows = part.always.rows() + part.if_current.rows()
        self._queues.setdefault(tree, deque()).append(_Submission(part, tree, rows, answer))
        if not self._busy:
            self._busy = True
            self._spawn(self._drain())
        return await answer

    async def _drain(self) -> None:
        try:
            while self._queues:
                await self._write(self._next())
        finally:
            self._busy = False

    def _next(self) -> list[_Submission]:
        """Return the next batch, which contains at least one change set.

        If no tree has earned enough rows in a round, further rounds follow.
        """
        batch: list[_Submission] = []
        rows = 0
        while not batch:
            for tree in list(self._queues):
                queue = self._queues.pop(tree)
                earned = self._earned.pop(tree, 0) + QUANTUM_ROWS
                while queue and queue[0].rows <= earned and len(batch) < BATCH_MAX:
                    if batch and rows + queue[0].rows > BATCH_ROWS:
                        break
                    waiting = queue.popleft()
                    earned -= waiting.rows
                    rows += waiting.rows
                    batch.append(waiting)
                if queue:
                    self._queues[tree], self._earned[tree] = queue, earned
        return batch

    async def _write(self, batch: list[_Submission]) -> None:
        parts = [waiting.part for waiting in batch]
        began = time.perf_counter()
        try:
            fates = await self._store.run(lambda tx: commit(tx, parts, self._new_id))
        except Exception as problem:
            # it may be committed, so it must not be repeated
            if len(batch) == 1 or is_temporary(problem):
                for waiting in batch:
                    if not waiting.answer.done():
                        waiting.answer.set_exception(problem)
                return
            half = len(batch) // 2
            await self._write(batch[:half])
            await self._write(batch[half:])
            return
        self.commits += 1
        rows = sum(waiting.rows for waiting in batch)
        self._observer.committed(len(batch), rows, time.perf_counter() - began)
        if any(part.always.concerns_others or part.if_current.concerns_others for part in parts):
            self._tell_others()
        for waiting in batch:
            if not waiting.answer.done():
                waiting.answer.set_result(fates[waiting.part.stack_id])

    def abandon(self) -> None:
        """Drop all changes that are not committed, to simulate a crash."""
        self._queues.clear()
