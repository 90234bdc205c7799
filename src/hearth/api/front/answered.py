"""Keep the connection open if an error occurs after the whole response was sent."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Answered:
    """Middleware that drops an exception if the whole response was already sent.

    The exception is already logged; if it were raised, the server would close the connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        complete = False

        async def noted(message: Message) -> None:
            nonlocal complete
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                complete = True

        try:
            await self._app(scope, receive, noted)
        except Exception:
            if not complete:
                raise
