"""A guard that blocks connections to internal networks if users name the address.

A user could name an address that only this machine can reach. The guard checks the resolved IP
address of each connection and allows only public addresses and configured networks.
"""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import requests
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from hearth.cloud.answers import BoundedAdapter

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64: the last 32 bits are an IPv4 address


@dataclass(frozen=True)
class Guard:
    """Allows connections to public addresses and to `networks`."""

    networks: tuple[Network, ...] = ()

    def allows(self, address: str) -> bool:
        """Return whether a connection to an IP address is allowed."""
        return _allowed(_plain(address), self.networks)

    def connector(self, **more: Any) -> aiohttp.TCPConnector:
        """Return an aiohttp connector that opens only allowed connections.

        `more` are further arguments of the TCPConnector.
        """
        return aiohttp.TCPConnector(socket_factory=self._socket, **more)

    def session(self) -> requests.Session:
        """Return a `requests` session that opens only allowed connections and uses no proxy."""
        session = requests.Session()
        session.trust_env = False
        adapter = _Adapter(self)
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        return session

    def _socket(self, about: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, place = about
        if not self.allows(str(place[0])):
            raise OSError(f"{place[0]} is not a public address")
        return socket.socket(family=family, type=kind, proto=protocol)


class _Adapter(BoundedAdapter):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        super().__init__()

    def init_poolmanager(self, *positional: Any, **named: Any) -> None:
        super().init_poolmanager(*positional, **named)
        self.poolmanager.pool_classes_by_scheme = _pools(self._guard)


def _pools(guard: Guard) -> dict[str, type[HTTPConnectionPool]]:
    """Return a urllib3 connection pool class for each scheme, with guarded connections."""

    class Plain(_Guarded, HTTPConnection):
        allows = staticmethod(guard.allows)

    class Secure(_Guarded, HTTPSConnection):
        allows = staticmethod(guard.allows)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _Guarded:
    """A mixin for urllib3 connections that resolves the host and connects to an allowed address."""

    allows: Any
    _dns_host: str
    port: int

    def _new_conn(self) -> socket.socket:
        host = self._dns_host
        try:
            found = socket.getaddrinfo(host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise NewConnectionError(self, f"{host}: {error}") from error  # type: ignore[arg-type]
        allowed = [str(one[4][0]) for one in found if self.allows(str(one[4][0]))]
        if not allowed:
            raise NewConnectionError(self, f"{host} has no public address")  # type: ignore[arg-type]
        try:
            self._dns_host = allowed[0]
            return super()._new_conn()  # type: ignore[misc,no-any-return]
        finally:
            self._dns_host = host


def _plain(address: str) -> Address:
    """Return the parsed address. If an IPv6 address embeds an IPv4 address, return the IPv4
    address.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found in TRANSLATED:
            return ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        return found.ipv4_mapped or found.sixtofour or (found.teredo or (0, found))[1]
    return found


def _allowed(address: Address, networks: Sequence[Network]) -> bool:
    if any(address in network for network in networks):
        return True
    return address.is_global and not address.is_multicast
