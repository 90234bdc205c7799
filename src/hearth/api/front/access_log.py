"""The access log: one line for each request, written after its response, without secrets.

Of the query only the action of the CloudFormation-style API is logged, because other parameters may
contain signatures, templates and passwords.
"""

import logging
import re
import time
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.scope import peer, state

log = logging.getLogger("hearth.access")

ACTION = re.compile(rb"(?:^|&)(Action=[A-Za-z]{1,64})(?:&|$)")
PATH_MAX = 1000


class AccessLog:
    """Middleware that logs each request at INFO.

    The line contains client, method, path, status, bytes, time, request ids and project.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not log.isEnabledFor(logging.INFO):
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
            write(scope, status, size, began)


def write(scope: Scope, status: int, size: int, began: float) -> None:
    """Log a request with the status and the size in bytes of its response.

    `began` is the time at which the request arrived, by `time.perf_counter`.
    """
    if log.isEnabledFor(logging.INFO):
        taken_ms = 1000 * (time.perf_counter() - began)
        log.info(
            "%s %s %s %d %d bytes %.1f ms %s",
            peer(scope) or "-", scope["method"], _path(scope), status, size, taken_ms, _who(scope),
        )  # fmt: skip


def _path(scope: Scope) -> str:
    path = quote(scope["path"], safe="/:@!$'()*,;=~+")[:PATH_MAX]
    action = ACTION.search(scope.get("query_string", b""))
    return f"{path}?{action[1].decode()}" if action else path


def _who(scope: Scope) -> str:
    noted = state(scope)
    caller = noted.get("caller")
    words = [noted.get("request_id", "-")]
    if noted.get("global_request_id"):
        words.append(f"for {noted['global_request_id']}")
    words.append(f"project {getattr(caller, 'project_id', '') or '-'}")
    return " ".join(words)
