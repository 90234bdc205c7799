"""Paths of requests: those that no route accepts, and different forms of the same path.

A path may be with or without the version, and with or without a final slash.
"""

from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.clusters import fault
from hearth.api.front.scope import below

VERSION = "/v1"


def normal(path: str) -> str:
    """Return the normal form of a path: it begins with the version and has no final slash."""
    if path in ("", "/"):
        return "/"
    shorter = path[:-1] if path.endswith("/") else path
    first = shorter[1:].partition("/")[0]
    return shorter if first == VERSION[1:] else VERSION + shorter


class Paths:
    """Middleware that replaces the path of every request by its normal form, without a redirect.

    A URL with a null character is refused here, before any route: databases store no such text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = below(scope)
            if "\0" in path or b"%00" in scope["query_string"]:
                message = "The URL contains a null character. Remove the null character."
                await fault.answer(400, message)(scope, receive, send)
                return
            if (usual := normal(path)) != path:
                root = scope.get("root_path", "")
                scope = {**scope, "path": root + usual, "raw_path": quote(root + usual).encode()}
        await self._app(scope, receive, send)
