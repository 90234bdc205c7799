"""Regular expressions from users, matched with a time limit.

Most patterns run in the module `re`. A pattern that could need exponential time (catastrophic
backtracking) runs in the module `regex`, which supports a timeout.
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
"""The maximum duration of one match, in seconds."""

STEPS_QUICK = 50_000
"""The number of steps that the module `re` makes in about a millisecond.

A pattern with r repetitions, none of them nested, takes at most n**r steps for n characters.
"""

INLINE_S = 0.005
"""The maximum total duration of all matches of one computation on the event loop, in seconds."""

INLINE_PATTERN_MAX = 500
"""The maximum length of a pattern that is compiled on the event loop.

The length is that of the pattern with its counted repetitions written out: `a{3}` counts 3.
"""

REPETITIONS = re.compile(r"[*+?{]")
SIMPLE = re.compile(r"(?:\[\^?\]?[^\]]*\]|\\.|[^\\()|*+?{\[])(?:[*+?]|\{\d*(?:,\d*)?\})?")


PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)
WRITTEN_OUT_MAX = 20_000
"""The maximum length of any pattern with its counted repetitions written out."""

T = TypeVar("T")


class TooSlow(ValueError):
    """A match has exceeded its time limit, or `regex` cannot compile the pattern."""


class Overrun(BaseException):
    """A computation takes too long for the event loop and must run in another process.

    The class is not an `Exception`, so that handlers of user errors do not catch it.
    """


@lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern compiled by `re`. Raises re.error if it is invalid."""
    return re.compile(pattern)


@lru_cache(maxsize=1024)
def harmless(pattern: str) -> bool:
    """Return whether a pattern has neither groups nor alternatives, and therefore no nested
    repetitions.
    """
    position = 0
    while position < len(pattern):
        match = SIMPLE.match(pattern, position)
        if match is None or match.end() == position:
            return False
        position = match.end()
    return True


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether the pattern, matched at the start of the text, covers the whole text.

    Raises TooSlow, or re.error for an invalid pattern. Raises Overrun on the event loop if the
    match needs too much time there.
    """
    match: Any
    repetitions = len(REPETITIONS.findall(pattern))
    demand_small(pattern)
    if not repetitions or (harmless(pattern) and quick(repetitions, len(text))):
        match = compiled(pattern).match(text)
    else:
        match = _patient(pattern, text)
    return match is not None and match.end() == len(text)


def quick(repetitions: int, characters: int) -> bool:
    """Return whether a pattern with this number of repetitions, none of them nested, is fast on a
    text with this number of characters.
    """
    return repetitions == 1 or (repetitions <= 8 and characters**repetitions <= STEPS_QUICK)


def _patient(pattern: str, text: str) -> Any:
    try:
        timed_pattern = timed(pattern)
        return in_time(lambda timeout: timed_pattern.match(text, timeout=timeout))
    except TimeoutError:
        raise TooSlow(f"the pattern needs more than {TIMEOUT_S} s to match") from None
    except ValueError as problem:
        raise TooSlow(str(problem)) from None


# -- time limits --------------------------------------------------------------------------------

PATIENCE_S = 2.0
"""The maximum total duration of all matches of one request, in seconds."""


class _Patience:
    """The seconds that remain for matches; `inline` is true if they run on the event loop."""

    __slots__ = ("inline", "seconds")

    def __init__(self, seconds: float, inline: bool) -> None:
        self.seconds = seconds
        self.inline = inline

    def spent(self) -> BaseException:
        return Overrun() if self.inline else TimeoutError()


_remaining: ContextVar[_Patience | None] = ContextVar("left_s", default=None)


@contextmanager
def patience(*, inline: bool = False) -> Iterator[None]:
    """Limit the total time of all matches inside the `with` block to PATIENCE_S seconds.

    If `inline` is true, the limit is INLINE_S, and a match beyond it raises Overrun.
    """
    token = _remaining.set(_Patience(INLINE_S if inline else PATIENCE_S, inline))
    try:
        yield
    finally:
        _remaining.reset(token)


def in_time(match: Callable[[float], T]) -> T:
    """Call `match` with its time limit in seconds and return the result.

    Raises TimeoutError, or Overrun on the event loop, when the time is over.
    """
    budget = _remaining.get()
    if budget is None:
        return match(TIMEOUT_S)
    if budget.seconds <= 0:
        raise budget.spent()
    begun = perf_counter()
    try:
        return match(min(TIMEOUT_S, budget.seconds))
    except TimeoutError:
        raise budget.spent() from None
    finally:
        budget.seconds -= perf_counter() - begun


def inline() -> bool:
    """Return whether the code runs inside `patience(inline=True)`, that is on the event loop."""
    budget = _remaining.get()
    return budget is not None and budget.inline


def time_left_s() -> float:
    """Return the time limit of the next match in seconds."""
    budget = _remaining.get()
    return TIMEOUT_S if budget is None else max(0.0, min(TIMEOUT_S, budget.seconds))


def demand_small(pattern: str) -> None:
    """Raise Overrun if a pattern is too large for the event loop."""
    if inline() and written_out(pattern) > INLINE_PATTERN_MAX:
        raise Overrun


# -- patterns that are large, or slow -----------------------------------------------------------


def written_out(pattern: str) -> int:
    """Return the length of a pattern with its counted repetitions written out.

    The module `regex` compiles a pattern of this length.
    """
    sizes, last = [0], 0
    for match in PIECE.finditer(pattern):
        piece = match[0]
        if piece == "(":
            sizes.append(0)
        elif piece == ")" and len(sizes) > 1:
            last = sizes.pop()
            sizes[-1] += last
        elif match[1] is not None:
            extra = last * (max(1, int(match[1][:9])) - 1)
            sizes[-1] += extra
            last += extra
        else:
            last = 1
            sizes[-1] += 1
    return sum(sizes)


@lru_cache(maxsize=256)
def timed(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the pattern compiled by `regex`, whose methods take a timeout. `flags` are flags of
    that module.

    Raises ValueError if it is invalid or too large, and Overrun if it is too large for the event
    loop. `regex` is imported on first use, because few patterns need it.
    """
    import regex

    demand_small(pattern)
    if written_out(pattern) > WRITTEN_OUT_MAX:
        raise ValueError(
            f"the pattern is too large: with its repetitions written out, it has more than "
            f"{WRITTEN_OUT_MAX} characters"
        )
    try:
        return regex.compile(pattern, flags | regex.VERSION0)
    except (regex.error, RecursionError, OverflowError) as problem:
        raise ValueError(str(problem)) from None
