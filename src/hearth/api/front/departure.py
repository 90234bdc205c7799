"""Cancel the work for a request if its client disconnects before the response."""

import asyncio
import contextlib

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.engine.programs.compute.compute import Gone, departed


class Departure:
    """Middleware that watches the connection once the body is read.

    When the client disconnects, the future in the context variable `departed` completes. Then code
    that waits for this future can stop with `Gone`, and no response is sent. Code that reads a body
    of which a part is missing stops so, too.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        departure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        watching: asyncio.Task[None] | None = None

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            if not departure.done():
                departure.set_result(None)

        async def watched() -> Message:
            nonlocal watching
            if watching is not None:  # the body is complete
                await departure
                return {"type": "http.disconnect"}
            message = await receive()
            if message["type"] == "http.disconnect":
                departure.set_result(None)
                raise Gone
            if not message.get("more_body"):
                watching = asyncio.create_task(watch())
            return message

        token = departed.set(departure)
        try:
            with contextlib.suppress(Gone):
                await self._app(scope, watched, send)
        finally:
            departed.reset(token)
            if watching is not None:
                watching.cancel()
