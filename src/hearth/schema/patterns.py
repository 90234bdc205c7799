"""Regular expressions that cannot take for ever.

Most patterns are matched as ever. One whose repetitions could get in each other's way, on which a
short text can cost years, is matched by an engine that gives up after a while.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import regex

TIMEOUT_S = 0.5
"""How long one match may take."""

TEXT_SHORT = 1000
"""Characters on which even several repetitions, none inside another, are quick."""

REPETITIONS = re.compile(r"[*+?{]")
SIMPLE = re.compile(r"(?:\[\^?\]?[^\]]*\]|\\.|[^\\()|*+?{\[])(?:[*+?]|\{\d*(?:,\d*)?\})?")


class TooSlow(ValueError):
    """A match was given up."""


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
    if not repetitions or (harmless(pattern) and (repetitions == 1 or len(text) <= TEXT_SHORT)):
        found = compiled(pattern).match(text)
    else:
        found = _patient(pattern, text)
    return found is not None and found.end() == len(text)


def _patient(pattern: str, text: str) -> Any:
    try:
        return timed(pattern).match(text, timeout=TIMEOUT_S)
    except TimeoutError:
        raise TooSlow(f"the pattern needs more than {TIMEOUT_S} s") from None


@lru_cache(maxsize=256)
def timed(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """A pattern whose methods take a timeout. Raises ValueError on a bad one.

    The engine is loaded on first use, for few patterns need it.
    """
    import regex

    try:
        return regex.compile(pattern, flags | regex.VERSION0)
    except (regex.error, RecursionError, OverflowError) as problem:
        raise ValueError(str(problem)) from None
