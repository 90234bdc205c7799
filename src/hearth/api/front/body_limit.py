"""The limit for the size of request bodies, with or without a Content-Length header."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.front import Front
from hearth.api.front.scope import header
from hearth.model.problem import Rejected, RequestLimitExceeded, rejection


class BodyLimit:
    """Middleware that raises Rejected when a handler reads a body that is larger than the limit.

    `front` has the limit; if that is None, bodies are not limited here. A body with a
    Content-Length above the limit is refused before its first byte is read.
    """

    def __init__(self, app: ASGIApp, front: Front) -> None:
        self._app = app
        self._front = front

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self._front.settings.max_request_body_size
        if scope["type"] != "http" or limit is None:
            await self._app(scope, receive, send)
            return
        size = 0

        async def bounded() -> Message:
            nonlocal size
            declared = header(scope, b"content-length")
            if declared.isdecimal() and int(declared) > limit:
                raise _too_large(int(declared), limit)
            message = await receive()
            size += len(message.get("body", b""))
            if size > limit:
                raise _too_large(size, limit)
            return message

        await self._app(scope, bounded, send)


def _too_large(size: int, limit: int) -> Rejected:
    message = (
        f"Request limit exceeded: a body of {size} bytes exceeds the maximum of {limit} bytes."
    )
    return rejection(RequestLimitExceeded, message)
