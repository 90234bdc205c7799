"""Rate limits: a token bucket for each project, and for each stack domain user."""

import math
import time
from collections.abc import Callable

from msgspec import Struct
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api import fault
from hearth.api.front.front import Front
from hearth.api.front.scope import state
from hearth.model.cache import Cache
from hearth.service.caller import Caller

PROJECTS_MAX = 10_000  # the least recently used are dropped, and begin with a full bucket


class _TokenBucket(Struct):
    tokens: float
    at: float


class Rates:
    """The token buckets of this process. Their size and rate follow the current settings in
    `front`.

    `clock` returns a time in seconds.
    """

    def __init__(self, front: Front, clock: Callable[[], float] = time.monotonic) -> None:
        self._front = front
        self._clock = clock
        self._buckets = Cache[str, _TokenBucket](PROJECTS_MAX)

    def wait_s(self, caller: Caller) -> float:
        """Take a token from the bucket of the caller's project.

        For a stack domain user, also take one from the bucket of the user. Return 0 on success,
        otherwise the seconds until a token is available.
        """
        settings = self._front.settings
        project, user = caller.project_id or f"user {caller.user_id}", f"user {caller.user_id}"
        wait_s = self._wait_s(project, settings.requests_per_second, settings.requests_burst)
        if not wait_s and caller.guest:
            per_second, burst = settings.guest_requests_per_second, settings.guest_requests_burst
            wait_s = self._wait_s(user, per_second, burst)
        return wait_s

    def _wait_s(self, whose: str, per_second: float, burst: int) -> float:
        if per_second <= 0:
            return 0.0
        now = self._clock()
        bucket = self._buckets.get(whose)
        if bucket is None:
            bucket = _TokenBucket(float(burst), now)
            self._buckets.keep(whose, bucket)
        return _taken(bucket, per_second, burst, now)


def _taken(bucket: _TokenBucket, per_second: float, burst: int, now: float) -> float:
    """Take a token and return 0, or return the seconds until `bucket` has one."""
    bucket.tokens = min(float(burst), bucket.tokens + (now - bucket.at) * per_second)
    bucket.at = now
    if bucket.tokens >= 1:
        bucket.tokens -= 1
        return 0.0
    return (1 - bucket.tokens) / per_second


def _refusal(message: str) -> Response:
    return fault.answer("HTTPTooManyRequests", message, 429)


class RateLimited:
    """Middleware that responds with 429 if a project or a stack domain user exceeds its rate.

    `rates` has their token buckets. Requests without a caller, such as those to open paths, are not
    limited. A caller without a project has a limit of its own. `refusal` returns the response
    with a given text.
    """

    def __init__(
        self, app: ASGIApp, rates: Rates, refusal: Callable[[str], Response] = _refusal
    ) -> None:
        self._app = app
        self._rates = rates
        self._refusal = refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = state(scope).get("caller") if scope["type"] == "http" else None
        if caller is not None and (wait_s := self._rates.wait_s(caller)) > 0:
            sender = "user of a stack" if caller.guest else "project"
            message = f"The {sender} sends too many requests; wait for {wait_s:.1f} s."
            refusal = self._refusal(message)
            refusal.headers["Retry-After"] = str(math.ceil(wait_s))
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
