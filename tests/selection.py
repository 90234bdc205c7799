"""Which cases a run has: `make test` the first of the longest ones, `make test-rest` the others.

`HEARTH_SUITE=all make test` runs both. A run has the same cases on each day and on each machine.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

FIRST, REST, ALL = "first", "rest", "all"
SUITE = os.environ.setdefault("HEARTH_SUITE", FIRST)
if SUITE not in (FIRST, REST, ALL):
    raise pytest.UsageError(f"HEARTH_SUITE is {FIRST}, {REST} or {ALL}, not {SUITE!r}")

in_rest = pytest.mark.in_rest
"""Mark a test that `make test-rest` runs."""

one_first = pytest.mark.one_first
"""Mark a file of which `make test` runs one slow test, and `make test-rest` the other slow ones."""


def part_of(cases: Sequence[T], parts: int) -> list[T]:
    """Return every `parts`-th of the cases, from the first; in `make test-rest`, the others.

    `make test-rest` runs those files again that name this function.
    """
    if SUITE == ALL:
        return list(cases)
    return [case for n, case in enumerate(cases) if (n % parts == 0) == (SUITE == FIRST)]


def left_out(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that do not belong to this run."""
    if SUITE == ALL:
        return []
    first = {id(item) for item in items if not _waits(item)} | _one_of_each_file(items)
    if SUITE == FIRST:
        return [item for item in items if id(item) not in first]
    return [item for item in items if id(item) in first and not _in_parts(item)]


def _waits(item: pytest.Item) -> bool:
    """Return whether `make test` does not run a test, unless it is the one of its file."""
    if item.get_closest_marker("in_rest"):
        return True
    return _one_first(item)


def _one_first(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("one_first") and item.get_closest_marker("slow"))


def _one_of_each_file(items: Sequence[pytest.Item]) -> set[int]:
    """Return the first slow tests of files that are marked with `one_first`, by their id()."""
    found: dict[Path, int] = {}
    for item in items:
        if _one_first(item) and not item.get_closest_marker("in_rest"):
            found.setdefault(item.path, id(item))
    return set(found.values())


def _in_parts(item: pytest.Item) -> bool:
    """Return whether the file of a test has other cases in each run."""
    if _one_first(item):
        return False
    return any(value is part_of for value in vars(getattr(item, "module", None) or object).values())
