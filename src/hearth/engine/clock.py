"""The clocks of the engine and the use cases."""

from typing import Protocol


class Clock(Protocol):
    """A source of time: the database's clock and the two clocks of this machine."""

    def now(self) -> float:
        """Return seconds since 1970, UTC, by the database's clock."""

    def monotonic(self) -> float:
        """Return seconds from a clock that never jumps."""

    def wall(self) -> float:
        """Return seconds since 1970 by this machine's clock, which may be wrong and may jump."""

    def tells(self, now: float, asked_at: float) -> None:
        """Record the time `now` that the database returned, to estimate the clock of the database
        from then on.

        `asked_at` is the time on the monotonic clock at which the query was sent.
        """
