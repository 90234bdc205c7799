"""Requests whose answers are known, answered without the application.

Thousands of servers poll for their metadata, each on a connection of its own. The framework would
cost most of such a request. What the middleware does for it is done here: the request id, the
headers of proxies, the line in the access log.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

from hearth.api.front import access_log, request_id
from hearth.api.front.proxies import as_sent
from hearth.api.front.scope import state
from hearth.api.front.settings import Front

Header = tuple[bytes, bytes]
POLL = "poll", "known answer"  # the route in metrics


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """The body of an answer with status 200, and its content type."""

    body: bytes
    kind: bytes


Find = Callable[[Scope], Awaitable[KnownAnswer | None] | None]
"""Finds the known answer to a request. Returns None at once if the request can have none."""


class Shortcut:
    """Finds known answers for a connection, with the headers that the middleware adds."""

    def __init__(self, find: Find, front: Front) -> None:
        self._find = find
        self._front = front

    def __call__(self, scope: Scope) -> Awaitable[tuple[list[Header], bytes] | None] | None:
        """Return the headers and the body of the answer to a GET request; None if the application
        must answer it.
        """
        cross_origin = bool(self._front.settings.cors.origins)
        if cross_origin and "origin" in Headers(scope=scope):
            return None
        began, sent = time.perf_counter(), as_sent(scope, self._front)
        finding = self._find(sent)
        return None if finding is None else self._answered(sent, finding, began, cross_origin)

    async def _answered(
        self,
        scope: Scope,
        finding: Awaitable[KnownAnswer | None],
        began: float,
        cross_origin: bool,
    ) -> tuple[list[Header], bytes] | None:
        answer = await finding
        if answer is None:
            return None
        headers = [
            (b"content-length", str(len(answer.body)).encode()),
            (b"content-type", answer.kind),
            request_id.assigned(scope),
        ]
        if cross_origin:
            headers.append((b"vary", b"Origin"))
        state(scope)["route"] = POLL
        access_log.write(scope, 200, len(answer.body), began, self._front.observer)
        return headers, answer.body
