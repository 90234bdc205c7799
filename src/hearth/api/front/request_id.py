"""Request ids: each answer contains one; the client's own id is recorded, too."""

import re
import uuid

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.scope import state

NAME = "x-openstack-request-id"
OURS = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class RequestId:
    """Sets `request_id` in the state of each request, and `global_request_id` if the client sent
    one: `req-` and a UUID; other values are ignored."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = Headers(scope=scope).get(NAME, "")
        mine = f"req-{uuid.uuid4()}"
        state(scope)["request_id"] = mine
        state(scope)["global_request_id"] = sent if OURS.fullmatch(sent) else None

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                mark = (NAME.encode(), mine.encode())
                message["headers"] = [*message.get("headers", ()), mark]
            await send(message)

        await self._app(scope, receive, marked)
