"""Computing processes: one process per job, forked from a process that has loaded all code.

A job first gets a short time. If that is not enough, its process is killed, and the job begins
again in a second queue, with all the time it may use. So nobody's short job waits for a long one.
In both queues, the projects take turns. A job is also killed if nobody waits for its result any
more.
"""

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any

from msgspec.structs import replace

from hearth.engine.programs.compute import wire
from hearth.engine.programs.compute.job import Ask, Bounds, Job, JobResult, too_much
from hearth.engine.turns import Turns, Usage
from hearth.model.problem import Rejected
from hearth.template.deferred import Question

log = logging.getLogger(__name__)

PLACES = 2
SPARE = 2
PROJECT_PLACES = 2
"""The maximum number of running jobs in the first queue: PLACES for all projects together, SPARE
more for light projects, and PROJECT_PLACES for one project.
"""

LONG_PLACES = 2
LONG_SPARE = 2
LONG_PROJECT_PLACES = 1
"""The same for the second queue."""

FIRST_CPU_S = 0.5
FIRST_CHARACTERS = 512 * 1024
FIRST_MEMORY_BYTES = 256 << 20
"""The CPU time and the memory of a job in the first queue. Jobs on more text than that do not begin
there.
"""

LIGHT_NICENESS, FIRST_NICENESS, LONG_NICENESS = 5, 10, 15
"""How much the priority of a job's process is lowered, in the first queue for light projects and
for others, and in the second. The event loop, which serves everybody, always goes first.
"""

CPU_S = 10
CHARACTERS_A_SECOND = 50_000
"""The CPU time of a job: CPU_S seconds, and one second more for every CHARACTERS_A_SECOND
characters of text.
"""

WAIT_FACTOR = 10
"""The maximum elapsed time of a job, as a multiple of its CPU time; the machine may be busy."""

MEMORY_BYTES = 1 << 30
CHARACTER_BYTES = 2048
"""The memory of a job: MEMORY_BYTES, and CHARACTER_BYTES more for each character of text."""

COMMAND = (sys.executable, "-P", "-m", "hearth.process.compute")
START_S = 30.0
STOP_S = 2.0
POLL_S = 0.5


class _NeedsMore(Exception):
    """A job has used up the time or the memory that it has in its queue."""


class PoolClosed(asyncio.CancelledError):
    """The pool is closed because this process ends, so the computation is cancelled."""


class ProcessLost(RuntimeError):
    """A computing process ended before it had used its time, so the template is not to blame.

    The system may have killed it for lack of memory. The job can be repeated.
    """


Answerer = Callable[[Question], Any]


