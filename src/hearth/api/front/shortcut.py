"""Respond to requests whose response is cached, without calling the application.

Thousands of servers poll for their metadata, each on its own connection. The web framework would
cause most of the cost of such a request. The necessary parts of the middleware are repeated here:
the request id, the headers of proxies, and the line in the access log.
"""

import logging
import time
from collections.abc import Awaitable, Callable

from msgspec import Struct
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.front import access_log, request_id
from hearth.api.front.front import Front
from hearth.api.front.proxies import as_sent
from hearth.api.front.scope import state

log = logging.getLogger(__name__)

Header = tuple[bytes, bytes]
POLL = "poll", "known answer"  # the route in metrics


class KnownAnswer(Struct, frozen=True):
    """A cached response with status 200: its body, its content type, and its route in metrics."""

    body: bytes
    kind: bytes
    route: tuple[str, str] = POLL


Find = Callable[[Scope], Awaitable[KnownAnswer | None] | None]
"""A function that looks for the cached response to a request. It returns None at once if the
request cannot have one; otherwise it returns an awaitable for the response or None.
"""


class Answering:
    """Middleware that sends the cached responses that a shortcut finds.

    With traces, every request passes the application, which makes the spans.
    """

    def __init__(self, app: ASGIApp, shortcut: "Shortcut", front: Front) -> None:
        self._app = app
        self._shortcut = shortcut
        self._traced = front.observer.spans is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._traced and scope["type"] == "http" and scope["method"] == "GET":
            finding = self._shortcut(scope)
            response = None if finding is None else await finding
            if response is not None:
                headers, body = response
                start = {"type": "http.response.start", "status": 200, "headers": headers}
                await send(start)
                await send({"type": "http.response.body", "body": body})
                return
        await self._app(scope, receive, send)


class Shortcut:
    """Finds cached responses, and adds the headers that the middleware would add.

    `find` looks for a response, and `front` has the settings of the middleware.
    """

    def __init__(self, find: Find, front: Front) -> None:
        self._find = find
        self._front = front

    def __call__(self, scope: Scope) -> Awaitable[tuple[list[Header], bytes] | None] | None:
        """Return an awaitable for the headers and the body of the response to a GET request.

        If there is no cached response, or if it cannot be read, the awaitable has the result None,
        or this returns None at once. Then the application must respond.
        """
        cross_origin = bool(self._front.settings.cors.allowed_origin)
        if cross_origin and "origin" in Headers(scope=scope):
            return None
        began, client_scope = time.perf_counter(), as_sent(scope, self._front)
        finding = self._find(client_scope)
        return (
            None if finding is None else self._answered(client_scope, finding, began, cross_origin)
        )

    async def _answered(
        self,
        scope: Scope,
        finding: Awaitable[KnownAnswer | None],
        began: float,
        cross_origin: bool,
    ) -> tuple[list[Header], bytes] | None:
        try:
            answer = await finding
        except Exception:
            log.exception("a cached response could not be read")
            return None
        if answer is None:
            return None
        headers = [
            (b"content-length", str(len(answer.body)).encode()),
            (b"content-type", answer.kind),
            request_id.assigned(scope),
        ]
        if cross_origin:
            headers.append((b"vary", b"Origin"))
        state(scope)["route"] = answer.route
        access_log.write(scope, 200, len(answer.body), began, self._front.observer)
        return headers, answer.body
