"""Time as the engine and the use cases see it."""

from typing import Protocol


class Clock(Protocol):
    """The database's time, and this machine's own."""

    def now(self) -> float:
        """Seconds since 1970, UTC, by the database's clock."""

    def monotonic(self) -> float:
        """Seconds that never jump."""

    def wall(self) -> float:
        """Seconds since 1970 by this machine, which may be wrong and jump."""

    def tells(self, now: float, asked_at: float) -> None:
        """Note the database's answer to a question that was sent at `asked_at`, monotonic."""
