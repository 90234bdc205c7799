"""Parts of the ASGI scope that several middleware share."""

from typing import Any

from starlette.types import Scope


def state(scope: Scope) -> dict[str, Any]:
    """Return the state of a request; handlers see it as `request.state`."""
    found: dict[str, Any] = scope.setdefault("state", {})
    return found


def below(scope: Scope) -> str:
    """Return the path without the prefix of a proxy."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")) or "/"


def peer(scope: Scope) -> str:
    """Return the address of the connected client; empty if unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""
