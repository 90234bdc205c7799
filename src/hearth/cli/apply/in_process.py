"""Requests to the Orchestration API in this process, without a socket."""

import json
from typing import Any
from urllib.parse import urlencode

from hearth.api.v1.app import application, routes
from hearth.cloud.contract import Response
from hearth.service.caller import Caller
from hearth.service.services import Services


class InProcess:
    """Makes requests of one caller, below the caller's project."""

    def __init__(self, services: Services, caller: Caller) -> None:
        self.project_path = f"/v1/{caller.project_id}"
        self._caller = caller
        self._app = application(services, routes())

    async def ask(
        self, method: str, path: str, body: Any = None, query: dict[str, str] | None = None
    ) -> Response:
        """Make a request, and return the response, whatever its status."""
        path = f"{self.project_path}{path}"
        kind = (b"content-type", b"application/json")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": urlencode(query or {}).encode(),
            "root_path": "",
            "server": ("localhost", 80),
            "headers": [(b"host", b"localhost"), kind],
            "client": ("localhost", 0),
            "state": {"caller": self._caller},
        }
        content = b"" if body is None else json.dumps(body).encode()
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self._app(scope, receive, send)
        raw = b"".join(part.get("body", b"") for part in messages[1:])
        headers = {key.decode(): value.decode() for key, value in messages[0]["headers"]}
        is_json = raw and "json" in headers.get("content-type", "")
        return Response(messages[0]["status"], headers, json.loads(raw) if is_json else None, raw)
