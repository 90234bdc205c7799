"""An ASGI application: middleware, routes, and handlers of errors around both.

Starlette's own class passes each request through four layers with closures of their own, which took
half of the time of a small request.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import Message, Receive, Scope, Send

ErrorHandler = Callable[[Request, Exception], Awaitable[Response]]


class Application:
    """An ASGI application. The first route that matches a request responds, and a route that
    matches only its path if there is no other.

    `error_handlers` respond to errors, by class; one of them is for `Exception`. `state` has what
    handlers of requests need.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        error_handlers: Mapping[type[Exception], ErrorHandler],
        middleware: Sequence[Middleware] = (),
    ) -> None:
        self.routes = list(routes)
        self.state = State()
        self._error_handlers = error_handlers
        self._app: Any = self._answered if middleware else self._routed
        for cls, args, kwargs in reversed(middleware):
            self._app = cls(self._app, *args, **kwargs)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to a request. Raises an error only if a response has begun and cannot end."""
        scope["app"] = self
        progress = _progress(send)
        try:
            await self._app(scope, receive, progress)
        except Exception as problem:
            handler = self._handler(Exception() if progress.begun else problem)
            response = await handler(Request(scope, receive), problem)
            if not progress.begun:
                await response(scope, receive, progress)
            elif not progress.ended:
                raise

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond behind the middleware, which so sees the responses to errors of handlers, too."""
        progress = _progress(send)
        try:
            await self._routed(scope, receive, progress)
        except Exception as problem:
            if progress.begun:
                raise
            response = await self._handler(problem)(Request(scope, receive), problem)
            await response(scope, receive, progress)

    def _handler(self, problem: Exception) -> ErrorHandler:
        for cls in type(problem).__mro__:
            if cls in self._error_handlers:
                return self._error_handlers[cls]
        raise problem

    async def _routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        partial: tuple[BaseRoute, Scope] | None = None
        for route in self.routes:
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope.update(child_scope)
                await route.handle(scope, receive, send)
                return
            if match is Match.PARTIAL and partial is None:
                partial = route, child_scope
        if partial is None:
            raise HTTPException(404)
        scope.update(partial[1])
        await partial[0].handle(scope, receive, send)


class _Progress:
    """Sends the messages of a response, and notes whether it has begun and ended."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = self.ended = False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        await self._send(message)
        self.ended = message["type"] == "http.response.body" and not message.get("more_body")


def _progress(send: Send) -> _Progress:
    """Return the progress of the response that is sent with `send`; layers share it if they can."""
    return send if isinstance(send, _Progress) else _Progress(send)
