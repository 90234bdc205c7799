"""Helpers to read the ASGI scope, shared by several middleware."""

import re
from functools import lru_cache
from typing import Any

from starlette.datastructures import URL
from starlette.types import Scope

ORIGINS_MAX = 256  # a client can send any number of names
SECRET_PATH = re.compile(r"(?<!/stacks)(/nodes/+[^/]+/).+", re.DOTALL)
"""Matches the path from which nodes of clusters of earlier versions fetch their credential."""

QUICK = "quick"
"""In the state of a request whose next step is short, as it has a kept response."""


def state(scope: Scope) -> dict[str, Any]:
    """Return the state of a request, which handlers see as `request.state`."""
    request_state: dict[str, Any] = scope.setdefault("state", {})
    return request_state


def below(scope: Scope) -> str:
    """Return the path of a request without the prefix that a proxy or a mount added."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", "")) or "/"


def logged_path(scope: Scope) -> str:
    """Return the path of a request for a log, without the secret that some paths contain."""
    return SECRET_PATH.sub(r"\1***", scope["path"])


def peer(scope: Scope) -> str:
    """Return the address of the client; an empty text if it is unknown."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def header(scope: Scope, name: bytes) -> str:
    """Return the first value of a header, whose `name` is in lower case; "" if there is none."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""


def origin(scope: Scope) -> str:
    """Return the beginning of a request's URL, up to the host and port, as the client used it."""
    return _origin(scope.get("scheme", "http"), header(scope, b"host"), scope.get("server"))


@lru_cache(ORIGINS_MAX)
def _origin(scheme: str, host: str, server: tuple[str, int | None] | None) -> str:
    headers = [(b"host", host.encode("latin-1"))] if host else []
    url = URL(scope={"scheme": scheme, "server": server, "path": "/", "headers": headers})
    return f"{url.scheme}://{url.netloc}"
