"""Loading of stacks: load requests that arrive at the same time share one database query."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from hearth.engine.worker.failure import is_temporary
from hearth.engine.worker.ports import Spawn
from hearth.store.database import Store, Tx

T = TypeVar("T")

LOADS_MAX = 50  # stacks per query; while the next ones are read, work on these begins


class Loader(Generic[T]):
    """Combines the load requests of stack workers.

    `read_all` returns a map from stack ids to the loaded rows; `spawn` runs a coroutine as a task.
    """

    def __init__(
        self,
        store: Store,
        spawn: Spawn,
        read_all: Callable[[Tx, Sequence[str]], Mapping[str, T]],
    ) -> None:
        self._store = store
        self._spawn = spawn
        self._read_all = read_all
        self._waiters: deque[tuple[str, asyncio.Future[T | None]]] = deque()
        self._busy = False

    async def load(self, stack_id: str) -> T | None:
        """Return the rows of the stack, read after this call; None if the stack does not exist."""
        answer: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._waiters.append((stack_id, answer))
        if not self._busy:
            self._busy = True
            self._spawn(self._drain())
        return await answer

    async def _drain(self) -> None:
        try:
            while self._waiters:
                batch = [self._waiters.popleft() for _ in range(min(LOADS_MAX, len(self._waiters)))]
                await self._read(batch)
        finally:
            self._busy = False

    async def _read(self, batch: list[tuple[str, asyncio.Future[T | None]]]) -> None:
        try:
            ids = sorted({stack_id for stack_id, _ in batch})
            loaded = await self._store.read(lambda tx: self._read_all(tx, ids))
        except Exception as problem:
            if len(batch) > 1 and not is_temporary(problem):  # a single one causes the error
                for waiter in batch:
                    await self._read([waiter])
                return
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(problem)
            return
        for stack_id, answer in batch:
            if not answer.done():
                answer.set_result(loaded.get(stack_id))
