"""Failures of resource actions, and their text for users."""

import time
from collections.abc import Iterator
from ssl import SSLError

from hearth.cloud.fault import CloudFault
from hearth.engine.programs.compute.pool import ProcessLost
from hearth.model.problem import Rejected
from hearth.resources.base import Failed
from hearth.store.database import is_outage

TIMED_OUT = "Timed out"
STRAINED_S = 60.0
CAUSES_MAX = 20  # a chain of exceptions may be a ring
LASTING_TYPES = frozenset({"GatewayConflictWithAllocationPools"})
LASTING_WORDS = ("Multiple possible networks found",)
"""The beginnings of the messages of permanent conflicts (409): waiting does not help, because the
request itself causes them.
"""

_strained_until = float("-inf")


class ResourceFailure(Exception):
    """A resource action failed.

    `error` is the class name that the reason begins with. If `retry` is true, the engine may delete
    the object and create it again. If `nested` is true, the failure occurred in the nested stack of
    the resource, and `text` begins with the path of the failed resource inside the nested stack.
    """

    def __init__(self, error: str, text: str, *, retry: bool = False, nested: bool = False) -> None:
        super().__init__(f"{error}: {text}")
        self.error = error
        self.text = text
        self.retry = retry
        self.nested = nested

    def reason(self, name: str, section: str = "resources") -> str:
        """Return the reason `ERRORCLASS: resources.NAME: MESSAGE` for the resource `name`.

        A failure in a nested stack has the path inside that stack after the name. A name of digits
        only is written in brackets: `resources[0]`. Source: docs/spec/engine.md, section 31.
        """
        path = f"{section}[{name}]" if name.isdecimal() else f"{section}.{name}"
        return f"{self.error}: {path}{'.' if self.nested else ': '}{self.text}"


class Stopped(Exception):
    """The node was stopped by the deadline, a cancel or a delete; the exception's text is the
    cause.
    """


class Superseded(Exception):
    """A newer operation began, or the operation's result was decided, before the intent of this
    node was committed.
    """


def is_temporary(problem: BaseException) -> bool:
    """Return whether the engine cannot work now, although nothing is wrong with the stack.

    The database may be unavailable, or this process may have no memory or threads left. The engine
    then loads the stack again from its rows and continues.

    Without memory, code also fails in other ways: objects are half initialized, and libraries raise
    exceptions of their own. So for STRAINED_S seconds after the last sign of it, every unexpected
    exception is temporary.
    """
    notice_exhaustion(problem)
    expected = isinstance(problem, CloudFault | ResourceFailure | Rejected)
    if isinstance(problem, ProcessLost):
        return True
    return is_outage(problem) or (time.monotonic() < _strained_until and not expected)


def notice_exhaustion(problem: BaseException) -> None:
    """Remember when an exception is a sign that memory or threads are exhausted; see
    `is_temporary`.
    """
    global _strained_until
    if any(_exhausted(cause) for cause in _with_causes(problem)):
        _strained_until = time.monotonic() + STRAINED_S


def _exhausted(problem: BaseException) -> bool:
    """Return whether an exception is a sign of exhausted memory or threads.

    OpenSSL and the interpreter report failed allocations as SSLError and as SystemError.
    """
    if isinstance(problem, RuntimeError):
        return str(problem) == "can't start new thread"
    return isinstance(problem, MemoryError | SystemError | SSLError)


def _with_causes(problem: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those that it came from."""
    cause: BaseException | None = problem
    for _ in range(CAUSES_MAX):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__ or cause.__context__


def failure_of(problem: Exception) -> ResourceFailure:
    """Convert an exception of a resource action to a ResourceFailure.

    Raises the exception itself if it is temporary, because then the resource has not failed.
    """
    if is_temporary(problem):
        raise problem
    match problem:
        case ResourceFailure():
            return problem
        case CloudFault():
            lasting = problem.type in LASTING_TYPES or problem.message.startswith(LASTING_WORDS)
            return ResourceFailure(
                problem.type, problem.message, retry=problem.conflict and not lasting
            )
        case Rejected():
            first = problem.problems[0]
            return ResourceFailure(first.kind, "; ".join(p.message for p in problem.problems))
        case _:
            return ResourceFailure(type(problem).__name__, str(problem))


def next_attempt(attempt: int, retries: int, delay_s: float, failure: str) -> str:
    """Return the reason that a record shows while it waits for the next attempt.

    `attempt` is the number of the failed attempt, counted from 1; `retries` is the number of
    attempts after the first. `delay_s` is the pause, and `failure` its reason.
    """
    return f"attempt {attempt} of {retries + 1} failed, the next in {delay_s:.0f} s: {failure}"


def failure_from(failed: Failed) -> ResourceFailure:
    """Convert the result of a poll that reports a failure to a ResourceFailure."""
    return ResourceFailure(failed.error, failed.reason, retry=failed.retry)
