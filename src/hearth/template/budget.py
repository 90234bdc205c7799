"""The budget of a request: memory and steps for the evaluation of templates.

Every function has its own limits, but a thousand calls could still use any amount of memory. So the
memory of all results and the steps of all calls of a request are counted. A request opens a budget
with `spending`; nested blocks share it.
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
"""The approximate memory for results, for any template."""

RESOURCE_BYTES = 32 * 1024
"""Additional memory per resource: the size of user data."""

MADE_BYTES_MAX = 256 * 1024 * 1024
"""The maximum memory for any number of resources."""

READ_SHARE = 4
"""The divisor for values that are read from parameters and files, because they exist already."""

STEPS = 25_000_000
"""The steps of all YAQL expressions together, for any template: about three seconds."""

RESOURCE_STEPS = 250_000
"""Additional steps per resource: an expression over a hundred items."""

STEPS_MAX = 100_000_000
"""The maximum steps for any number of resources."""

INLINE_BYTES = 2 * 1024 * 1024
"""The memory for results on the event loop: a few milliseconds of work."""

INLINE_STEPS = 50_000
"""The steps of YAQL expressions on the event loop."""

INLINE_RESOURCES = 100
"""The resources compiled or checked on the event loop; those of a nested template count once per
environment."""

TEXT_BYTES, ITEM_BYTES = 50, 60


class Budget:
    """The remaining budget.

    With `inline` it is a few milliseconds of work; then Overrun is raised.
    """

    __slots__ = ("allowed", "bytes", "inline", "resources", "steps", "steps_allowed")

    def __init__(self, *, inline: bool = False) -> None:
        self.inline = inline
        self.allowed = self.bytes = INLINE_BYTES if inline else MADE_BYTES
        self.steps_allowed = self.steps = INLINE_STEPS if inline else STEPS
        self.resources = INLINE_RESOURCES

    def widen(self, resources: int) -> None:
        """Increase the budget by the allowance for a number of resources."""
        if self.inline:
            return
        more = min(resources * RESOURCE_BYTES, MADE_BYTES_MAX - self.allowed)
        self.allowed += more
        self.bytes += more
        more = min(resources * RESOURCE_STEPS, STEPS_MAX - self.steps_allowed)
        self.steps_allowed += more
        self.steps += more

    def made(self, function: Function, value: Any) -> None:
        """Count the result of a function. Raises EvaluationError if the total is too large."""
        if type(value) is str and len(value) < TEXT_BYTES:
            return
        share = READ_SHARE if _reads(function) else 1
        self.bytes -= weight(value, self.bytes * share + share) // share
        self.check()

    def check(self) -> None:
        """Raise EvaluationError if the total is already too large."""
        if self.bytes < 0:
            if self.inline:
                raise Overrun
            words = f"all values together need more than {self.allowed // 1024**2} MiB"
            raise EvaluationError(words)

    def compiled(self, resources: int) -> None:
        """Count resources that were compiled or checked. Raises Overrun."""
        self.resources -= resources
        if self.inline and self.resources < 0:
            raise Overrun


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget | None:
    """Return the current budget."""
    return _current.get()


@contextmanager
def inlined() -> Iterator[None]:
    """Open a budget of a few milliseconds for the block; after that Overrun is raised."""
    token = _current.set(Budget(inline=True))
    try:
        with patience(inline=True):
            yield
    finally:
        _current.reset(token)


class spending:  # noqa: N801 - it is used as a function
    """Use the current budget, or open a new one for the block.

    It is not a generator, because it is entered for every resource, usually inside another one.
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


def weight(value: Any, most: int) -> int:
    """Return the approximate size of a value in bytes; counting stops above `most`."""
    total = 0
    waiting = [value]
    while waiting and total <= most:
        one = waiting.pop()
        if isinstance(one, str):
            total += TEXT_BYTES + len(one)
        elif isinstance(one, list):
            total += ITEM_BYTES * (len(one) + 1)
            if total <= most:
                waiting.extend(one)
        elif isinstance(one, dict):
            total += 2 * ITEM_BYTES * (len(one) + 1)
            if total <= most:
                waiting.extend(one.values())
    return total


def _reads(function: Function) -> bool:
    return function.reads is not Reads.NOTHING or function.name == "get_file"
