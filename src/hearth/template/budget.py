"""How much one request may make a template compute, whatever it is made of.

Every function has bounds of its own, and a thousand calls of it would fill any memory all the
same. So what they make is counted, and how long they think, in all that is done for one request. A
request opens a budget with `spending`; what is done inside of it, and inside of that, shares it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from typing import Any

from hearth.schema.patterns import Overrun, patience
from hearth.template.functions.entry import EvaluationError, Function, Reads

MADE_BYTES = 32 * 1024 * 1024
"""How much memory results may take, roughly, whatever the template."""

RESOURCE_BYTES = 32 * 1024
"""How much more for each resource: user data is of that size."""

MADE_BYTES_MAX = 256 * 1024 * 1024
"""How much they may take however many resources there are."""

READ_SHARE = 4
"""What is only read, from parameters and files, is there already: it counts for a part."""

STEPS = 25_000_000
"""Steps that all YAQL expressions may take together, whatever the template: some three seconds."""

RESOURCE_STEPS = 250_000
"""How many more for each resource: an expression over a hundred items."""

STEPS_MAX = 100_000_000
"""Steps that they may take however many resources there are."""

INLINE_BYTES = 2 * 1024 * 1024
"""How much results may take where others wait for the thread: a few milliseconds."""

INLINE_STEPS = 50_000
"""Steps of YAQL expressions there."""

INLINE_RESOURCES = 100
"""Resources compiled or checked there, those of child templates once for each environment."""

TEXT_BYTES, ITEM_BYTES = 50, 60


class Budget:
    """What is left. With `inline` it is a few milliseconds' worth, and Overrun is raised after."""

    __slots__ = ("allowed", "bytes", "inline", "resources", "steps", "steps_allowed")

    def __init__(self, *, inline: bool = False) -> None:
        self.inline = inline
        self.allowed = self.bytes = INLINE_BYTES if inline else MADE_BYTES
        self.steps_allowed = self.steps = INLINE_STEPS if inline else STEPS
        self.resources = INLINE_RESOURCES

    def widen(self, resources: int) -> None:
        """Allow for what so many resources may need."""
        if self.inline:
            return
        more = min(resources * RESOURCE_BYTES, MADE_BYTES_MAX - self.allowed)
        self.allowed += more
        self.bytes += more
        more = min(resources * RESOURCE_STEPS, STEPS_MAX - self.steps_allowed)
        self.steps_allowed += more
        self.steps += more

    def made(self, function: Function, value: Any) -> None:
        """Count what a function gives; raises EvaluationError where all of it is too much."""
        if type(value) is str and len(value) < TEXT_BYTES:
            return
        share = READ_SHARE if _reads(function) else 1
        self.bytes -= weight(value, self.bytes * share + share) // share
        self.check()

    def check(self) -> None:
        """Raises EvaluationError where too much has been made already."""
        if self.bytes < 0:
            if self.inline:
                raise Overrun
            words = f"all values together take more than {self.allowed // 1024**2} MiB"
            raise EvaluationError(words)

    def compiled(self, resources: int) -> None:
        """Count resources that are compiled or checked. Raises Overrun."""
        self.resources -= resources
        if self.inline and self.resources < 0:
            raise Overrun


_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget | None:
    """The budget of what is under way."""
    return _current.get()


@contextmanager
def inlined() -> Iterator[None]:
    """A budget of a few milliseconds for what is done inside, which raises Overrun after them."""
    token = _current.set(Budget(inline=True))
    try:
        with patience(inline=True):
            yield
    finally:
        _current.reset(token)


class spending:  # noqa: N801 - it is used as a function
    """The budget of what is under way; if nothing is, a new one for what is done inside.

    No generator: it is entered for every resource, nearly always inside of another.
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
    """The bytes that a value takes, roughly; what is more than `most` is not looked at."""
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
