"""When the pattern of a cron trigger matches: in UTC, whatever the clocks around do."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from hearth_devcloud.mistral.cron import next_time


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("pattern", "at", "expected"),
    [
        ("* * * * *", "2026-07-01T12:00:00", "2026-07-01T12:01:00"),
        ("*/5 8 * * 1-5", "2026-07-03T08:55:00", "2026-07-06T08:00:00"),
        ("0 0 1 * 1", "2026-07-01T00:00:00", "2026-07-06T00:00:00"),
        ("0 0 * * 7", "2026-07-01T00:00:00", "2026-07-05T00:00:00"),
        ("0 0 29 2 *", "2026-07-01T00:00:00", "2028-02-29T00:00:00"),
        # clocks in Europe change at 1:00 UTC, those in New York at 7:00 and 6:00
        ("30 1 * * *", "2026-03-28T12:00:00", "2026-03-29T01:30:00"),
        ("30 1 * * *", "2026-03-29T01:30:00", "2026-03-30T01:30:00"),
        ("30 0 * * *", "2026-10-25T00:30:00", "2026-10-26T00:30:00"),
        ("0 * * * *", "2026-10-25T00:59:00", "2026-10-25T01:00:00"),
        ("30 6 * * *", "2026-11-01T06:30:00", "2026-11-02T06:30:00"),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/New_York"])
def test_the_next_time_of_a_pattern(
    pattern: str, at: str, expected: str, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert next_time(pattern, seconds(at)) == seconds(expected)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("pattern", ["", "soon", "* * * *", "61 * * * *", "*/0 * * * *"])
def test_what_is_no_pattern_is_an_error(pattern: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        next_time(pattern, 0.0)


def test_a_pattern_that_matches_no_time_is_an_error() -> None:
    with pytest.raises(ValueError, match="find"):
        next_time("0 0 30 2 *", 0.0)
    with pytest.raises(ValueError, match="find"):
        next_time("0 0 1 1 * 0 2020", seconds("2026-01-01T00:00:00"))
