"""Computing processes: one process per job, forked from a process that has loaded all code.

The queue is fair between projects: each project may have a few running jobs, and projects take
turns. A job is killed if it takes too long, or if nobody waits for its result any more.
"""

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any

from hearth.engine.programs.compute import wire
from hearth.engine.programs.compute.job import Ask, Bounds, Done, Job, too_much
from hearth.model.problem import Rejected
from hearth.template.deferred import Question

log = logging.getLogger(__name__)

SLOTS = 4
PROJECT_SLOTS = 2
"""The maximum number of running jobs: SLOTS for all projects together, PROJECT_SLOTS for one
project.
"""

CPU_S = 10
CHARACTERS_A_SECOND = 50_000
"""The CPU time of a job: CPU_S seconds, and one second more for every CHARACTERS_A_SECOND
characters of text.
"""

WAIT_FACTOR = 3
"""The maximum elapsed time of a job, as a multiple of its CPU time; the machine may be busy."""

MEMORY_BYTES = 1 << 30
CHARACTER_BYTES = 2048
"""The memory of a job: MEMORY_BYTES, and CHARACTER_BYTES more for each character of text."""

COMMAND = (sys.executable, "-P", "-m", "hearth.cli.compute")
START_S = 30.0
STOP_S = 2.0
POLL_S = 0.5


class Stopped(asyncio.CancelledError):
    """The pool is closed because this process ends, so the computation is cancelled."""


class ProcessLost(RuntimeError):
    """A computing process ended before it had used its time, so the template is not to blame.

    The system may have killed it for lack of memory. The job can be repeated.
    """


Asked = Callable[[Question], Any]


class Pool:
    """Runs jobs in processes. `run` must be called on the event loop; `hand` and `kill` may be
    called from any thread.
    """

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self._command = command
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._at_work: dict[str, int] = {}
        self._threads = ThreadPoolExecutor(SLOTS, "compute")
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._jobs: set[_Running] = set()
        self._closed = False

    async def run(
        self, project: str, job: Job, characters: int, answer: Asked | None = None
    ) -> Any:
        """Return the result of a job, which first waits for a free slot of its project.

        `characters` is the length of the text that the job works on; it raises the limits. `answer`
        returns the values that the job requests from its World; it is called on the event loop. It
        is None for a job that requests none. Raises what the job raises, Rejected if the job
        exceeds a limit, ProcessLost if its process died, and Stopped if the pool is closed.
        """
        await self._turn(project)
        try:
            loop = asyncio.get_running_loop()
            running = _Running(self, job, characters, answer, loop)
            self._jobs.add(running)
            done = loop.run_in_executor(self._threads, running.run)
            try:
                return await asyncio.shield(done)
            finally:
                self._jobs.discard(running)
                if not done.done():
                    running.kill()
                    done.add_done_callback(lambda one: one.cancelled() or one.exception())
        finally:
            self._give_back(project)

    # -- whose turn it is --------------------------------------------------------------------

    async def _turn(self, project: str) -> None:
        if self._closed:
            raise Stopped
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project, deque()).append(turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(project)
            raise

    def _give_back(self, project: str) -> None:
        self._at_work[project] -= 1
        if not self._at_work[project]:
            del self._at_work[project]
        self._next()

    def _next(self) -> None:
        while sum(self._at_work.values()) < SLOTS:
            project = self._whose()
            if project is None:
                return
            queue = self._waiting[project]
            turn = queue.popleft()
            if queue:
                self._waiting.move_to_end(project)
            else:
                del self._waiting[project]
            if not turn.done():
                self._at_work[project] = self._at_work.get(project, 0) + 1
                turn.set_result(None)

    def _whose(self) -> str | None:
        """Return the project whose job starts next, or None if none may start.

        It is the project with the fewest running jobs among those below their limit.
        """
        may = [one for one in self._waiting if self._at_work.get(one, 0) < PROJECT_SLOTS]
        return min(may, key=lambda one: self._at_work.get(one, 0), default=None)

    # -- processes, from the threads ---------------------------------------------------------

    def hand(self, sock: socket.socket) -> None:
        """Start a computing process that communicates over this socket. Raises OSError, Stopped."""
        with self._lock:
            if self._closed:
                raise Stopped
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
        for queue in self._waiting.values():
            for turn in queue:
                turn.cancel()
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
        characters: int,
        answer: Asked | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.pool = pool
        self.job = job
        self.answer = answer
        self.loop = loop
        self.bounds = Bounds(
            CPU_S + characters // CHARACTERS_A_SECOND, MEMORY_BYTES + characters * CHARACTER_BYTES
        )
        self.pid: int | None = None
        self.killed = False

    def run(self) -> Any:
        """Carry out the job and return its result; called in a thread.

        A process uses at most one second of CPU time in a second, so one that ends sooner was not
        stopped by its limit.
        """
        began = monotonic()
        data = wire.pack((self.bounds, self.job))
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
                raise Stopped from None
            lasted_s = monotonic() - began
            if lasted_s < self.bounds.cpu_s and not was_killed:
                log.error(
                    "a computing process ended after %.1f s without a result; the system may have"
                    " killed it for lack of memory",
                    lasted_s,
                )
                raise ProcessLost("a computing process of the service ended unexpectedly") from None
            raise Rejected([too_much(f"more than {self.bounds.cpu_s} s")]) from None
        if done.error is not None:
            raise done.error
        return done.value

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

    def _conversation(self, sock: socket.socket, deadline: float) -> Done:
        while True:
            sock.settimeout(max(0.1, deadline - monotonic()))
            told = wire.unpack(wire.receive(sock))
            if isinstance(told, Done):
                return told
            assert isinstance(told, Ask)
            wire.send(sock, wire.pack(self._reply(told.question, deadline)))

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
