"""Constraints that need no cloud."""

from datetime import UTC, datetime, timedelta

import pytest

from hearth.schema.named import expiration

HOUR = timedelta(hours=1)


def test_a_time_that_has_passed_is_no_expiration() -> None:
    now = datetime.now(UTC)
    for passed in (now - HOUR, now):
        for text in (passed.isoformat(), passed.replace(tzinfo=None).isoformat()):
            assert expiration(text) == f'"{text}" is in the past'


def test_a_time_in_the_future_is_an_expiration() -> None:
    later = datetime.now(UTC) + HOUR
    east = later.astimezone(datetime.fromisoformat("2020-01-01T00:00:00+09:00").tzinfo)
    for time in (later, later.replace(tzinfo=None), east):
        assert expiration(time.isoformat()) is None


@pytest.mark.parametrize("value", ["soon", 7, None])
def test_what_is_no_time_is_no_expiration(value: object) -> None:
    assert expiration(value) == f'"{value}" is not an ISO 8601 time'
