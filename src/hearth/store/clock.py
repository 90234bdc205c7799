"""An estimate of the database's time: one clock for all processes on all machines.

A process asks the database for the time now and then, and adds the elapsed time of its own
monotonic clock. So a wall clock that is wrong or jumps does not affect deadlines.
"""

import time
from collections.abc import Callable

import sqlalchemy as sa

from hearth.store.database import Store
from hearth.store.prepared import NOW, Prepared

_NOW = Prepared(lambda: sa.select(NOW.label("now")))


def boot_time() -> float:
    """Return the seconds of a clock that never jumps and, if possible, also runs during standby."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class DatabaseClock:
    """The database's clock, as this process estimates it, in seconds since 1970.

    `wall` and `monotonic` are the clocks of the machine. Before the first call of `tells`, `now` is
    the time of `wall`.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = boot_time,
    ) -> None:
        self.wall = wall
        self.monotonic = monotonic
        # the database's time, and the monotonic time at which it was read
        self._known: tuple[float, float] | None = None

    def now(self) -> float:
        """Return the estimated time of the database in seconds since 1970, UTC."""
        if self._known is None:
            return self.wall()
        then, at = self._known
        return then + self.monotonic() - at

    def tells(self, now: float, asked_at: float) -> None:
        """Record the time `now` that the database returned.

        `asked_at` is the time on the monotonic clock at which the query was sent.
        """
        self._known = now, (asked_at + self.monotonic()) / 2

    async def ask(self, store: Store) -> None:
        """Query the time from the database and record it."""
        asked_at = self.monotonic()
        self.tells(await store.read(lambda tx: float(tx.value(_NOW))), asked_at)
