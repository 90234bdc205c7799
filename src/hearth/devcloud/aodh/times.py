"""The time constraints of alarms: periods whose start is a cron expression."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter

from hearth.devcloud.http import Body


def cron(line: Any) -> str:
    """Return a valid cron expression unchanged. Raises ValueError."""
    try:
        croniter.expand(str(line))
    except ValueError as problem:
        raise ValueError(f"{line!r} is not a cron expression: {problem}") from None
    return str(line)


def within(constraints: Sequence[Body], now: float) -> bool:
    """Return whether `now` is in a period of a constraint, or there are no constraints."""
    return not constraints or any(_lasts(one, now) for one in constraints)


def _lasts(constraint: Body, now: float) -> bool:
    zone = ZoneInfo(constraint["timezone"]) if constraint["timezone"] else UTC
    just_after = datetime.fromtimestamp(now + 1, zone)  # a span that begins now has begun
    try:
        begun: float = croniter(constraint["start"], just_after).get_prev(float)
    except CroniterBadDateError:  # a date that never comes
        return False
    return bool(now - begun <= constraint["duration"])
