"""Parse JSON from outside Hearth."""

import json
import re
from collections.abc import Mapping
from typing import Any

from hearth.model.collector import collector_paused

NESTING_MAX = 100
"""The maximum depth of a value that does not come from a template. The limit is needed because
functions that process values are recursive.
"""

HALF = re.compile(r"\\u[dD][89a-fA-F]")
"""Matches the escape of half a surrogate pair, which is a character only with its other half."""


def too_deep(value: Any) -> bool:
    """Return whether lists and maps in a value are nested too deeply. This does not recurse."""
    level = [value]
    for _ in range(NESTING_MAX):
        level = [
            inner
            for outer in level
            if isinstance(outer, Mapping | list | tuple)
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
        if not level:
            return False
    return True


def decode_json(text: str) -> Any:
    """Return the value of a JSON text from a user. Raises ValueError and RecursionError.

    Half a surrogate pair is refused, because no text with one can be stored or sent.
    """
    with collector_paused():
        value = json.loads(text)
    if HALF.search(text):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text. Raises ValueError, also if it is nested too deeply.

    Python raises RecursionError for some of the latter, which a handler of ValueError does not
    expect.
    """
    try:
        with collector_paused():
            value = json.loads(text)
    except RecursionError:
        value = None
    else:
        if not too_deep(value):
            return value
    raise ValueError("the JSON is nested too deeply")
