"""When alarms are looked after: spans of time that begin by a cron line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hearth.devcloud.http import Body

SPAN_MAX_S = 31 * 24 * 3600  # longer ones always last
_BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_PART = re.compile(r"(?:\*|(\d+)(?:-(\d+))?)(?:/(\d+))?")


def cron(line: Any) -> list[set[int]]:
    """The minutes, hours, days, months and weekdays that a cron line means; raises ValueError."""
    fields = line.split() if isinstance(line, str) else []
    if len(fields) not in (5, 6):  # a sixth one would be of seconds
        raise ValueError(f"{line!r} is not a cron expression")
    return [_values(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=False)]


def _values(field: str, low: int, high: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise ValueError(f"{field!r} is not part of a cron expression")
        first, last, step = match.groups()
        begin = int(first) if first else low
        end = int(last) if last else high if first is None or step else begin
        if not low <= begin <= end <= high or step == "0":
            raise ValueError(f"{field!r} is outside [{low}, {high}]")
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def within(constraints: Sequence[Body], now: float) -> bool:
    """Whether it is time by one of the constraints; always where there are none."""
    return not constraints or any(_lasts(one, now) for one in constraints)


def _lasts(constraint: Body, now: float) -> bool:
    if constraint["duration"] >= SPAN_MAX_S:
        return True
    zone = ZoneInfo(constraint["timezone"]) if constraint["timezone"] else UTC
    minutes, hours, days, months, weekdays = cron(constraint["start"])
    weekdays = {day % 7 for day in weekdays}
    moment = datetime.fromtimestamp(now, zone).replace(second=0, microsecond=0)
    for _ in range(constraint["duration"] // 60 + 1):
        if (
            moment.minute in minutes
            and moment.hour in hours
            and moment.month in months
            and moment.day in days
            and moment.isoweekday() % 7 in weekdays
            and now - moment.timestamp() <= constraint["duration"]
        ):
            return True
        moment -= timedelta(minutes=1)
    return False
