"""Local ports of the machine that forward to the floating IPs of sandbox servers."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from hearth_devcloud import tables
from hearth_devcloud.sandbox.doors import Connect, forward
from hearth_devcloud.sandbox.fabric import ROUTER
from hearth_devcloud.store import Store

PORTS = (22, 80, 443, 6443, 8000, 8080)
LOCAL = "127.0.0.1"

Inside = Callable[[str], Awaitable[int]]


@dataclass(frozen=True)
class Way:
    """The way to a floating IP: the router's network namespace (`namespace`) and the fixed IP."""

    floating: str
    namespace: str
    fixed: str


@dataclass
class _Open:
    ports: dict[int, int] = field(default_factory=dict)  # local ports by ports of the server
    servers: list[asyncio.Server] = field(default_factory=list)


def ways(store: Store) -> set[Way]:
    """Return the ways to all floating IPs that have a fixed IP and a router."""
    return {
        Way(
            floating_ip.body["floating_ip_address"],
            ROUTER + floating_ip.body["router_id"],
            floating_ip.body["fixed_ip_address"],
        )
        for floating_ip in store.all(tables.FLOATING_IPS)
        if floating_ip.body["router_id"] and floating_ip.body["fixed_ip_address"]
    }


class Forwards:
    """The local ports for all floating IPs.

    `inside` is a function that opens a socket in a network namespace and returns its descriptor.
    """

    def __init__(self, inside: Inside) -> None:
        self._inside = inside
        self._open: dict[Way, _Open] = {}

    def view(self) -> list[dict[str, object]]:
        """Return one entry per floating IP, with a map from the server's ports to local ports."""
        return [
            {"floating_ip_address": way.floating, "host": LOCAL, "ports": opened.ports}
            for way, opened in self._open.items()
        ]

    async def settle(self, targets: set[Way]) -> None:
        """Open and print the local ports for new ways; close those of ways not in `targets`."""
        for way in [way for way in self._open if way not in targets]:
            self._close(self._open.pop(way))
        for way in sorted(targets - set(self._open), key=lambda way: way.floating):
            opened = _Open()
            for port in PORTS:
                server = await asyncio.start_server(forward(self._to(way, port)), LOCAL, 0)
                opened.servers.append(server)
                opened.ports[port] = server.sockets[0].getsockname()[1]
            self._open[way] = opened
            ports = ", ".join(f"{LOCAL}:{local} to {port}" for port, local in opened.ports.items())
            print(f"hearth-devcloud: floating IP {way.floating}: {ports}", file=sys.stderr)

    def close(self) -> None:
        """Close all local ports."""
        for opened in self._open.values():
            self._close(opened)
        self._open.clear()

    @staticmethod
    def _close(opened: _Open) -> None:
        for server in opened.servers:
            server.close()

    def _to(self, way: Way, port: int) -> Connect:
        async def connect() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
            sock = socket.socket(fileno=await self._inside(way.namespace))
            sock.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(sock, (way.fixed, port))
            except OSError:
                sock.close()
                raise
            return await asyncio.open_connection(sock=sock)

        return connect
