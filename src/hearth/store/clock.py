"""The database's time on every machine: one clock for all processes.

A process learns the time from the database now and then and counts on from there by its own
monotonic clock. So a wall clock that is wrong or jumps moves no deadline and no due time.
"""

import time
from collections.abc import Callable

import sqlalchemy as sa

from hearth.store.database import Store
from hearth.store.prepared import NOW, Prepared

_NOW = Prepared(sa.select(NOW.label("now")))


def boot_time() -> float:
    """Seconds that never jump; where the system can tell, those in which it slept count."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class DatabaseClock:
    """Seconds since 1970 by the database's clock, as far as this process knows it.

    `wall` and `monotonic` are the clocks of the machine. Until `tells` is called the first time,
    `now` is the wall clock.
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
        """Seconds since 1970, UTC."""
        if self._known is None:
            return self.wall()
        then, at = self._known
        return then + self.monotonic() - at

    def tells(self, now: float, asked_at: float) -> None:
        """The database's answer to a question that was sent at `asked_at` by our monotonic
        clock."""
        self._known = now, (asked_at + self.monotonic()) / 2

    async def ask(self, store: Store) -> None:
        """Learn the time from a database."""
        asked_at = self.monotonic()
        self.tells(await store.read(lambda tx: float(tx.value(_NOW))), asked_at)
