"""What `make test` runs a part of each day: the same cases come again after a few days.

`HEARTH_DAY=2026-11-23 make test` repeats the parts of a day, `HEARTH_DAY=all` runs everything.
"""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

ALL = "all"
DAY = os.environ.setdefault("HEARTH_DAY", datetime.now(UTC).date().isoformat())
"""Also for the processes of this run, which may begin after midnight."""


def part_of(cases: Sequence[T], parts: int, *, days: int = 1) -> list[T]:
    """Return every `parts`-th of the cases: those of the day. Raises ValueError for a day that is
    none.

    A part comes on as many `days` one after the other, as many as it has parts itself.
    """
    if DAY == ALL:
        return list(cases)
    return list(cases)[date.fromisoformat(DAY).toordinal() // days % parts :: parts]


def each(days: int, turn: int) -> pytest.MarkDecorator:
    """Mark a test that runs each `days` days, on the day number `turn` of them."""
    return pytest.mark.each(days, turn)


def in_turn(days: int) -> pytest.MarkDecorator:
    """Mark a file whose slow tests take turns: each runs each `days` days, and each day has some.

    Its other tests run each day.
    """
    return pytest.mark.in_turn(days)


def not_due(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that do not run today."""
    if DAY == ALL:
        return []
    today = date.fromisoformat(DAY).toordinal()
    seen: Counter[Path] = Counter()  # the slow tests of files in which they take turns
    found = []
    for item in items:
        days = turn = 0
        if (each := item.get_closest_marker("each")) is not None:
            days, turn = each.args
        elif (mark := item.get_closest_marker("in_turn")) and item.get_closest_marker("slow"):
            (days,), turn = mark.args, seen[item.path]
            seen[item.path] += 1
        if days and (today - turn) % days:
            found.append(item)
    return found
