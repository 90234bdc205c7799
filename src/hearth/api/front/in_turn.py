"""Requests in turns: on the event loop, too, the work of those who use much waits for others.

The loop runs what is ready in its order of arrival, one piece after the other. Eight requests for
long lists would make every other request wait for eight pieces of work at each of its own steps.
So the steps of projects that have used much time lately, and those of long requests, run one at a
time, and all others between them, for at least twice as long. Of the others, one long step runs in
each round of the loop, so that the steps of the engine wait for few of them.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from time import monotonic, thread_time
from types import coroutine
from typing import Any, TypeVar, cast

from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.front.scope import QUICK, state
from hearth.engine.turns import Turns, Usage
from hearth.service.caller import Caller
from hearth.store.database import account

T = TypeVar("T")

LIGHT_MAX = 4
"""A project with more requests in progress counts as one that uses much."""

QUICK_S = 0.01
"""A request that has run for longer counts as a long one, also of a light project: many projects
that each use little may together use all of the time.
"""

SHORT_S = 0.001
"""After a longer step the engine and other tasks run before the next one of any project."""

RESTS = 2
REST_S = 0.002  # the shortest; a timer of the loop is not finer
ACTIVE_S = 0.5
"""So long after a step of a project that has used little, there is other work."""


class Steps:
    """Runs coroutines so that their steps take turns. `usage` counts the time of the steps.

    A step is what a coroutine does from one wait for something else to the next. After each step of
    a project that has used much, or of a long request, such steps rest for RESTS times as long if
    there is other work, so they take at most a third of the loop's time.
    """

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._much = Turns(usage, 1, of_one=1)  # transactions of projects that use much
        self._light_steps = Turns(usage, 1, of_one=1)
        self._transactions: dict[int, Turns] = {}  # by the number of threads
        self._running = Counter[str]()  # pieces of work of each project
        self._chosen = False  # a step is about to begin, or planned
        self._owed_s = 0.0  # the rest that is due
        self._active_at = float("-inf")  # when the last step of others was

    @coroutine
    def run(
        self,
        whose: Callable[[], str],
        work: Coroutine[Any, Any, None],
        quick: Callable[[], bool] = lambda: False,
    ) -> Generator[Any, Any, None]:
        """Run a coroutine to its end; raises what it raises.

        `whose` returns the project to which the work belongs, "" as long as it is not known. The
        next step does not wait if `quick` returns true.
        """
        owner = ""
        try:
            error: BaseException | None = None
            spent_s = total_s = 0.0
            while True:
                if not owner and (owner := whose()):
                    self._running[owner] += 1
                uses_much = bool(owner) and (total_s > QUICK_S or self.waits(owner))
                waits = uses_much and not quick()
                took = False
                try:
                    if waits:
                        yield from self._turn(owner)
                    elif owner and not uses_much:
                        self._active_at = monotonic()
                        if not self._light_steps.idle:
                            yield from self._light_steps.take(owner).__await__()
                            took = True
                except asyncio.CancelledError as cancelled:
                    error = cancelled
                began = thread_time()
                try:
                    waits_for = work.send(None) if error is None else work.throw(error)
                except StopIteration:
                    return
                finally:
                    step_s = thread_time() - began
                    spent_s += step_s
                    total_s += step_s
                    if waits:
                        self._ended(step_s)
                    elif took or (owner and step_s >= SHORT_S):
                        self._rest(owner, took=took)
                    if project := owner or whose():
                        self.usage.add(project, spent_s)
                        spent_s = 0.0
                error = None
                try:
                    yield waits_for
                except BaseException as problem:
                    error = problem
        finally:
            if owner:
                self._running[owner] -= 1
                if not self._running[owner]:
                    del self._running[owner]

    @property
    def active(self) -> bool:
        """Whether there is other work than that of projects that use much."""
        return monotonic() - self._active_at < ACTIVE_S

    def waits(self, project: str) -> bool:
        """Return whether the work of a project waits for its turn."""
        return self._running[project] > LIGHT_MAX or not self.usage.light(project)

    def transaction(
        self, project: str, threads: int, start: Callable[[], asyncio.Future[T]]
    ) -> Awaitable[T]:
        """Call `start` when a transaction of a project may run in one of so many threads; return
        what it results in.

        One thread is left to the transactions of the engine, if there are several. Those of
        projects that use much run one at a time if there is other work.
        """
        places = max(threads - 1, 1)
        turns = self._transactions.get(threads)
        if turns is None:
            turns = self._transactions[threads] = Turns(self.usage, places, of_one=places)
        needed = [turns]
        if places > 1 and self.active and self.waits(project):
            needed.insert(0, self._much)
        if all(one.free(project) for one in needed):
            for one in needed:
                one.begin(project)
            return _given_back(needed, project, start)
        # in a task of its own: the request's next step may have to wait for much longer
        return asyncio.create_task(_waited(needed, project, start))

    def _turn(self, project: str) -> Generator[Any, Any, None]:
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._waiting.append((project, turn))
        if not self._chosen:
            self._chosen = True
            loop.call_soon(self._next)
        try:
            yield from turn
        except GeneratorExit:
            if turn.done():
                self._ended(0.0)
            raise

    def _next(self) -> None:
        """Let the step of the project begin that has used least."""
        self._waiting = [waiter for waiter in self._waiting if not waiter[1].done()]
        if not self._waiting:
            self._chosen = False
            return
        chosen = min(self._waiting, key=lambda waiter: self.usage.lately(waiter[0]))
        self._waiting.remove(chosen)
        chosen[1].set_result(None)

    def _rest(self, owner: str, *, took: bool) -> None:
        """Let the engine run before the next step of a project that has used little."""
        if not took:
            self._light_steps.begin(owner)
        asyncio.get_running_loop().call_soon(self._light_steps.give_back, owner)

    def _ended(self, seconds: float) -> None:
        """Plan the next step after one that took so long."""
        loop = asyncio.get_running_loop()
        self._chosen = True
        self._owed_s += seconds
        if self._owed_s < REST_S:
            loop.call_soon(self._next)
            return
        rest_s, self._owed_s = RESTS * self._owed_s, 0.0
        if self.active:
            loop.call_later(rest_s, self._next)
        else:
            loop.call_soon(self._next)


class _Account:
    """A project that pays for its transactions with its usage."""

    def __init__(self, steps: Steps, whose: Callable[[], str]) -> None:
        self._steps = steps
        self._whose = whose

    def in_turn(self, threads: int, start: Callable[[], asyncio.Future[T]]) -> Awaitable[T]:
        """Call `start` when a transaction may run; return what it results in."""
        project = self._whose()
        return self._steps.transaction(project, threads, start) if project else start()

    def spent(self, seconds: float) -> None:
        if project := self._whose():
            self._steps.usage.add(project, seconds)


def _given_back(
    turns: Iterable[Turns], project: str, start: Callable[[], asyncio.Future[T]]
) -> asyncio.Future[T]:
    """Start a transaction and give its turns back when it ends."""
    running = start()

    def give_back(_: object) -> None:
        for one in turns:
            one.give_back(project)

    running.add_done_callback(give_back)
    return running


async def _waited(
    turns: Iterable[Turns], project: str, start: Callable[[], asyncio.Future[T]]
) -> T:
    """Start a transaction when each of the turns has come."""
    taken: list[Turns] = []
    try:
        for one in turns:
            await one.take(project)
            taken.append(one)
    except BaseException:
        for one in taken:
            one.give_back(project)
        raise
    return await _given_back(taken, project, start)


class InTurn:
    """Middleware that runs the application in the turn of the caller's project.

    As long as the caller is not known, and in requests without one, nothing waits.
    """

    def __init__(self, app: ASGIApp, steps: Steps) -> None:
        self._app = app
        self._steps = steps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request_state = state(scope)

        def whose() -> str:
            caller: Caller | None = request_state.get("caller")
            return "" if caller is None else caller.project_id or f"user {caller.user_id}"

        def quick() -> bool:
            return QUICK in request_state

        account.set(_Account(self._steps, whose))
        await self._steps.run(whose, cast(Any, self._app(scope, receive, send)), quick)
