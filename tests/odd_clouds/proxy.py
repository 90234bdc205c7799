"""A proxy in front of the embedded cloud that answers some calls oddly.

It stands for what routers, caches, load balancers and damaged services do to answers. The service
catalogue of the cloud must lead through it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from yarl import URL

HOP_BY_HOP = frozenset({"connection", "content-length", "host", "transfer-encoding"})


@dataclass(frozen=True)
class Answer:
    """A response of the cloud, or an odd one in its place.

    If `broken` is true, the connection ends in the middle of the body.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    broken: bool = False


class Exchange:
    """A call that the proxy has received; `real` carries it out in the cloud."""

    def __init__(self, proxy: Proxy, request: web.BaseRequest, body: bytes) -> None:
        self.method, self.path = request.method, request.raw_path
        self.headers = {k: v for k, v in request.headers.items() if k.lower() not in HOP_BY_HOP}
        self._proxy, self._body = proxy, body
        self._answer: Answer | None = None

    async def real(self) -> Answer:
        """Carry out the call, once; return the answer."""
        if self._answer is None:
            self._answer = await self._carried_out()
        return self._answer

    async def _carried_out(self) -> Answer:
        url = URL(self._proxy.target + self.path, encoded=True)
        async with self._proxy.http.request(
            self.method, url, data=self._body, headers=self.headers, allow_redirects=False
        ) as answer:
            kept = {k: v for k, v in answer.headers.items() if k.lower() not in HOP_BY_HOP}
            return Answer(answer.status, await answer.read(), kept)


Oddness = Callable[[Exchange], Awaitable[Answer | None]]
"""Makes the answer of a call; None closes the connection without an answer."""


@dataclass
class Rule:
    """Which calls get an odd answer: at most `times`, after the first `spared` ones."""

    method: str
    path: re.Pattern[str]
    oddness: Oddness
    times: int | None = 1
    spared: int = 0
    seen: int = 0
    struck: int = 0

    def strikes(self, exchange: Exchange) -> bool:
        """Return whether a call gets the odd answer. Matching calls are counted."""
        if self.method != exchange.method or self.path.search(exchange.path) is None:
            return False
        self.seen += 1
        if self.seen <= self.spared or (self.times is not None and self.struck >= self.times):
            return False
        self.struck += 1
        return True


class Proxy:
    """Listens on a port of its own, forwards to `target`, and answers oddly as `rules` say."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.rules: list[Rule] = []
        self.http: aiohttp.ClientSession
        self.url = ""
        self.calls = 0
        self._runner = web.ServerRunner(
            web.Server(self._answer, access_log=None), shutdown_timeout=0.2
        )

    async def open(self) -> None:
        """Start to listen."""
        self.http = aiohttp.ClientSession(
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(),
            skip_auto_headers=("Accept", "Accept-Encoding", "Content-Type", "User-Agent"),
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def close(self) -> None:
        """Stop to listen."""
        await self._runner.cleanup()
        await self.http.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.calls += 1
        exchange = Exchange(self, request, await request.read())
        rule = next((one for one in self.rules if one.strikes(exchange)), None)
        answer = await (exchange.real() if rule is None else rule.oddness(exchange))
        if answer is None:
            return _cut(request)
        if answer.broken:
            response = web.StreamResponse(status=answer.status, headers=answer.headers)
            response.content_length = len(answer.body) + 100
            await response.prepare(request)
            await response.write(answer.body)
            return _cut(request)
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


def _cut(request: web.BaseRequest) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=500)
