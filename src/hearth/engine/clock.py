"""The clocks of the engine and the use cases."""

from typing import Protocol


class Clock(Protocol):
    """The database's time, and the clocks of this machine."""

    def now(self) -> float:
        """Return seconds since 1970, UTC, by the database's clock."""

    def monotonic(self) -> float:
        """Return seconds from a clock that never jumps."""

    def wall(self) -> float:
        """Return seconds since 1970 by this machine's clock, which may be wrong and may jump."""

    def tells(self, now: float, asked_at: float) -> None:
        """Record `now`, the database's time; the query was sent at `asked_at` (monotonic clock)."""
