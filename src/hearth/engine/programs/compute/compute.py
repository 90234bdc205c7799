"""Choose where a computation runs: on the event loop if it takes a few milliseconds, otherwise in a
separate process.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import ref

from hearth.engine.programs.compute.job import Job, too_much
from hearth.engine.programs.compute.pool import Pool
from hearth.engine.turns import Usage
from hearth.model.problem import Rejected
from hearth.schema.patterns import Overrun
from hearth.template.budget import inlined, spending
from hearth.template.deferred import Answer, Answers, Deferred, Question, deferring, reply_of

T = TypeVar("T")

INLINE_MAX = 6 * 1024
"""The maximum characters of text for which a computation is tried on the event loop. Such a
computation takes a few milliseconds.
"""

ROUNDS_MAX = 256
"""The maximum number of evaluations in separate processes in one call of `Compute.evaluated`, which
calls its function again after each of them.
"""

departed: ContextVar["asyncio.Future[None] | None"] = ContextVar("departed", default=None)
"""A future that completes when the client of the current request disconnects; None if there is no
request.
"""


class Gone(BaseException):
    """The client of the request has disconnected, so nobody needs the result.

    It is a BaseException so that no error handler prepares a response.
    """


class Compute:
    """Runs functions on user-supplied text without blocking the event loop.

    Without a pool of processes, as in the simulator, everything runs on the event loop. `usage` is
    the processor time that the projects have used, with all that others add to it.
    """

    def __init__(self, pool: Pool | None = None) -> None:
        self.pool = pool
        self.usage = Usage() if pool is None else pool.usage
        self.answers = Answers()

    async def run(
        self, function: Callable[..., T], *arguments: Any, project: str = "", characters: int = 0
    ) -> T:
        """Return the result of a function, which must have no side effects and be importable by
        name.

        Arguments and result must be picklable, because they may be sent to another process.
        `project` is the id of the project among whose jobs the function counts. `characters` is the
        length of the user-supplied text in the arguments. Raises what the function raises, Rejected
        if it exceeds a limit, and Gone if the client of the request disconnects.
        """
        if self.pool is None:
            with spending():
                return function(*arguments)
        if characters <= INLINE_MAX:
            try:
                with inlined():
                    return function(*arguments)
            except Overrun:
                pass
        value: T = await self._elsewhere(project, Job(function, arguments), characters)
        return value

    def share(self, value: Any, copy: Any) -> None:
        """Send `value` to other processes, if it came from one, when an equal `copy` is needed
        there.
        """
        if self.pool is not None:
            self.pool.packs.share(value, copy)

    async def evaluated(self, work: Callable[[], T], project: str = "") -> T:
        """Return the result of `work`, a function that evaluates values and may be called several
        times.

        A long evaluation runs in a separate process. Then `work` is called again and uses its
        result. Raises Rejected if there are too many long evaluations.
        """
        for _ in range(ROUNDS_MAX):
            try:
                return self.attempt(work)
            except Deferred as deferred:
                await self.settle(deferred, project)
        raise Rejected([too_much("too many long evaluations")])

    def attempt(self, work: Callable[[], T]) -> T:
        """Return the result of `work` at once.

        Raises Deferred if an evaluation must run in a separate process. Then call `settle`, and
        afterwards this method again.
        """
        if self.pool is None:
            return work()
        with deferring(self.answers):
            return work()

    async def settle(self, deferred: Deferred, project: str = "") -> None:
        """Run a deferred evaluation in a separate process, and keep its result for the next call of
        `attempt`.

        An exception of the evaluation is kept, too; the next call of `attempt` raises it.
        """
        replies: list[tuple[Question, Any]] = []

        def answer(question: Question) -> Any:
            reply = reply_of(deferred.world, question)
            replies.append((question, reply))
            return reply

        job = Job(evaluate, (deferred.target, deferred.method, deferred.options), asks=True)
        try:
            value, error = await self._elsewhere(project, job, 0, answer), None
        except Exception as problem:
            value, error = None, problem
        self.answers.keep(deferred, Answer(ref(deferred.target), replies, value, error))

    async def _elsewhere(
        self,
        project: str,
        job: Job,
        characters: int,
        answer: Callable[[Question], Any] | None = None,
    ) -> Any:
        assert self.pool is not None
        departure = departed.get()
        running = asyncio.ensure_future(self.pool.run(project, job, characters, answer))
        try:
            if departure is None:
                return await running
            await asyncio.wait([running, departure], return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                raise Gone
            return await running
        finally:
            running.cancel()

    def close(self) -> None:
        """Stop all running computations."""
        if self.pool is not None:
            self.pool.close()


def evaluate(world: Any, target: Any, method: str, options: dict[str, Any]) -> Any:
    """Call a method of `target` with a World and options, and return its result.

    This is the function that a computing process runs for a deferred evaluation.
    """
    return getattr(target, method)(world, **options)
