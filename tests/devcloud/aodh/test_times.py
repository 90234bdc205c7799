"""When the time constraints of an alarm hold: durations, time zones, daylight saving."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hearth_devcloud.aodh.times import within

BERLIN = "Europe/Berlin"  # 2026: from 2:00 to 3:00 on 29 March, from 3:00 to 2:00 on 25 October


def holds(start: str, now: str, *, duration: int = 600, timezone: str = "") -> bool:
    """Return whether one constraint holds at a time in UTC."""
    constraint = {"name": "t", "start": start, "duration": duration, "timezone": timezone}
    return within([constraint], datetime.fromisoformat(now).replace(tzinfo=UTC).timestamp())


def test_without_constraints_it_is_always_time() -> None:
    assert within([], 0.0)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-07-01T21:59:59", False),
        ("2026-07-01T22:00:00", True),
        ("2026-07-01T22:10:00", True),
        ("2026-07-01T22:10:01", False),
    ],
)
def test_a_span_begins_on_the_minute_and_lasts_for_its_duration(now: str, expected: bool) -> None:
    assert holds("0 22 * * *", now) is expected


def test_a_long_span_lasts_until_the_next_begins() -> None:
    assert holds("0 0 1 * *", "2026-02-28T23:59:59", duration=31 * 24 * 3600)
    assert not holds("0 0 1 1 *", "2026-03-01T00:00:00", duration=31 * 24 * 3600)


def test_the_start_is_in_the_time_zone_of_the_constraint() -> None:
    assert holds("0 22 * * *", "2026-07-01T20:05:00", timezone=BERLIN)  # UTC+2
    assert holds("0 22 * * *", "2026-01-01T21:05:00", timezone=BERLIN)  # UTC+1
    assert not holds("0 22 * * *", "2026-07-01T22:05:00", timezone=BERLIN)
    assert holds("0 22 * * *", "2026-07-01T16:35:00", timezone="Asia/Kolkata")  # UTC+5:30


def test_a_start_in_the_hour_that_is_left_out_begins_after_it() -> None:
    assert not holds("30 2 * * *", "2026-03-29T00:59:59", timezone=BERLIN)  # 1:59:59
    assert holds("30 2 * * *", "2026-03-29T01:05:00", timezone=BERLIN)  # 3:05
    assert not holds("30 2 * * *", "2026-03-29T02:30:00", timezone=BERLIN)  # 4:30


def test_a_start_in_the_hour_that_comes_twice_begins_twice() -> None:
    for now in ("2026-10-25T00:35:00", "2026-10-25T01:35:00"):  # 2:35 in summer, 2:35 in winter
        assert holds("30 2 * * *", now, timezone=BERLIN)
    assert not holds("30 2 * * *", "2026-10-25T00:45:00", timezone=BERLIN)
    assert not holds("30 2 * * *", "2026-10-25T01:25:00", timezone=BERLIN)


def test_a_span_over_the_change_has_its_length_in_seconds() -> None:
    hours = {"duration": 3 * 3600, "timezone": BERLIN}
    assert holds("0 1 * * *", "2026-03-29T03:00:00", **hours)  # 1:00 to 5:00 on the clock
    assert not holds("0 1 * * *", "2026-03-29T03:00:01", **hours)
    assert holds("0 1 * * *", "2026-10-25T02:00:00", **hours)  # 1:00 to 3:00 on the clock
    assert not holds("0 1 * * *", "2026-10-25T02:00:01", **hours)


def test_either_of_two_kinds_of_days_is_enough() -> None:
    assert holds("0 0 1 * 1", "2026-07-01T00:05:00")  # a Wednesday
    assert holds("0 0 1 * 1", "2026-07-06T00:05:00")  # a Monday
    assert not holds("0 0 1 * 1", "2026-07-07T00:05:00")


def test_a_date_that_never_comes_never_holds() -> None:
    assert not holds("0 0 30 2 *", "2026-03-02T00:00:00", duration=10**9)
