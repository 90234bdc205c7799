"""Local ports for the Kubernetes APIs of emulated clusters (see `clusters`).

There is a local port for each floating IP of a server with an API, or of a load balancer in front
of such servers; the first active member answers. The ports are opened when a client asks the admin
API for them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

from aiohttp import web

from hearth_devcloud import tables
from hearth_devcloud.guest import clusters
from hearth_devcloud.guest.server import CLUSTERS, server_at
from hearth_devcloud.http import Cloud
from hearth_devcloud.kubernetes.api import BODY_MAX, Answer, Request, caller_of
from hearth_devcloud.octavia import tree
from hearth_devcloud.sandbox.balancers import members
from hearth_devcloud.store import Resource
from hearth_devcloud.streams import read_up_to

LOCAL = "127.0.0.1"
HANDSHAKE_S = 10.0
READ_S = 30.0
BACKLOG = 64
PAUSE_S = 0.1  # after a failure to accept a connection

Address = tuple[str, int]


@dataclass
class _Open:
    """A listening socket on the local port for one floating IP and port."""

    sock: socket.socket
    port: int
    accepting: asyncio.Task[None]
    contexts: dict[str, ssl.SSLContext] = field(default_factory=dict)  # by certificate


class ClusterEndpoints:
    """The local ports for all Kubernetes APIs of a cloud; `await close()` closes them."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._open: dict[Address, _Open] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._web = web.Server(self._answer, access_log=None)

    def settle(self) -> None:
        """Open a local port for each floating IP with an API; close those no longer needed."""
        clusters.tidy(self._cloud)
        addresses = set(_addresses(self._cloud))
        for address in [opened for opened in self._open if opened not in addresses]:
            self._shut(self._open.pop(address))
        for address in addresses - set(self._open):
            sock = socket.socket()
            sock.setblocking(False)
            sock.bind((LOCAL, 0))
            sock.listen(BACKLOG)
            accepting = asyncio.get_running_loop().create_task(self._accept(address, sock))
            self._open[address] = _Open(sock, sock.getsockname()[1], accepting)

    def view(self) -> list[dict[str, object]]:
        """Return one entry per floating IP and port, with a map from the port to the local port."""
        return [
            {"floating_ip_address": ip, "host": LOCAL, "ports": {port: endpoint.port}}
            for (ip, port), endpoint in self._open.items()
        ]

    async def close(self) -> None:
        """Stop listening and close all connections."""
        for endpoint in self._open.values():
            self._shut(endpoint)
        self._open.clear()
        for task in list(self._connections):
            task.cancel()
        await self._web.shutdown(0.1)

    @staticmethod
    def _shut(endpoint: _Open) -> None:
        endpoint.accepting.cancel()
        endpoint.sock.close()

    async def _accept(self, address: Address, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(sock)
            except OSError:  # too many files are open
                await asyncio.sleep(PAUSE_S)
                continue
            task = loop.create_task(self._connect(address, connection))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    async def _connect(self, address: Address, connection: socket.socket) -> None:
        """Do the TLS handshake of a connection, then pass the connection to the HTTP server."""
        server, opened = self._server(address), self._open.get(address)
        if server is None or opened is None:
            connection.close()
            return
        try:
            context = _context(server, opened)
            await asyncio.get_running_loop().connect_accepted_socket(
                self._web,
                connection,
                ssl=context,
                ssl_handshake_timeout=None if context is None else HANDSHAKE_S,
            )
        except (OSError, ValueError):  # such as a TLS handshake that the client breaks off
            connection.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        port = request.transport.get_extra_info("sockname")[1]
        address = next((k for k, v in self._open.items() if v.port == port), None)
        server = self._server(address) if address is not None else None
        api = clusters.api(self._cloud, server) if server is not None else None
        if api is None:  # the server has been stopped in the meantime
            request.transport.abort()
            return web.Response(status=503)
        raw = b""
        if request.body_exists:
            async with asyncio.timeout(READ_S):
                raw = await read_up_to(request.content, BODY_MAX + 1)
        headers = {name.lower(): value for name, value in request.headers.items()}
        caller = caller_of(request.transport.get_extra_info("peercert"))
        answer: Answer = api.answer(Request(request.method, request.path_qs, headers, raw), caller)
        if request.method != "GET":
            self._cloud.store.changed = True
        return web.Response(
            status=answer.status, body=answer.data, headers={"Content-Type": answer.content_type}
        )

    def _server(self, address: Address) -> Resource | None:
        """Return the active server whose API is at a floating IP and port, or None."""
        self._cloud.settle()
        servers = _addresses(self._cloud, address[0]).get(address, ())
        return next((server for server in servers if server.body["vm_state"] == "active"), None)


def _addresses(cloud: Cloud, ip: str | None = None) -> dict[Address, list[Resource]]:
    """Return the servers with a Kubernetes API by floating IP and port.

    If `ip` is given, return only those of this floating IP.
    """
    store = cloud.store
    servers_by_address: dict[Address, list[Resource]] = {}
    if not store.table(CLUSTERS):
        return servers_by_address
    for floating in store.all(tables.FLOATING_IPS):
        floating_ip, port = floating.body["floating_ip_address"], floating.body["port_id"]
        target = store.get(tables.PORTS, port)
        if target is None or ip not in (None, floating_ip):
            continue
        server = store.get(tables.SERVERS, target.body["device_id"])
        if server is not None and clusters.serves(server):
            servers_by_address[floating_ip, _port(server)] = [server]
            continue
        for listens, member in _balanced(cloud, target):
            servers_by_address.setdefault((floating_ip, listens), []).append(member)
    return servers_by_address


def _balanced(cloud: Cloud, vip: Resource) -> Iterator[tuple[int, Resource]]:
    """Yield pairs of a listener's port and a server with an API behind the listener.

    `vip` is the VIP port of the load balancer.
    """
    store = cloud.store
    balancer = next(iter(store.where(tree.BALANCERS.table, vip_port_id=vip.id)), None)
    if balancer is None:
        return
    for listener in store.where(tree.LISTENERS.table, loadbalancer_id=balancer.id):
        pool = store.get(tree.POOLS.table, listener.body["default_pool_id"])
        for member in members(store, pool) if pool is not None else ():
            server = server_at(store, vip.body["network_id"], member.body["address"])
            if (
                server is not None
                and clusters.serves(server)
                and _port(server) == member.body["protocol_port"]
            ):
                yield listener.body["protocol_port"], server


def _port(server: Resource) -> int:
    return int(server.hidden["node"]["settings"]["kubernetes_port"])


def _context(server: Resource, opened: _Open) -> ssl.SSLContext | None:
    """Return the TLS context for the API on a server, or None if the API has no TLS.

    Raises OSError or ValueError for an invalid key or certificate.
    """
    about = server.hidden["node"]
    if "key" not in about:
        return None
    text = about["certificate"] + about["key"]
    if text not in opened.contexts:
        opened.contexts.clear()
        opened.contexts[text] = _new_context(about["ca"], text)
    return opened.contexts[text]


def _new_context(ca: str, text: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=ca)
    context.verify_mode = ssl.CERT_OPTIONAL
    handle, name = tempfile.mkstemp()  # the standard library reads certificates from files only
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        context.load_cert_chain(name)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
    return context
