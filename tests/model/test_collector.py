"""Parsers of hostile text do not collect garbage where no recursion is left for finalizers."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

from hearth.cloud.answers import BadAnswer, parsed
from hearth.model.json_text import decode_json, parse_json

DEEP = "[" * 100_000 + "]" * 100_000
PARSERS: dict[str, Callable[[], Any]] = {
    "an answer of the cloud": lambda: parsed(DEEP.encode(), "application/json"),
    "an answer with NUL": lambda: parsed(
        ('["\\u0000",' + "[" * 800 + "]" * 801).encode(), "application/json"
    ),
    "a parameter": lambda: decode_json(DEEP),
    "a property": lambda: parse_json(DEEP),
}


class Garbage:
    """An object whose finalizer needs some recursion, as those of the standard library do."""

    finalized = 0

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        self.descend(100)
        Garbage.finalized += 1

    def descend(self, levels: int) -> None:
        if levels:
            self.descend(levels - 1)


@pytest.mark.parametrize("name", PARSERS)
def test_no_finalizer_fails_in_a_deep_text(name: str) -> None:
    before = gc.get_threshold()
    gc.collect()
    garbage, seen = 10, Garbage.finalized
    for lists in range(100, 100 * (garbage + 1), 100):  # so many lists deep it is collected
        Garbage()
        gc.set_threshold(lists)
        try:
            PARSERS[name]()
        except (RecursionError, ValueError, BadAnswer):
            pass
        finally:
            gc.set_threshold(*before)
        gc.collect()
    assert Garbage.finalized == seen + garbage
