"""What `make test` runs a part of each day: the same cases come again after a few days.

`HEARTH_DAY=2026-11-23 make test` repeats the parts of a day, `HEARTH_DAY=all` runs everything.
"""

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
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


def is_due(item: pytest.Item) -> bool:
    """Return whether a test runs today."""
    found = item.get_closest_marker("each")
    if found is None or DAY == ALL:
        return True
    days, turn = found.args
    return bool(date.fromisoformat(DAY).toordinal() % days == turn)
