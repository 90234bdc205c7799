"""The time constraints of alarms: periods that start at the times of a cron expression."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from croniter import CroniterBadDateError, croniter

from hearth_devcloud.http import Body


def cron(line: Any) -> str:
    """Check a cron expression and return it. Raises ValueError."""
    try:
        croniter.expand(str(line))
    except ValueError as problem:
        raise ValueError(f"{line!r} is not a cron expression: {problem}") from None
    return str(line)


def within(constraints: Sequence[Body], now: float) -> bool:
    """Return whether a time (in seconds since 1970) is in a period of at least one constraint.

    Return True if there are no constraints.
    """
    return not constraints or any(_lasts(constraint, now) for constraint in constraints)


def _lasts(constraint: Body, now: float) -> bool:
    zone = ZoneInfo(constraint["timezone"]) if constraint["timezone"] else UTC
    just_after = datetime.fromtimestamp(now + 1, zone)  # includes a period that starts now
    try:
        begun: float = croniter(constraint["start"], just_after).get_prev(float)
    except CroniterBadDateError:  # no such date exists
        return False
    return bool(now - begun <= constraint["duration"])
