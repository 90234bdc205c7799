"""The access log and the metrics of requests: each request is logged and reported after its
response.

A log line contains no secrets. Of the query it contains only the name of an action, because other
parameters may contain signatures, templates and passwords.
"""

import logging
import re
import time
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.scope import logged_path, peer, state
from hearth.telemetry.about import about
from hearth.telemetry.observer import Observer

log = logging.getLogger("hearth.access")

ACTION = re.compile(rb"(?:^|&)(Action=[A-Za-z]{1,64})(?:&|$)")
PATH_MAX = 1000
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none", "none"


class AccessLog:
    """Logs each request at INFO: client, method, path, status, bytes, time, request ids, project.
    The observer gets the route, the method, the status and the time of the request.
    """

    def __init__(self, app: ASGIApp, observer: Observer) -> None:
        self._app = app
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, size, began = 500, 0, time.perf_counter()

        async def counted(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, counted)
        finally:
            write(scope, status, size, began, self._observer)


def write(scope: Scope, status: int, size: int, began: float, observer: Observer) -> None:
    """Log a request and report it to the observer, after its response.

    `size` is the size of the response in bytes. `began` is the time of the performance counter at
    which the request arrived.
    """
    taken_s = time.perf_counter() - began
    api, route = state(scope).get("route", NO_ROUTE)
    method = scope["method"] if scope["method"] in METHODS else "OTHER"
    observer.request_ended(api, route, method, status, taken_s)
    if observer.spans is not None:
        subject, now = about(), time.time()
        attributes = {
            "http.response.status_code": status,
            "http.request.method": method,
            "http.route": route,
            "hearth.request_id": subject.request_id,
        }
        observer.span(
            f"{method} {route}",
            subject.trace,
            now - taken_s,
            now,
            attributes,
            kind="server",
            failed=status >= 500,
        )
    if log.isEnabledFor(logging.INFO):
        taken_ms = 1000 * taken_s
        log.info(
            "%s %s %s %d %d bytes %.1f ms %s",
            peer(scope) or "-",
            scope["method"],
            _path(scope),
            status,
            size,
            taken_ms,
            _who(scope),
        )


def _path(scope: Scope) -> str:
    path = quote(logged_path(scope), safe="/:@!$'()*,;=~+")[:PATH_MAX]
    action = ACTION.search(scope.get("query_string", b""))
    return f"{path}?{action[1].decode()}" if action else path


def _who(scope: Scope) -> str:
    request_state = state(scope)
    caller = request_state.get("caller")
    parts = [request_state.get("request_id", "-")]
    if request_state.get("global_request_id"):
        parts.append(f"for {request_state['global_request_id']}")
    parts.append(f"project {getattr(caller, 'project_id', '') or '-'}")
    return " ".join(parts)
