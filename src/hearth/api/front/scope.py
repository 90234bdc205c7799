"""What the parts of the front read of a request, and leave in it for one another."""

from typing import Any

from starlette.types import Scope


def state(scope: Scope) -> dict[str, Any]:
    """What is noted of a request on its way; handlers see it as `request.state`."""
    found: dict[str, Any] = scope.setdefault("state", {})
    return found


def below(scope: Scope) -> str:
    """The path without the prefix that a proxy took off."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")) or "/"


def peer(scope: Scope) -> str:
    """The address at the other end of the connection; empty where there is none."""
    client = scope.get("client")
    return str(client[0]) if client else ""
