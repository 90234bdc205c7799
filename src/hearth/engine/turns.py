"""Turns: whose work goes next where the work of many projects shares a few threads or processes.

It is the work of the project that has used the least processor time lately, wherever it used it. So
a project that asks for little is served at once, however much work of others waits. A few places
more are kept for such projects, because the work that is running cannot be interrupted.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import NamedTuple

from hearth.model.cache import Cache

HALF_LIFE_S = 10.0  # after each such time, half of the time that a project has used is forgotten
LIGHT_S = 2.0
"""A project that has used at most this time lately is light: about a seventh of a core, always."""

WAITED = 20.0
"""Each second for which a light project waits counts as so many seconds that it has used less."""

PROJECTS_MAX = 10_000  # of which the used time is known
PIECE_S = 0.004
"""How long a computation on the event loop may run before others get their turn."""


class Usage:
    """The processor time, in seconds, that each project has used lately.

    `clock` returns a time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._used = Cache[str, tuple[float, float]](PROJECTS_MAX)  # (seconds, moment)

    def add(self, project: str, seconds: float) -> None:
        """Count time that a project has used."""
        self._used.keep(project, (self.lately(project) + seconds, self._clock()))

    def lately(self, project: str) -> float:
        """Return the time that a project has used; the older it is, the less it counts."""
        entry = self._used.peek(project)
        if entry is None:
            return 0.0
        seconds, moment = entry
        return float(seconds * 0.5 ** ((self._clock() - moment) / HALF_LIFE_S))

    def light(self, project: str) -> bool:
        """Return whether a project has used little time lately."""
        return self.lately(project) <= LIGHT_S


class Pauses:
    """Lets others run between the pieces of a long computation on the event loop."""

    def __init__(self) -> None:
        self._since = monotonic()

    async def here(self) -> None:
        """Let others run, unless the last pause was less than PIECE_S seconds ago."""
        if monotonic() - self._since >= PIECE_S:
            await asyncio.sleep(0)
            self._since = monotonic()


class _Waiter(NamedTuple):
    turn: asyncio.Future[None]
    since: float  # the moment at which it began to wait


class Turns:
    """Lets some of the waiting work run. It must be used on one event loop.

    At most `places` pieces of work run at the same time, and `of_one` of one project. For light
    projects there are `spare` places more. Who runs work adds the time that it used to `usage`;
    work that is still running counts with its duration. Among light projects, who waits for longer
    counts as one that has used less.
    """

    def __init__(self, usage: Usage, places: int, *, of_one: int, spare: int = 0) -> None:
        self.usage = usage
        self._places = places
        self._of_one = of_one
        self._spare = spare
        self._waiting: dict[str, deque[_Waiter]] = {}
        self._running: dict[str, list[float]] = {}  # the moments at which the work began

    def waiting(self, project: str) -> int:
        """Return how many pieces of work of a project wait for their turn."""
        return sum(not turn.done() for turn, _ in self._waiting.get(project, ()))

    @property
    def idle(self) -> bool:
        """Whether no work runs or waits."""
        return not self._running and not self._waiting

    @asynccontextmanager
    async def turn(self, project: str) -> AsyncIterator[None]:
        """Wait for the project's turn, which lasts as long as the block; see `take`."""
        await self.take(project)
        try:
            yield
        finally:
            self.give_back(project)

    async def take(self, project: str) -> None:
        """Wait until it is the project's turn, which lasts until the call of `give_back`.

        Raises CancelledError if `close` is called in the meantime.
        """
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project, deque()).append(_Waiter(turn, monotonic()))
        self._next()
        try:
            await turn
        except BaseException:
            if not turn.cancel() and not turn.cancelled():  # the turn came at the same moment
                self.give_back(project)
            raise

    def free(self, project: str) -> bool:
        """Return whether work of the project may begin at once."""
        return not self._waiting and self._total < self._places and self._has_room(project)

    def begin(self, project: str) -> None:
        """Begin a turn of the project at once, which lasts until the call of `give_back`."""
        self._running.setdefault(project, []).append(monotonic())

    def give_back(self, project: str) -> None:
        """End a turn of the project, so that other work may begin."""
        began = self._running[project]
        began.pop(0)
        if not began:
            del self._running[project]
        if queue := self._waiting.get(project):  # it has just had a turn
            queue[0] = queue[0]._replace(since=monotonic())
        self._next()

    def close(self) -> None:
        """Cancel all work that waits."""
        for queue in self._waiting.values():
            for turn, _ in queue:
                turn.cancel()

    def _next(self) -> None:
        """Let work begin for which there is a place."""
        while (project := self._whose()) is not None:
            queue = self._waiting[project]
            turn, _ = queue.popleft()
            if not queue:
                del self._waiting[project]
            if not turn.done():
                self.begin(project)
                turn.set_result(None)

    def _whose(self) -> str | None:
        """Return the project whose work begins next, or None if none may begin."""
        running = self._total
        if running >= self._places + self._spare:
            return None
        project = min(filter(self._has_room, self._waiting), key=self._rank, default=None)
        if project is None or running < self._places or self._used(project) <= LIGHT_S:
            return project
        return None

    @property
    def _total(self) -> int:
        return sum(map(len, self._running.values()))

    def _has_room(self, project: str) -> bool:
        return len(self._running.get(project, ())) < self._of_one

    def _rank(self, project: str) -> float:
        used = self._used(project)
        if used > LIGHT_S:
            return used
        return used - WAITED * (monotonic() - self._waiting[project][0].since)

    def _used(self, project: str) -> float:
        now = monotonic()
        return self.usage.lately(project) + sum(now - at for at in self._running.get(project, ()))
