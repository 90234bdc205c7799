"""Different forms of the same path: with or without the version, with or without a final slash."""

from urllib.parse import quote

from starlette.types import ASGIApp, Receive, Scope, Send

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
    """Middleware that replaces the path of every request by its normal form, without a redirect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = below(scope)
            if (usual := normal(path)) != path:
                root = scope.get("root_path", "")
                scope = {**scope, "path": root + usual, "raw_path": quote(root + usual).encode()}
        await self._app(scope, receive, send)
