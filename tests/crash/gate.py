"""A gate before a service that has no knobs: calls can be held, cut, and kept without answer."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import aiohttp
from aiohttp import web

from hearth_devcloud.knobs import Knobs

SERVICE = "orchestration"
ENDS_S = 10.0
NOT_PASSED_ON = {"host", "content-length", "transfer-encoding", "connection"}


class Gate:
    """Passes every call on to `behind`, under the same rules as the cloud's knobs."""

    def __init__(self, port: int) -> None:
        self.behind = ""
        self.url = f"http://127.0.0.1:{port}"
        self._knobs = Knobs()
        self._answered: dict[int, int] = {}
        self._names: dict[str, str] = {}  # by id
        self._calls = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._on_loop(self._open(port))

    def close(self) -> None:
        self._on_loop(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ENDS_S)
        self._loop.close()

    # what windows ask for

    def knobs(self, rules: list[dict[str, Any]]) -> None:
        self._on_loop(self._now(lambda: self._knobs.add(rules)))

    def clear(self) -> None:
        self._on_loop(self._now(self._knobs.clear))

    def struck(self) -> list[int]:
        return [rule.struck for rule in self._knobs.rules]

    def waiting(self) -> int:
        return self._knobs.waiting

    def release(self, *, discard: bool = False) -> None:
        self._on_loop(self._now(lambda: self._knobs.release(discard=discard)))

    def answered(self) -> dict[int, int]:
        return dict(self._answered)

    # on the loop

    def _on_loop(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ENDS_S)

    async def _now(self, work: Any) -> None:
        work()

    async def _open(self, port: int) -> None:
        self._http = aiohttp.ClientSession(auto_decompress=False)
        self._runner = web.ServerRunner(web.Server(self._pass_on), shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", port).start()

    async def _close(self) -> None:
        self._knobs.clear()
        await self._runner.cleanup()
        await self._http.close()

    async def _pass_on(self, request: web.BaseRequest) -> web.StreamResponse:
        self._calls += 1
        number, raw = self._calls, await request.read()
        path = request.path_qs
        about = _name(raw) or self._names.get(request.path.rpartition("/")[2], "")
        fate = self._knobs.fate(SERVICE, request.method, request.path, frozenset({about}))
        if fate is not None and fate.hold and not await self._knobs.held():
            return _cut(request)
        headers = {k: v for k, v in request.headers.items() if k.lower() not in NOT_PASSED_ON}
        async with self._http.request(
            request.method, self.behind + path, data=raw, headers=headers, allow_redirects=False
        ) as answer:
            body = await answer.read()
        self._answered[number] = answer.status
        if about and (ident := _made(body)):
            self._names[ident] = about
        if fate is not None and fate.withhold_s is not None:
            await self._knobs.held()
            return _cut(request)
        kept = {k: v for k, v in answer.headers.items() if k.lower() not in NOT_PASSED_ON}
        return web.Response(status=answer.status, body=body, headers=kept)


def _name(raw: bytes) -> str:
    """The name that a call gives."""
    body = json.loads(raw) if raw else {}
    return str(body.get("name") or "")


def _made(answer: bytes) -> str:
    """The id of the one object that an answer shows."""
    body = json.loads(answer) if answer.startswith(b"{") else {}
    for value in body.values():
        if isinstance(value, dict):
            return str(value.get("id") or "")
    return ""


def _cut(request: web.BaseRequest) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
