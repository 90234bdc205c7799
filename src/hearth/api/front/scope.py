"""Helpers to read the ASGI scope, shared by several middleware."""

from typing import Any

from starlette.types import Scope


def state(scope: Scope) -> dict[str, Any]:
    """Return the state of a request, which handlers see as `request.state`."""
    found: dict[str, Any] = scope.setdefault("state", {})
    return found


def below(scope: Scope) -> str:
    """Return the path of a request without the prefix that a proxy or a mount added."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")) or "/"


def peer(scope: Scope) -> str:
    """Return the address of the client; an empty text if it is unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""
