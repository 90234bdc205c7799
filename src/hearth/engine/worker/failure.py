"""What goes wrong with a resource, in the words that users read."""

from hearth.cloud.fault import CloudFault
from hearth.model.problem import Rejected
from hearth.resources.base import Failed

LASTING_TYPES = frozenset({"GatewayConflictWithAllocationPools"})
LASTING_WORDS = ("Multiple possible networks found",)
"""Conflicts (409) of a request with itself: no other resource can end them, so no retry helps."""


class ResourceFailure(Exception):
    """A resource action failed. `error` is the class name in the reason, `retry` says that a
    create may be tried again after removing what was made."""

    def __init__(self, error: str, text: str, *, retry: bool = False, nested: bool = False) -> None:
        super().__init__(f"{error}: {text}")
        self.error = error
        self.text = text
        self.retry = retry
        self.nested = nested

    def reason(self, name: str, section: str = "resources") -> str:
        """`ERRORCLASS: resources.NAME: MESSAGE`. Source: spec/engine.md, section 31.

        A nested failure brings its own path, which this one leads; a name of digits only is
        written in brackets.
        """
        place = f"{section}[{name}]" if name.isdecimal() else f"{section}.{name}"
        return f"{self.error}: {place}{'.' if self.nested else ': '}{self.text}"


class Stopped(Exception):
    """The work was broken off: the deadline, or a delete."""


class Superseded(Exception):
    """A newer operation began before this one's first step was recorded."""


def failure_of(problem: Exception) -> ResourceFailure:
    """Any failure of a resource action as failure."""
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


def next_attempt(attempt: int, retries: int, delay_s: float, why: str) -> str:
    """What a record says between two attempts; `attempt`, from 1, is the one that failed."""
    return f"attempt {attempt} of {retries + 1} failed, the next in {delay_s:.0f} s: {why}"


def failure_from(failed: Failed) -> ResourceFailure:
    return ResourceFailure(failed.error, failed.reason, retry=failed.retry)
