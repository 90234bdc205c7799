"""The database of a state file, which notices that it cannot be written any more."""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from hearth.store.database import Store, Tx, is_outage

T = TypeVar("T")

PATIENCE_S = 4.0  # for a lock, or a disk that is full for a moment
QUIET_S = 15.0  # without a failure; longer than the engine waits before it tries again


class StateStore(Store):
    """A store in a file. If its writes keep failing, `trouble` says why: an engine would try again
    for ever, as if a server came back.
    """

    _first = _last = float("-inf")  # of the latest failures, by the monotonic clock
    _problem: DBAPIError | None = None

    def transact(self, fn: Callable[[Tx], T], *, write: bool = True, once: bool = False) -> T:
        """Run a transaction; see `Store`."""
        try:
            return super().transact(fn, write=write, once=once)
        except DBAPIError as problem:
            if write and is_outage(problem):
                self._failed(problem)
            raise

    def _failed(self, problem: DBAPIError) -> None:
        now = time.monotonic()
        if now - self._last > QUIET_S:
            self._first = now
        self._last, self._problem = now, problem

    def trouble(self) -> str | None:
        """Return why writes have been failing for some time, or None if they have not."""
        if self._problem is None or self._last - self._first < PATIENCE_S:
            return None
        if time.monotonic() - self._last > QUIET_S:
            return None
        return str(self._problem.orig)
