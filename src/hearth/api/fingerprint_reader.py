"""Reads, for many requests at once, whether the database rows behind cached responses changed."""

import asyncio
import logging
from collections.abc import Callable, Collection, Hashable, Mapping
from contextvars import Context
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from hearth.store.database import Store, Tx

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)

CROWD_S = 0.001
"""After a read for several requests, the next one waits so long for more of them."""


class FingerprintReader(Generic[K]):
    """Reads the fingerprints that many requests need in one database query.

    A fingerprint is a number that changes whenever one of the database rows behind a response
    changes. `read_fingerprints` returns the fingerprints of the given keys; it leaves out
    those without rows. All requests that arrive within `gather_s` seconds, or during a read, share
    the next read.
    """

    def __init__(
        self,
        store: Store,
        read_fingerprints: Callable[[Tx, Collection[K]], Mapping[K, int]],
        gather_s: float = 0.0,
    ) -> None:
        self._store = store
        self._read = read_fingerprints
        self._gather_s = gather_s
        self._waiting: dict[K, list[asyncio.Future[int | None]]] = {}
        self._reading: asyncio.Task[None] | None = None
        self._crowded = False  # the last read was for several requests

    async def fingerprint(self, key: K) -> int | None:
        """Wait for the next query and return the fingerprint of `key`.

        Return None if there are no rows, or if the database cannot be read.
        """
        future: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        if self._reading is None:
            # for all, so on nobody's account
            self._reading = asyncio.create_task(self._read_all(), context=Context())
        return await future

    async def _read_all(self) -> None:
        try:
            while self._waiting:
                await asyncio.sleep(self._gather_s or (CROWD_S if self._crowded else 0))
                batch, self._waiting = self._waiting, {}
                fingerprints = await self._query(batch)
                answers = [
                    (future, fingerprints.get(key))
                    for key, futures in batch.items()
                    for future in futures
                ]
                self._crowded = len(answers) > 1
                for future, fingerprint in answers:
                    if not future.done():  # its client has disconnected
                        future.set_result(fingerprint)
        finally:  # a request must never wait for a read that has ended
            self._reading = None

    async def _query(self, keys: Collection[K]) -> Mapping[K, int]:
        try:
            return await self._store.read(lambda tx: self._read(tx, keys))
        except Exception as problem:
            message = "cannot read from the database whether cached responses are out of date: %s"
            expected = isinstance(problem, SQLAlchemyError)
            log.warning(message, str(problem).partition("\n")[0], exc_info=not expected)
            return {}
