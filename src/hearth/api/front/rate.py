"""How many requests a project may send: a bucket of tokens for each, filled at an even pace."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api import fault
from hearth.api.front.scope import state
from hearth.api.front.settings import Front, Rate

PROJECTS_MAX = 10_000  # the longest unused are forgotten, and begin with a full bucket


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Rates:
    """The buckets of this process. What they hold follows the settings in force."""

    def __init__(self, front: Front, clock: Callable[[], float] = time.monotonic) -> None:
        self._front = front
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait_s(self, project_id: str) -> float:
        """Takes a token; 0 if there was one, else the seconds until there is."""
        rate = self._front.settings.rate
        if rate.per_second <= 0:
            return 0.0
        now = self._clock()
        bucket = self._buckets.get(project_id)
        if bucket is None:
            bucket = self._buckets[project_id] = _Bucket(float(rate.burst), now)
            if len(self._buckets) > PROJECTS_MAX:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(project_id)
        return _taken(bucket, rate, now)


def _taken(bucket: _Bucket, rate: Rate, now: float) -> float:
    bucket.left = min(float(rate.burst), bucket.left + (now - bucket.at) * rate.per_second)
    bucket.at = now
    if bucket.left >= 1:
        bucket.left -= 1
        return 0.0
    return (1 - bucket.left) / rate.per_second


class RateLimited:
    """429 for a project that asks too often; those without a project, and open paths, pass."""

    def __init__(self, app: ASGIApp, rates: Rates) -> None:
        self._app = app
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = state(scope).get("caller") if scope["type"] == "http" else None
        if caller is not None and (wait_s := self._rates.wait_s(caller.project_id)) > 0:
            words = f"The project sends too many requests; wait for {wait_s:.1f} s."
            refusal = fault.answer("HTTPTooManyRequests", words, 429)
            refusal.headers["Retry-After"] = str(math.ceil(wait_s))
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
