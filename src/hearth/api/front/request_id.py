"""Request ids: each request gets one. A client can also send a global request id, which is
logged.
"""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.api.front.scope import header, state
from hearth.telemetry.about import About, new_trace, trace_of, working_on
from hearth.telemetry.ids import new_id
from hearth.telemetry.observer import UNOBSERVED, Observer

NAME = b"x-openstack-request-id"
OURS = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class RequestId:
    """Middleware that sets `request_id` and `global_request_id` in the state of each request.

    `global_request_id` comes from the client: `req-` and a UUID; it is None for any other value.
    The request continues the trace in its header `traceparent`, or begins a new one.
    """

    def __init__(self, app: ASGIApp, observer: Observer = UNOBSERVED) -> None:
        self._app = app
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        mark = assigned(scope)
        parent = trace_of(header(scope, b"traceparent"))
        trace = new_trace(self._observer.share) if parent is None else parent.child()
        state(scope)["traceparent"] = trace.header
        working_on(About(request_id=state(scope)["request_id"], trace=trace))

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), mark]
            await send(message)

        await self._app(scope, receive, marked)


def assigned(scope: Scope) -> tuple[bytes, bytes]:
    """Assign a request id to a request, and return the header for its response."""
    global_id = header(scope, NAME)
    request_id = f"req-{new_id()}"
    state(scope)["request_id"] = request_id
    state(scope)["global_request_id"] = global_id if OURS.fullmatch(global_id) else None
    return NAME, request_id.encode()
