"""The HTTP server of the embedded cloud. It injects faults and passes calls to `DevCloud`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from hearth_devcloud import admin, snapshot
from hearth_devcloud.cloud import SERVICES, DevCloud
from hearth_devcloud.http import Call, Refusal, Reply
from hearth_devcloud.jobs import Runner
from hearth_devcloud.knobs import Fate
from hearth_devcloud.ledger import CallEntry
from hearth_devcloud.post import Post
from hearth_devcloud.sandbox.driver import Sandbox
from hearth_devcloud.settings import Settings

LOOPBACK = "127.0.0.1"
BODY_MAX = 2**31
SAVE_AFTER_S = 0.2
KEEPALIVE_S = 600

_encode = msgspec.json.encode


class Running:
    """A cloud that listens on a port; `await close()` stops it."""

    def __init__(
        self,
        cloud: DevCloud,
        runner: web.ServerRunner,
        data: Path | None,
        post: Post,
        sandbox: Sandbox | None = None,
    ) -> None:
        self.cloud = cloud
        self.sandbox = sandbox
        self._post = post
        self._runner = runner
        self._data = data
        self._jobs = Runner(cloud)
        self._saver = asyncio.create_task(self._save_forever()) if data else None

    @property
    def url(self) -> str:
        """The URL of the cloud: `http://127.0.0.1:PORT`."""
        return self.cloud.url

    @property
    def auth_url(self) -> str:
        """The URL of Keystone, for clients' setting `auth_url`."""
        return f"{self.cloud.url}/identity/v3"

    async def close(self) -> None:
        """Release held calls, stop the server and all background work, and save the state."""
        self.cloud.knobs.clear()
        await self._jobs.close()
        if self.cloud.kubernetes is not None:
            await self.cloud.kubernetes.close()
        if self.sandbox is not None:
            await self.sandbox.close()
        if self._saver is not None:
            self._saver.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._saver
        await self._post.close()
        await self._runner.cleanup()
        if self._data is not None:
            snapshot.save(self.cloud, self._data)

    async def _save_forever(self) -> None:
        assert self._data is not None
        store = self.cloud.store
        pause_s = SAVE_AFTER_S
        while True:
            await asyncio.sleep(pause_s)
            if store.changed:
                began = time.monotonic()
                snapshot.save(self.cloud, self._data)
                pause_s = max(SAVE_AFTER_S, 20 * (time.monotonic() - began))


async def serve(
    cloud: DevCloud | None = None,
    *,
    listen: str = LOOPBACK,
    port: int = 0,
    url: str | None = None,
    data: Path | None = None,
    settings: Settings | None = None,
) -> Running:
    """Start a cloud on the address `listen` and return it; port 0 means any free port.

    Clients reach it at `url`, by default at this address. The state is loaded from the file `data`,
    if it exists, and saved there regularly.
    """
    cloud = cloud or DevCloud(settings)
    if data is not None:
        snapshot.load(cloud, data)
    sandbox = None
    if cloud.settings.sandbox:
        sandbox = Sandbox(cloud, data.parent if data is not None else None)
        await sandbox.open()
        cloud.machines = sandbox
    post = Post(cloud)
    server = web.Server(
        _Front(cloud, post).answer,
        access_log=None,
        request_factory=_request,
        keepalive_timeout=KEEPALIVE_S,
    )
    runner = web.ServerRunner(server, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, listen, port, backlog=1024)
    await site.start()
    cloud.move_to((url or _url(listen, runner.addresses[0][1])).rstrip("/"))
    return Running(cloud, runner, data, post, sandbox)


def _url(listen: str, port: int) -> str:
    """Return the address at which programs of this machine reach a cloud."""
    address = ip_address(listen)
    if address.is_unspecified:
        return f"http://{LOOPBACK}:{port}"
    return f"http://[{address}]:{port}" if address.version == 6 else f"http://{address}:{port}"


def _request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = asyncio.get_running_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_MAX)