class Pool:
    """Runs jobs in processes. `run` must be called on the event loop; `hand` and `kill` may be
    called from any thread.

    `usage` counts the CPU time of the jobs of each project.
    """

    def __init__(self, command: tuple[str, ...] = COMMAND, usage: Usage | None = None) -> None:
        self._command = command
        self.usage = usage or Usage()
        self.packs = wire.Packs()
        self._first = Turns(self.usage, PLACES, of_one=PROJECT_PLACES, spare=SPARE)
        self._long = Turns(self.usage, LONG_PLACES, of_one=LONG_PROJECT_PLACES, spare=LONG_SPARE)
        thread_count = PLACES + SPARE + LONG_PLACES + LONG_SPARE
        self._threads = ThreadPoolExecutor(thread_count, "compute")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._jobs: set[_Running] = set()
        self._closed = False

    async def run(
        self, project: str, job: Job, characters: int, answer: Answerer | None = None
    ) -> Any:
        """Return the result of a job, which first waits for the turn of its project.

        `characters` is the length of the text that the job works on; it raises the limits. `answer`
        returns the values that the job requests from its World; it is called on the event loop. It
        is None for a job that requests none. Raises what the job raises, Rejected if the job
        exceeds a limit, ProcessLost if its process died, and PoolClosed if the pool is closed.
        """
        if characters <= FIRST_CHARACTERS:
            niceness = LIGHT_NICENESS if self.usage.light(project) else FIRST_NICENESS
            bounds = Bounds(FIRST_CPU_S, FIRST_MEMORY_BYTES, niceness)
            try:
                return await self._in_turn(self._first, project, job, bounds, answer)
            except _NeedsMore:
                pass
        most_s = CPU_S + characters // CHARACTERS_A_SECOND
        memory = MEMORY_BYTES + characters * CHARACTER_BYTES
        bounds = Bounds(most_s, memory, LONG_NICENESS)
        try:
            return await self._in_turn(self._long, project, job, bounds, answer)
        except _NeedsMore as more:
            raise Rejected([too_much(str(more))]) from None

    async def _in_turn(
        self, turns: Turns, project: str, job: Job, bounds: Bounds, answer: Answerer | None
    ) -> Any:
        if self._closed:
            raise PoolClosed
        async with turns.turn(project):
            loop = asyncio.get_running_loop()
            running = _Running(self, job, bounds, answer, loop)
            self._jobs.add(running)
            done = loop.run_in_executor(self._threads, running.run)
            try:
                return await asyncio.shield(done)
            finally:
                self._jobs.discard(running)
                self.usage.add(project, running.used_s())
                if not done.done():
                    running.kill()
                    done.add_done_callback(lambda future: future.cancelled() or future.exception())

    # -- processes, from the threads ---------------------------------------------------------

    def hand(self, sock: socket.socket) -> None:
        """Start a computing process that communicates over this socket.

        Raises OSError, PoolClosed.
        """
        with self._lock:
            if self._closed:
                raise PoolClosed
            if self._process is None or self._process.poll() is not None:
                self._start()
            assert self._control is not None
            socket.send_fds(self._control, [b"job"], [sock.fileno()])

    def kill(self, pid: int) -> None:
        """Kill a computing process of this pool, if it is still running."""
        with self._lock, contextlib.suppress(OSError):
            if self._control is not None:
                self._control.send(str(pid).encode())

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [*self._command, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        self._control = ours

    def close(self) -> None:
        """Kill all running jobs, and start no new ones."""
        with self._lock:
            self._closed = True
            if self._control is not None:
                self._control.close()
        for running in list(self._jobs):
            running.kill()
        self._first.close()
        self._long.close()
        if self._process is not None:
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Running:
    """The parent's part of a running job: a thread that communicates with the computing process."""

    def __init__(
        self,
        pool: Pool,
        job: Job,
        bounds: Bounds,
        answer: Answerer | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.pool = pool
        self.job = job
        self.bounds = bounds
        self.answer = answer
        self.loop = loop
        self._began: float | None = None
        self._cpu_s: float | None = None
        self.pid: int | None = None
        self.killed = False

    def run(self) -> Any:
        """Carry out the job and return its result; called in a thread.

        Raises what the job raises, _NeedsMore at a limit, ProcessLost and PoolClosed. A process
        uses at most one second of CPU time in a second, so one that ends sooner was not stopped by
        its limit.
        """
        began = self._began = monotonic()
        arguments = tuple(map(self.pool.packs.packed, self.job.arguments))
        data = wire.pack((self.bounds, replace(self.job, arguments=arguments)))
        try:
            with self._process() as sock:
                deadline = monotonic() + WAIT_FACTOR * self.bounds.cpu_s
                sock.settimeout(max(0.1, deadline - monotonic()))
                wire.send(sock, data)
                done = self._conversation(sock, deadline)
        except (wire.Closed, TimeoutError):
            was_killed = self.killed
            self.kill()
            if self.pool._closed:
                raise PoolClosed from None
            lasted_s = monotonic() - began
            if lasted_s < self.bounds.cpu_s and not was_killed:
                log.error(
                    "a computing process ended after %.1f s without a result; the system may have"
                    " killed it for lack of memory",
                    lasted_s,
                )
                raise ProcessLost("a computing process of the service ended unexpectedly") from None
            raise _NeedsMore(f"more than {self.bounds.cpu_s:g} s") from None
        self._cpu_s = done.cpu_s
        if isinstance(done.error, MemoryError):
            raise _NeedsMore("too much memory")
        if done.error is not None:
            raise done.error
        return None if done.value is None else self.pool.packs.unpacked(done.value)

    def used_s(self) -> float:
        """Return the CPU time of the job; if it was killed, how long it may have been."""
        if self._cpu_s is not None:
            return self._cpu_s
        return 0.0 if self._began is None else min(self.bounds.cpu_s, monotonic() - self._began)

    @contextlib.contextmanager
    def _process(self) -> Iterator[socket.socket]:
        """Start a computing process and yield the socket that leads to it; close the socket
        afterwards.
        """
        for attempt in (1, 2):
            ours, theirs = socket.socketpair()
            try:
                with theirs:
                    self.pool.hand(theirs)
                ours.settimeout(START_S)
                self.pid = wire.unpack(wire.receive(ours))
            except (OSError, wire.Closed) as problem:
                ours.close()
                if attempt == 2 or self.killed:
                    raise wire.Closed from None
                log.warning(
                    "a computing process ended during its start and is started again: %r", problem
                )
                continue
            break
        with ours:
            if self.killed:
                raise wire.Closed
            yield ours

    def _conversation(self, sock: socket.socket, deadline: float) -> JobResult:
        while True:
            sock.settimeout(max(0.1, deadline - monotonic()))
            message = wire.unpack(wire.receive(sock))
            if isinstance(message, JobResult):
                return message
            assert isinstance(message, Ask)
            wire.send(sock, wire.pack(self._reply(message.question, deadline)))

    def _reply(self, question: Question, deadline: float) -> Any:
        """Return the value that the job requests from its World, computed on the event loop.

        Raises Closed if the job was killed, its time is over, or the event loop is closed.
        """
        reply: Future[Any] = Future()

        def answer() -> None:
            assert self.answer is not None
            try:
                reply.set_result(self.answer(question))
            except BaseException as problem:
                reply.set_exception(problem)

        try:
            self.loop.call_soon_threadsafe(answer)
        except RuntimeError:  # the loop is closed
            raise wire.Closed from None
        while not self.killed and monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return reply.result(POLL_S)
        raise wire.Closed

    def kill(self) -> None:
        """Kill the computing process of this job; may be called from any thread."""
        self.killed = True
        if self.pid is not None:
            self.pool.kill(self.pid)
