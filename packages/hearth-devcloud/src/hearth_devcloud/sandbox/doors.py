"""Access of a server to the services of the cloud, by sockets in its network namespace.

The keeper creates the sockets inside the namespace, and the process of the cloud serves them
without privileges. One socket is the metadata service; the others forward to those endpoints in the
service catalogue that are on loopback addresses.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from aiohttp import web

from hearth_devcloud import tables
from hearth_devcloud.admin import GUEST_ADDRESS
from hearth_devcloud.guest import service
from hearth_devcloud.http import Cloud
from hearth_devcloud.sandbox.fabric import METADATA
from hearth_devcloud.store import Resource
from hearth_devcloud.streams import read_up_to

_CHUNK = 65536
_BODY_MAX = 65536

Address = tuple[str, int]
Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


def addresses(cloud: Cloud) -> list[Address]:
    """Return the addresses (host and port) at which a server can reach the cloud.

    The first one is the metadata service; the others are endpoints on loopback addresses.
    """
    ordered: dict[Address, None] = {(METADATA, 80): None}
    for endpoint in cloud.store.all(tables.ENDPOINTS):
        url = urlsplit(endpoint.body["url"])
        host = "127.0.0.1" if url.hostname == "localhost" else url.hostname or ""
        with contextlib.suppress(ValueError):
            if ip_address(host).is_loopback:
                ordered[host, url.port or 80] = None
    return list(ordered)


class Doors:
    """The sockets in the namespace of one server that the cloud serves."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []

    async def open(
        self, cloud: Cloud, server: Resource, targets: list[Address], sockets: list[int]
    ) -> None:
        """Start to serve the sockets: the first as the metadata service, the others as forwards.

        `targets` are the addresses on which the sockets listen inside the server. Outside, a
        forward connects to the same address.
        """
        loop = asyncio.get_running_loop()
        for number, (target, file) in enumerate(zip(targets, sockets, strict=True)):
            sock = socket.socket(fileno=file)
            sock.setblocking(False)
            if number == 0:
                handler = web.Server(_metadata(cloud, server), access_log=None)
                self._servers.append(await loop.create_server(handler, sock=sock))
            else:
                self._servers.append(await asyncio.start_server(forward(_to(target)), sock=sock))

    def close(self) -> None:
        """Stop serving the sockets."""
        for server in self._servers:
            server.close()


def _to(target: Address) -> Connect:
    """Return a function that connects to an endpoint, so that the cloud knows a server as such."""
    source = (GUEST_ADDRESS, 0) if ip_address(target[0]).version == 4 else None
    return lambda: asyncio.open_connection(*target, local_addr=source)


def _metadata(
    cloud: Cloud, server: Resource
) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        body = await read_up_to(request.content, _BODY_MAX) if request.body_exists else b""
        reply = service.answer(cloud.store, server, request.method, request.path, body)
        data = reply.body.encode() if isinstance(reply.body, str) else reply.body or b""
        return web.Response(status=reply.status, body=data, headers=reply.headers)

    return answer


def forward(
    connect: Connect,
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Return a handler for asyncio.start_server that forwards connections.

    The handler opens a second connection with `connect` and copies the data in both directions. An
    error of one connection closes the other.
    """
    serving: set[asyncio.Task[None] | None] = set()  # asyncio keeps only weak references to tasks

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        serving.add(task)
        try:
            await _both(reader, writer)
        finally:
            writer.close()
            serving.discard(task)

    async def _both(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await connect()
        except OSError:
            return
        try:
            async with asyncio.TaskGroup() as copies:
                copies.create_task(_copy(reader, far_writer))
                copies.create_task(_copy(far_reader, writer))
        except* OSError:
            pass
        finally:
            far_writer.close()

    return serve


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy data from a reader to a writer until the end of the stream. Raises OSError.

    Then close only this direction of the connection.
    """
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