class _Front:
    """The HTTP request handler of a cloud, with fault injection and the audit log."""

    def __init__(self, cloud: DevCloud, post: Post) -> None:
        self.cloud = cloud
        self.post = post

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        cloud = self.cloud
        target = request.raw_path if hasattr(request, "raw_path") else request.path_qs
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        raw = await request.content.read() if request.body_exists else b""
        if target.startswith("/devcloud"):
            if (refused := admin.refusal(request.remote, request.headers, cloud.url)) is not None:
                return _response(refused, request.method)
            done = admin.handle(cloud, request.method, target, raw)
            await self.post.deliver()
            if cloud.machines is not None:
                cloud.machines.look()
            return _response(done, request.method)
        if cloud.machines is not None:
            cloud.machines.offer()
        call = cloud.call(request.method, target, request.headers, raw)
        if call is None:
            return _response(_elsewhere(cloud, target), request.method)
        ledger = cloud.store.ledger
        seq, at, began = ledger.next_call(), time.time(), time.perf_counter()
        status, trace = 0, request.headers.get("traceparent", "")
        try:
            fate = None
            if cloud.knobs.rules:
                names = self._names(call)
                fate = cloud.knobs.fate(call.service, call.method, target, names, raw, trace)
            if fate is None:
                reply: Reply | None = self._carry_out(call, seq)
            else:
                reply = await self._befall(call, seq, fate)
            if reply is None:
                if request.transport is not None:
                    request.transport.abort()
                return web.Response(status=500)
            if cloud.machines is not None:  # work of the driver continues without further calls
                cloud.wake(0)
                cloud.machines.look()
            status = reply.status
            return _response(reply, call.method)
        finally:
            ms = (time.perf_counter() - began) * 1000
            ledger.called(CallEntry(seq, request.method, target, status, at, round(ms, 3), trace))

    def _carry_out(self, call: Call, seq: int) -> Reply:
        self.cloud.store.ledger.carries_out(seq)
        return self.cloud.handle(call)

    async def _befall(self, call: Call, seq: int, fate: Fate) -> Reply | None:
        """Carry out a call with faults; return the reply, or None to close the connection."""
        if fate.drop:
            return None
        if fate.hold and not await self.cloud.knobs.held():
            return None
        if fate.latency_s:
            await asyncio.sleep(fate.latency_s)
        if fate.status is not None and not fate.after:
            return self._refuse(call, fate)
        call.effects = replace(fate.effects)
        reply = self._carry_out(call, seq)
        if fate.status is not None:
            return self._refuse(call, fate) if reply.status < 300 else reply
        if fate.withhold_s is not None:
            limit = None if fate.withhold_s == float("inf") else fate.withhold_s
            await self.cloud.knobs.held(limit)
            return None
        if fate.garble is not None:
            kind = reply.headers.get("Content-Type", "application/json")
            return Reply(reply.status, fate.garble, {**reply.headers, "Content-Type": kind})
        return reply

    @staticmethod
    def _refuse(call: Call, fate: Fate) -> Reply:
        """Return the error response of a fault with a status.

        The body is that of the fault rule, or else an error in the format of the service.
        """
        assert fate.status is not None
        if fate.body is not None:
            return Reply(fate.status, fate.body, dict(fate.headers))
        refusal = Refusal(
            fate.status, message="A fault rule caused this error", headers=fate.headers
        )
        service = SERVICES[call.service]
        reply = service.refusal(call, refusal)
        if service.finish is not None:
            service.finish(call, reply)
        return reply

    def _names(self, call: Call) -> frozenset[str]:
        """Return the names and ids of the objects in a call, for rules that match names.

        Return an empty set if there is no such rule.
        """
        if not any(rule.asks_for_name for rule in self.cloud.knobs.rules):
            return frozenset()
        names = set(call.query.get("name", []))
        about = list(call.segments)
        with contextlib.suppress(Exception):
            body = call.json()
            for part in (body, *body.values()):
                if isinstance(part, dict):
                    names.update(n for n in [part.get("name")] if isinstance(n, str))
                    about += [u for u in [part.get("user_id")] if isinstance(u, str)]
        names.update(call.segments)
        for table in self.cloud.store.tables.values():
            for segment in about:
                if segment in table:
                    names.add(str(table[segment].body.get("name")))
        return frozenset(names)


def _elsewhere(cloud: DevCloud, target: str) -> Reply:
    if target.partition("?")[0] in ("", "/"):
        return Reply(200, {"identity": f"{cloud.url}/identity/v3"})
    return Reply(
        404, {"error": {"code": 404, "title": "Not Found", "message": "No service has this path"}}
    )


def _response(reply: Reply, method: str) -> web.Response:
    body, headers = reply.body, reply.headers
    kind = headers.pop("Content-Type", None)
    match body:
        case None:
            data = b""
        case bytes():
            data = body
            kind = kind or "application/octet-stream"
        case str():
            data = body.encode()
            kind = kind or "text/plain; charset=UTF-8"
        case _:
            data = _encode(body)
            kind = kind or "application/json"
    if kind is not None:
        headers["Content-Type"] = kind
    if method == "HEAD" and "Content-Length" not in headers:
        headers["Content-Length"] = str(len(data))
    if method == "HEAD" or reply.status in (204, 304):
        data = b""
    return web.Response(status=reply.status, body=data, headers=headers)
