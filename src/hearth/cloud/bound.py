"""An adaptive limit on the number of concurrent calls, shared fairly between callers."""

import asyncio
import time
from collections import deque
from collections.abc import Hashable, Mapping
from types import TracebackType

from msgspec import Struct

from hearth.telemetry.about import about

Subject = tuple[str, str]  # the id of a stack, and the name of a resource in it


class Queued(Struct, frozen=True):
    """A call that waits for a slot of `bound`; `since` is a time of the monotonic clock."""

    bound: "Bound"
    since: float


class CallQueue:
    """The calls of a process that wait for a slot, by the resource for which they are sent."""

    def __init__(self) -> None:
        self.calls: dict[Subject, Queued] = {}

    def of_stack(self, stack_id: str, waited_s: float) -> Mapping[str, Queued]:
        """Return the calls of a stack that have waited for `waited_s` seconds, by resource name."""
        latest = time.monotonic() - waited_s
        return {
            resource: call
            for (of, resource), call in self.calls.items()
            if of == stack_id and call.since <= latest
        }


class Bound:
    """Allows at most `limit` concurrent calls; fewer after an overload of the service.

    Each overload halves the number of allowed calls, and each success raises it a little. Make a
    call inside `async with bound.slot(caller)`. Callers that wait get a slot in turn, however many
    calls each of them has waiting; `queue` shows these calls.
    """

    def __init__(self, limit: int, queue: CallQueue | None = None) -> None:
        self.limit = limit
        self._queue = queue or CallQueue()
        self.now = float(limit)  # the limit in force
        self.in_flight = 0
        self._waiters: dict[Hashable, deque[asyncio.Future[None]]] = {}  # in order of turns

    def slot(self, caller: Hashable = None) -> "Slot":
        """Return an async context manager that occupies a slot for one call of `caller`."""
        return Slot(self, caller)

    def lower(self) -> None:
        """Halve the number of allowed calls, to at least one, because the service is overloaded."""
        self.now = max(1.0, self.now / 2)

    def raise_(self) -> None:
        """Count a successful call. After as many successes as calls are allowed now, one more call
        is allowed, up to `limit`.
        """
        self.now = min(float(self.limit), self.now + 1 / self.now)

    async def enter(self, caller: Hashable) -> None:
        """Wait until a slot is free for the caller and occupy it."""
        if self.in_flight < int(self.now) and not self._waiters:
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(caller, deque()).append(turn)
        subject = about().stack_id, about().resource
        self._queue.calls[subject] = Queued(self, time.monotonic())
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        finally:
            self._queue.calls.pop(subject, None)

    def leave(self) -> None:
        """Release a slot and give it to the next waiting caller."""
        self.in_flight -= 1
        while self._waiters and self.in_flight < int(self.now):
            caller = next(iter(self._waiters))
            turns = self._waiters.pop(caller)
            turn = turns.popleft()
            if turns:
                self._waiters[caller] = turns  # behind all others
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)


class Slot:
    """An async context manager that occupies one slot of a Bound."""

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
