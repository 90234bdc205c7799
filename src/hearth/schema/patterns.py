"""Regular expressions that cannot take for ever.

Most patterns are matched as ever. One whose repetitions could get in each other's way, on which a
short text can cost years, is matched by an engine that gives up after a while.
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
"""How long one match may take."""

STEPS_QUICK = 50_000
"""Steps of the plain engine that take a millisecond or so. Repetitions of which none is inside
another take as many as the text has characters, to the power of their number."""

INLINE_S = 0.005
"""How long all matches together may take where others wait for the thread."""

INLINE_PATTERN_MAX = 500
"""Characters of a pattern, its repetitions written out, that may be compiled there."""

REPETITIONS = re.compile(r"[*+?{]")
SIMPLE = re.compile(r"(?:\[\^?\]?[^\]]*\]|\\.|[^\\()|*+?{\[])(?:[*+?]|\{\d*(?:,\d*)?\})?")


PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)
WRITTEN_OUT_MAX = 20_000
"""How long a pattern may be once its repetitions are written out."""

T = TypeVar("T")


class TooSlow(ValueError):
    """A match was given up."""


class Overrun(BaseException):
    """Computing takes longer than the thread may be kept, and has to be done elsewhere.

    It is no `Exception`: nothing that answers errors of users may take it for one.
    """


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern; raises re.error on a bad one."""
    return re.compile(pattern)


@lru_cache(maxsize=1024)
def harmless(pattern: str) -> bool:
    """Whether a pattern has neither groups nor alternatives, so that repetitions follow each other
    and none is inside another.
    """
    position = 0
    while position < len(pattern):
        match = SIMPLE.match(pattern, position)
        if match is None or match.end() == position:
            return False
        position = match.end()
    return True


def matches_whole(pattern: str, text: str) -> bool:
    """Whether the first match at the start of a text takes all of it. Raises TooSlow."""
    found: Any
    repetitions = len(REPETITIONS.findall(pattern))
    demand_small(pattern)
    if not repetitions or (harmless(pattern) and quick(repetitions, len(text))):
        found = compiled(pattern).match(text)
    else:
        found = _patient(pattern, text)
    return found is not None and found.end() == len(text)


def quick(repetitions: int, characters: int) -> bool:
    """Whether so many repetitions, none inside another, are quick on a text of this length."""
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
"""How long all matches of one request may take together."""


class _Left:
    """The seconds that are left for matches; `inline` where others wait for the thread."""

    __slots__ = ("inline", "seconds")

    def __init__(self, seconds: float, inline: bool) -> None:
        self.seconds = seconds
        self.inline = inline

    def spent(self) -> BaseException:
        return Overrun() if self.inline else TimeoutError()


_left: ContextVar[_Left | None] = ContextVar("left_s", default=None)


@contextmanager
def patience(*, inline: bool = False) -> Iterator[None]:
    """Inside, all matches together have only so much time.

    `inline` gives them a few milliseconds and raises Overrun when those are over.
    """
    token = _left.set(_Left(INLINE_S if inline else PATIENCE_S, inline))
    try:
        yield
    finally:
        _left.reset(token)


def in_time(match: Callable[[float], T]) -> T:
    """What a match gives, called with the time it has. Raises TimeoutError."""
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
    """Whether others wait for the thread, so that Overrun is raised after a few milliseconds."""
    left = _left.get()
    return left is not None and left.inline


def time_left_s() -> float:
    """How long the next match may take."""
    left = _left.get()
    return TIMEOUT_S if left is None else max(0.0, min(TIMEOUT_S, left.seconds))


def demand_small(pattern: str) -> None:
    """Raises Overrun for a large pattern where others wait for the thread."""
    if inline() and written_out(pattern) > INLINE_PATTERN_MAX:
        raise Overrun


# -- patterns that are large, or slow -----------------------------------------------------------


def written_out(pattern: str) -> int:
    """How long a pattern is if what must repeat is written out: so the patient engine has it."""
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
    """A pattern whose methods take a timeout. Raises ValueError on a bad one.

    The engine is loaded on first use, for few patterns need it.
    """
    import regex

    demand_small(pattern)
    if written_out(pattern) > WRITTEN_OUT_MAX:
        raise ValueError("the pattern is too large")
    try:
        return regex.compile(pattern, flags | regex.VERSION0)
    except (regex.error, RecursionError, OverflowError) as problem:
        raise ValueError(str(problem)) from None
