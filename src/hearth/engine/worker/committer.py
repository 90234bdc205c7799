"""Commits of many stacks together, without a timer: while one runs the next batch gathers.

A batch that fails is halved until the guilty stack is alone; that stack alone gets the exception.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from hearth.store.commit import Fate, Part, commit
from hearth.store.database import Store

BATCH_MAX = 64  # stacks in one transaction


@dataclass(slots=True)
class _Waiting:
    part: Part
    answer: asyncio.Future[Fate]


class Committer:
    """Takes parts from stack workers and writes them in batches."""

    def __init__(self, store: Store, new_id: Callable[[], str]) -> None:
        self._store = store
        self._new_id = new_id
        self._queue: list[_Waiting] = []
        self._busy = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.commits = 0

    async def submit(self, part: Part) -> Fate:
        """Write a part. Raises what the database said if this stack is to blame."""
        waiting = _Waiting(part, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if not self._busy:
            self._busy = True
            task = asyncio.get_running_loop().create_task(self._drain())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await waiting.answer

    async def _drain(self) -> None:
        try:
            while self._queue:
                batch, self._queue = self._queue[:BATCH_MAX], self._queue[BATCH_MAX:]
                await self._write(batch)
        finally:
            self._busy = False

    async def _write(self, batch: list[_Waiting]) -> None:
        parts = [waiting.part for waiting in batch]
        try:
            fates = await self._store.run(lambda tx: commit(tx, parts, self._new_id))
        except Exception as problem:
            if len(batch) == 1:
                if not batch[0].answer.done():
                    batch[0].answer.set_exception(problem)
                return
            half = len(batch) // 2
            await self._write(batch[:half])
            await self._write(batch[half:])
            return
        self.commits += 1
        for waiting in batch:
            if not waiting.answer.done():
                waiting.answer.set_result(fates[waiting.part.stack_id])

    def abandon(self) -> None:
        """Drop everything (a crash in the simulation)."""
        for task in self._tasks:
            task.cancel()
        self._queue.clear()
