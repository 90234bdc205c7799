"""The budget of a request: the memory and steps that evaluating its templates may use.

Every function has its own limits, but a thousand calls could still use any amount of memory.
Therefore the memory of all results and the steps of all calls in a request are counted. A request
opens a budget with `spending`; blocks inside it share the budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any

from hearth.schema.patterns import Overrun, patience
from hearth.template.errors import EvaluationError
from hearth.template.function import Function, Reads

MADE_BYTES = 32 * 1024 * 1024
"""The approximate memory in bytes that the results of functions may use in any request."""

RESOURCE_BYTES = 32 * 1024
"""The additional memory in bytes for each resource of the template, enough for its user data."""

MADE_BYTES_MAX = 256 * 1024 * 1024
"""The maximum memory in bytes, regardless of the number of resources."""

READ_SHARE = 4
"""The size of a value that is read from a parameter or a file is divided by this number, because
such a value exists already.
"""

STEPS = 25_000_000
"""The steps that all YAQL expressions of any request may use together; they take about three
seconds.
"""

RESOURCE_STEPS = 250_000
"""The additional steps for each resource of the template, enough for an expression over 100
items.
"""

STEPS_MAX = 100_000_000
"""The maximum number of steps, regardless of the number of resources."""

INLINE_BYTES = 2 * 1024 * 1024
"""The maximum memory in bytes of function results while a request is handled on the event loop.
Creating that much takes a few milliseconds.
"""

INLINE_STEPS = 50_000
"""The maximum number of steps of YAQL expressions on the event loop."""

INLINE_RESOURCES = 100
"""The maximum number of resources that are compiled or checked on the event loop. The resources of
a nested template count once per environment. When a program is made from a compiled template, four
resources count as one.
"""

TEXT_BYTES, ITEM_BYTES = 50, 60


class Budget:
    """The memory, steps and resources that a request may still use.

    If `inline` is true, the budget is a few milliseconds of work on the event loop. When it is used
    up, Overrun is raised instead of EvaluationError.
    """

    __slots__ = ("allowed", "bytes", "inline", "resources", "steps", "steps_allowed")

    def __init__(self, *, inline: bool = False) -> None:
        self.inline = inline
        self.allowed = self.bytes = INLINE_BYTES if inline else MADE_BYTES
        self.steps_allowed = self.steps = INLINE_STEPS if inline else STEPS
        self.resources = INLINE_RESOURCES

    def widen(self, resources: int) -> None:
        """Increase the budget by the allowance for this number of resources.

        The budget of the event loop is never increased.
        """
        if self.inline:
            return
        more_bytes = min(resources * RESOURCE_BYTES, MADE_BYTES_MAX - self.allowed)
        self.allowed += more_bytes
        self.bytes += more_bytes
        more_steps = min(resources * RESOURCE_STEPS, STEPS_MAX - self.steps_allowed)
        self.steps_allowed += more_steps
        self.steps += more_steps

    def made(self, function: Function, value: Any) -> None:
        """Subtract the memory of `value`, the result of a function. Short texts are not counted.

        Raises EvaluationError if the budget is used up, or Overrun on the event loop.
        """
        if type(value) is str and len(value) < TEXT_BYTES:
            return
        share = READ_SHARE if _reads(function) else 1
        self.bytes -= weight(value, self.bytes * share + share) // share
        self.check()

    def check(self) -> None:
        """Raise EvaluationError, or Overrun on the event loop, if the memory budget is used up."""
        if self.bytes < 0:
            if self.inline:
                raise Overrun
            message = f"all values together need more than {self.allowed // 1024**2} MiB"
            raise EvaluationError(message)

    def compiled(self, resources: int) -> None:
        """Subtract this number of compiled or checked resources.

        Raises Overrun on the event loop if the number is used up; other budgets have no such limit.
        """
        self.resources -= resources
        if self.inline and self.resources < 0:
            raise Overrun


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget | None:
    """Return the budget of the current request; None outside of `spending` and `inlined`."""
    return _current.get()


@contextmanager
def inlined() -> Iterator[None]:
    """Limit the work in the block to a few milliseconds; Overrun is raised if it needs more."""
    token = _current.set(Budget(inline=True))
    try:
        with patience(inline=True):
            yield
    finally:
        _current.reset(token)


class spending:  # noqa: N801 - it is used as a function
    """A context manager that opens a budget, or uses the current one if there is one.

    It is a class because a generator-based context manager is slower: it is entered for every
    resource, usually inside another `spending` block.
    """

    __slots__ = ("patience", "token")

    def __enter__(self) -> Budget:
        self.token: Token[Budget | None] | None = None
        budget = _current.get()
        if budget is None:
            budget = Budget()
            self.token = _current.set(budget)
            self.patience = patience()
            self.patience.__enter__()
        return budget

    def __exit__(self, *failure: Any) -> None:
        if self.token is not None:
            self.patience.__exit__(None, None, None)
            _current.reset(self.token)


def weight(value: Any, limit: int) -> int:
    """Return the approximate size of a value in bytes; counting stops above `limit`."""
    total = 0
    waiting = [value]
    while waiting and total <= limit:
        part = waiting.pop()
        if isinstance(part, str):
            total += TEXT_BYTES + len(part)
        elif isinstance(part, list):
            total += ITEM_BYTES * (len(part) + 1)
            if total <= limit:
                waiting.extend(part)
        elif isinstance(part, dict):
            total += 2 * ITEM_BYTES * (len(part) + 1)
            if total <= limit:
                waiting.extend(part.values())
    return total


def _reads(function: Function) -> bool:
    return function.reads is not Reads.NOTHING or function.name == "get_file"
