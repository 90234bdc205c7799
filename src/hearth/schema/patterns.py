"""Regular expressions with a time limit.

Most patterns use the standard engine. A pattern whose repetitions could interact, so that even a
short text could take years, uses an engine with a timeout.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import regex

TIMEOUT_S = 0.5
"""The maximum seconds of one match."""

STEPS_QUICK = 50_000
"""The steps of the standard engine in about a millisecond. A pattern without nested repetitions
takes n**r steps, for r repetitions and a text of n characters.
"""

INLINE_S = 0.005
"""The maximum time of all matches together on the event loop."""

INLINE_PATTERN_MAX = 500
"""The maximum characters, with repetitions expanded, of a pattern that is compiled on the event
loop.
"""

REPETITIONS = re.compile(r"[*+?{]")
SIMPLE = re.compile(r"(?:\[\^?\]?[^\]]*\]|\\.|[^\\()|*+?{\[])(?:[*+?]|\{\d*(?:,\d*)?\})?")


PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)
WRITTEN_OUT_MAX = 20_000
"""The maximum length of a pattern with repetitions expanded."""

T = TypeVar("T")


class TooSlow(ValueError):
    """A match has exceeded its time limit."""


class Overrun(BaseException):
    """A computation takes too long for the event loop and must run in another process.

    It is not an `Exception`, so that handlers of user errors do not catch it.
    """


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern. Raises re.error for an invalid one."""
    return re.compile(pattern)


@lru_cache(maxsize=1024)
def harmless(pattern: str) -> bool:
    """Return whether a pattern has neither groups nor alternatives, so that no repetition is inside
    another.
    """
    position = 0
    while position < len(pattern):
        match = SIMPLE.match(pattern, position)
        if match is None or match.end() == position:
            return False
        position = match.end()
    return True


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether the first match at the start of a text is the whole text. Raises TooSlow."""
    found: Any
    repetitions = len(REPETITIONS.findall(pattern))
    demand_small(pattern)
    if not repetitions or (harmless(pattern) and quick(repetitions, len(text))):
        found = compiled(pattern).match(text)
    else:
        found = _patient(pattern, text)
    return found is not None and found.end() == len(text)


def quick(repetitions: int, characters: int) -> bool:
    """Return whether this number of repetitions is fast on a text of this length."""
    return repetitions == 1 or (repetitions <= 8 and characters**repetitions <= STEPS_QUICK)


def _patient(pattern: str, text: str) -> Any:
    try:
        known = timed(pattern)
        return in_time(lambda timeout: known.match(text, timeout=timeout))
    except TimeoutError:
        raise TooSlow(f"the pattern needs more than {TIMEOUT_S} s") from None
    except ValueError as problem:
        raise TooSlow(str(problem)) from None


# -- patience -----------------------------------------------------------------------------------

PATIENCE_S = 2.0
"""The maximum seconds of all matches of one request."""


class _Left:
    """The remaining seconds for matches; `inline` is true on the event loop."""

    __slots__ = ("inline", "seconds")

    def __init__(self, seconds: float, inline: bool) -> None:
        self.seconds = seconds
        self.inline = inline

    def spent(self) -> BaseException:
        return Overrun() if self.inline else TimeoutError()


_left: ContextVar[_Left | None] = ContextVar("left_s", default=None)


@contextmanager
def patience(*, inline: bool = False) -> Iterator[None]:
    """Limit the total time of all matches in the block.

    With `inline` the matches have a few milliseconds together; after that Overrun is raised.
    """
    token = _left.set(_Left(INLINE_S if inline else PATIENCE_S, inline))
    try:
        yield
    finally:
        _left.reset(token)


def in_time(match: Callable[[float], T]) -> T:
    """Return the result of a match, called with its time limit. Raises TimeoutError."""
    left = _left.get()
    if left is None:
        return match(TIMEOUT_S)
    if left.seconds <= 0:
        raise left.spent()
    begun = perf_counter()
    try:
        return match(min(TIMEOUT_S, left.seconds))
    except TimeoutError:
        raise left.spent() from None
    finally:
        left.seconds -= perf_counter() - begun


def inline() -> bool:
    """Return whether this is the event loop, where Overrun is raised after a few milliseconds."""
    left = _left.get()
    return left is not None and left.inline


def time_left_s() -> float:
    """Return the maximum time of the next match in seconds."""
    left = _left.get()
    return TIMEOUT_S if left is None else max(0.0, min(TIMEOUT_S, left.seconds))


def demand_small(pattern: str) -> None:
    """Raise Overrun if a pattern is too large for the event loop."""
    if inline() and written_out(pattern) > INLINE_PATTERN_MAX:
        raise Overrun


# -- patterns that are large, or slow -----------------------------------------------------------


def written_out(pattern: str) -> int:
    """Return the length of a pattern with repetitions expanded, as in the engine with a timeout."""
    sizes, last = [0], 0
    for match in PIECE.finditer(pattern):
        piece = match[0]
        if piece == "(":
            sizes.append(0)
        elif piece == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif match[1] is not None:
            more = last * (max(1, int(match[1][:9])) - 1)
            sizes[-1] += more
            last += more
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


@lru_cache(maxsize=256)
def timed(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return a pattern whose methods take a timeout. Raises ValueError for an invalid one.

    The engine is loaded on first use, because few patterns need it.
    """
    import regex

    demand_small(pattern)
    if written_out(pattern) > WRITTEN_OUT_MAX:
        raise ValueError("the pattern is too large")
    try:
        return regex.compile(pattern, flags | regex.VERSION0)
    except (regex.error, RecursionError, OverflowError) as problem:
        raise ValueError(str(problem)) from None
