"""Bounds of the calls in flight that shrink when a service is overloaded."""

import asyncio
from collections import deque
from types import TracebackType


class Bound:
    """At most `limit` calls at a time; fewer after an overload, slowly more with each success.

    Enter it with `async with`. Waiters are served in the order in which they came.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.now = float(limit)  # the bound in force
        self.in_flight = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self.in_flight < int(self.now) and not self._waiters:
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._leave()

    def lower(self) -> None:
        """An overload was seen: halve the bound, down to one."""
        self.now = max(1.0, self.now / 2)

    def raise_(self) -> None:
        """A call succeeded: one more after a round of successes."""
        self.now = min(float(self.limit), self.now + 1 / self.now)

    def _leave(self) -> None:
        self.in_flight -= 1
        while self._waiters and self.in_flight < int(self.now):
            turn = self._waiters.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)
