"""Health checks for monitors and load balancers: they show whether this process can serve
requests.
"""

import asyncio
import ipaddress
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.api.front.front import Front
from hearth.api.front.proxies import HEADERS
from hearth.api.front.scope import below, peer
from hearth.config.front import Health

log = logging.getLogger(__name__)

DATABASE_S = 5.0  # after this time the database counts as unavailable
OK = "OK"


class Healthcheck:
    """Middleware that responds at the configured path: 200 if all checks pass, otherwise 503.

    `front` has the settings. Awaiting `database()` raises an exception if the database is
    unavailable. Requests from clients that may not use the health check are passed on to the API.
    """

    def __init__(
        self, app: ASGIApp, front: Front, database: Callable[[], Awaitable[object]]
    ) -> None:
        self._app = app
        self._front = front
        self._database = database

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        health = self._front.settings.health
        if (
            scope["type"] == "http"
            and below(scope) == health.path
            and scope["method"] in ("GET", "HEAD")
            and _may_ask(scope, health)
        ):
            answer = _response(scope, health, await self._results(scope, health))
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _results(self, scope: Scope, health: Health) -> dict[str, str]:
        """Run all checks and return the result of each, by name; "OK" means that the check
        passed.
        """
        server = scope.get("server")
        port = server[1] if server else None
        by_port = dict(health.disable_by_file_paths).get(port) if port is not None else None
        results: dict[str, str] = {}
        for check in health.backends:
            match check:
                case "database":
                    results[check] = await self._database_result()
                case "disable_by_file":
                    is_disabled = _exists(health.disable_by_file_path)
                    results[check] = "DISABLED BY FILE" if is_disabled else OK
                case "disable_by_files_ports":
                    results[check] = "DISABLED BY FILE" if _exists(by_port) else OK
                case _:
                    is_enabled = all(map(_exists, health.enable_by_file_paths))
                    results[check] = OK if is_enabled else "FILE PATH MISSING"
        return results

    async def _database_result(self) -> str:
        """Return "OK" if the database takes a write within five seconds, otherwise why it counts as
        unusable.
        """
        try:
            async with asyncio.timeout(DATABASE_S):
                await self._database()
        except TimeoutError:
            return "NO ANSWER"
        except Exception as problem:  # after any error the database is unusable
            message = "health check: the database cannot be used: %s"
            log.warning(message, str(problem).partition("\n")[0])
            return "NOT REACHED"
        return OK


def _exists(path: str | None) -> bool:
    return path is not None and Path(path).exists()


def _may_ask(scope: Scope, health: Health) -> bool:
    """Return whether the client may use the health check, by its address and the headers of
    proxies.
    """
    if health.ignore_proxied_requests and any(name in Headers(scope=scope) for name in HEADERS):
        return False
    if not health.allowed_source_ranges:
        return True
    with suppress(ValueError):
        address = ipaddress.ip_address(peer(scope).partition("%")[0])
        return any(address in network for network in health.allowed_source_ranges)
    return False


def _response(scope: Scope, health: Health, results: Mapping[str, str]) -> Response:
    """Return the response with the results, as text or, if requested, as JSON.

    Only the detailed form contains the names of failed checks.
    """
    bad = {check: result for check, result in results.items() if result != OK}
    status = 503 if bad else 200
    if "application/json" in Headers(scope=scope).get("accept", ""):
        body: dict[str, object] = {"detailed": health.detailed}
        if health.detailed:
            body["reasons"] = [
                {"class": check, "reason": result, "details": ""}
                for check, result in results.items()
            ]
        else:
            body["reasons"] = list(bad.values()) or [OK]
        return JSONResponse(body, status_code=status)
    text = "\n".join(bad.values()) or OK
    if health.detailed and results:
        text = "\n".join(f"{check}: {result}" for check, result in results.items())
    return PlainTextResponse(text, status_code=status)
