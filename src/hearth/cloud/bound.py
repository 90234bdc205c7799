"""Limits of calls in flight: fair between callers, and reduced while a service is overloaded."""

import asyncio
from collections import deque
from collections.abc import Hashable
from types import TracebackType


class Bound:
    """At most `limit` calls at a time; fewer after an overload, then slowly more with each success.

    Enter it with `async with bound.slot(caller)`. Waiting callers are served in turn, independently
    of how many calls each of them has; the calls of a caller keep their order.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.now = float(limit)  # the limit in force
        self.in_flight = 0
        self._waiters: dict[Hashable, deque[asyncio.Future[None]]] = {}  # next turn first

    def slot(self, caller: Hashable = None) -> "Slot":
        """Return a slot for one call of a caller."""
        return Slot(self, caller)

    def lower(self) -> None:
        """Halve the limit after an overload, down to one."""
        self.now = max(1.0, self.now / 2)

    def raise_(self) -> None:
        """Count a success; raise the limit by one after a round of successes."""
        self.now = min(float(self.limit), self.now + 1 / self.now)

    async def enter(self, caller: Hashable) -> None:
        """Wait until the caller may send a call, and occupy a slot."""
        if self.in_flight < int(self.now) and not self._waiters:
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(caller, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise

    def leave(self) -> None:
        """Release a slot to the next caller."""
        self.in_flight -= 1
        while self._waiters and self.in_flight < int(self.now):
            caller = next(iter(self._waiters))
            mine = self._waiters.pop(caller)
            turn = mine.popleft()
            if mine:
                self._waiters[caller] = mine  # behind all others
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


class Slot:
    """A slot for one call; it is occupied inside `async with`."""

    __slots__ = ("_bound", "_caller")

    def __init__(self, bound: Bound, caller: Hashable) -> None:
        self._bound = bound
        self._caller = caller

    async def __aenter__(self) -> None:
        await self._bound.enter(self._caller)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bound.leave()
