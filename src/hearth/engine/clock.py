"""Time for the engine and the use cases."""

from typing import Protocol


class Clock(Protocol):
    """The database's time, and the clocks of this machine."""

    def now(self) -> float:
        """Return seconds since 1970, UTC, by the database's clock."""

    def monotonic(self) -> float:
        """Return seconds that never jump."""

    def wall(self) -> float:
        """Return seconds since 1970 by this machine, which may be wrong and jump."""

    def tells(self, now: float, asked_at: float) -> None:
        """Note the database's time; the question was sent at `asked_at` (monotonic clock)."""
