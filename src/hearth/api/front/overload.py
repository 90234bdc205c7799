"""The limit for the number of requests that a process handles at the same time."""

from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api import fault
from hearth.api.front.front import Front

WORDS = "This process already handles {} requests, the maximum; try again soon."


class Overload:
    """Middleware that responds with 503 and Retry-After if too many requests are in progress.

    `front` has the limit. A refused request has changed nothing. A client or proxy can send it
    again, also to another process.
    """

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._front.settings.requests_at_once
        if 0 < limit <= self._in_progress:
            refusal = fault.answer("HTTPServiceUnavailable", WORDS.format(limit), 503)
            await fault.repeatable(refusal)(scope, receive, send)
            return
        self._in_progress += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_progress -= 1
