"""The database's time on every machine: one clock for all processes.

A process asks the database for the time now and then, and advances it with its own monotonic clock.
So a wall clock that is wrong or jumps affects no deadline and no due time.
"""

import time
from collections.abc import Callable

import sqlalchemy as sa

from hearth.store.database import Store
from hearth.store.prepared import NOW, Prepared

_NOW = Prepared(sa.select(NOW.label("now")))


def boot_time() -> float:
    """Return the seconds of a clock that never jumps and, if possible, includes time in standby."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class DatabaseClock:
    """Seconds since 1970 by the database's clock, as this process estimates it.

    `wall` and `monotonic` are the clocks of the machine. Before the first call of `tells`, `now` is
    the wall clock.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = boot_time,
    ) -> None:
        self.wall = wall
        self.monotonic = monotonic
        self._known: tuple[float, float] | None = None  # the database's time, and ours then

    def now(self) -> float:
        """Return seconds since 1970, UTC."""
        if self._known is None:
            return self.wall()
        then, at = self._known
        return then + self.monotonic() - at

    def tells(self, now: float, asked_at: float) -> None:
        """Record `now`, the database's time; the query was sent at `asked_at` (monotonic clock)."""
        self._known = now, (asked_at + self.monotonic()) / 2

    async def ask(self, store: Store) -> None:
        """Read the time from a database."""
        asked_at = self.monotonic()
        self.tells(await store.read(lambda tx: float(tx.value(_NOW))), asked_at)
