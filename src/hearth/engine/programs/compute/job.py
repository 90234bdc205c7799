"""A computation in a separate process: its input, its result, and its limits."""

import contextlib
import math
import os
import resource
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from hearth.engine.programs.compute import wire
from hearth.model import collector
from hearth.model.problem import Rejected, RequestLimitExceeded
from hearth.template.budget import spending
from hearth.template.deferred import Question

KILLED_FIRST = 1000
"""The oom_score_adj of computing processes: where memory is short, the kernel kills such a process
and not the service, which can repeat the job.
"""
QUESTIONS_MAX = 20_000
"""The maximum number of different values that one evaluation may request from its World."""


class Bounds(Struct, frozen=True):
    """The limits of a computing process: CPU time in seconds, memory in bytes beyond its memory at
    the start, and how much its scheduling priority is lowered.
    """

    cpu_s: float
    memory_bytes: int
    niceness: int


class Job(Struct, frozen=True):
    """A function to run in a separate process, with its arguments, some of which may be packed.

    If `asks` is true, the function gets a World as an additional first argument. The values of that
    World stay in the parent process.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    asks: bool = False


class Ask(Struct, frozen=True):
    """A message to the parent process that requests one value of the World."""

    question: Question


class JobResult(Struct, frozen=True):
    """A message to the parent process that ends the job: its packed result, or the exception that
    it raised, and the CPU time that it used, in seconds.
    """

    value: wire.Packed | None = None
    error: BaseException | None = None
    cpu_s: float = 0.0


class DistantWorld:
    """A World in a computing process; the parent process has the values.

    Each value is requested from the parent process at most once.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._replies: dict[str, Any] = {}

    def _ask(self, name: str, *arguments: Any) -> Any:
        key = repr((name, arguments))
        if key not in self._replies:
            if len(self._replies) >= QUESTIONS_MAX:
                excess = (
                    f"more than {QUESTIONS_MAX} different references and attributes of resources"
                )
                raise Rejected([too_much(excess)])
            wire.send(self._sock, wire.pack(Ask((name, arguments))))
            self._replies[key] = wire.unpack(wire.receive(self._sock))
        reply = self._replies[key]
        if isinstance(reply, Exception):
            raise reply
        return reply

    @property
    def facade(self) -> Any:
        return self._ask("facade")

    def reference(self, name: str) -> Any:
        return self._ask("reference", name)

    def attribute(self, name: str, attribute: str, path: tuple[Any, ...] = ()) -> Any:
        return self._ask("attribute", name, attribute, path)

    def availability_zones(self) -> Any:
        return self._ask("availability_zones")

    def secret(self, name: str, attribute: str) -> bool:
        return bool(self._ask("secret", name, attribute))

    def guarded(self, name: str, attribute: str) -> bool:
        return bool(self._ask("guarded", name, attribute))

    def guarded_reference(self, name: str) -> bool:
        return bool(self._ask("guarded_reference", name))


def too_much(excess: str) -> RequestLimitExceeded:
    """Return the problem of a computation that exceeds a limit; `excess` names the excess, such as
    "more than 10 s".
    """
    return RequestLimitExceeded(None, f"Request limit exceeded: the computation needs {excess}")


def carry_out(sock: socket.socket) -> None:
    """Receive a job over the socket, run it, and send back its result or its exception."""
    bounds: Bounds
    job: Job
    bounds, job = wire.unpack(wire.receive(sock))
    confine(bounds)
    collector.off()  # the process ends with the job
    try:
        with spending():
            world = (DistantWorld(sock),) if job.asks else ()
            arguments = [
                wire.unpack(argument.data) if isinstance(argument, wire.Packed) else argument
                for argument in job.arguments
            ]
            value = job.function(*world, *arguments)
        packed = wire.Packed(wire.pack(value))
        data = wire.pack(JobResult(packed, cpu_s=time.process_time()))
    except RecursionError:
        data = wire.pack(_failed(Rejected([too_much("too deep a recursion")])))
    except Exception as error:
        data = _packed(error)
    wire.send(sock, data)


def _packed(error: Exception) -> bytes:
    try:
        data = wire.pack(_failed(error))
        wire.unpack(data)
    except Exception:
        return wire.pack(_failed(RuntimeError(f"{type(error).__name__}: {error}")))
    return data


def _failed(error: Exception) -> JobResult:
    return JobResult(error=error, cpu_s=time.process_time())


def confine(bounds: Bounds) -> None:
    """Apply the CPU and memory limits to this process, lower its scheduling priority, and let the
    kernel kill it first where memory is short. At the limit of CPU time, the system ends it.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, bounds.cpu_s)
    hard = math.ceil(bounds.cpu_s) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = _mapped_bytes() + bounds.memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    os.nice(bounds.niceness)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(KILLED_FIRST))


def _mapped_bytes() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # a system without /proc
        return 1 << 30
