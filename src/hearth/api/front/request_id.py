"""Request ids: each request gets one. A client can also send a global request id, which is
logged.
"""

import re
import uuid

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.scope import state

NAME = "x-openstack-request-id"
OURS = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class RequestId:
    """Middleware that sets `request_id` and `global_request_id` in the state of each request.

    The client sends the latter, `req-` followed by a UUID; other values are ignored.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        mark = assigned(scope)

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), mark]
            await send(message)

        await self._app(scope, receive, marked)


def assigned(scope: Scope) -> tuple[bytes, bytes]:
    """Assign a request id to a request, and return the header for its response."""
    sent = Headers(scope=scope).get(NAME, "")
    mine = f"req-{uuid.uuid4()}"
    state(scope)["request_id"] = mine
    state(scope)["global_request_id"] = sent if OURS.fullmatch(sent) else None
    return NAME.encode(), mine.encode()
