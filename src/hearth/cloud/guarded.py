"""HTTP connections that a guard limits to allowed addresses."""

import errno
import socket
from typing import Any

import aiohttp
import requests
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import NewConnectionError

from hearth.cloud.answers import BoundedAdapter
from hearth.cloud.guard import Guard


def guarded_connector(guard: Guard, **options: Any) -> aiohttp.TCPConnector:
    """Return an aiohttp connector that opens only allowed connections.

    `options` are further arguments of the TCPConnector.
    """

    def guarded_socket(about: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, sockaddr = about
        if not guard.allows(str(sockaddr[0])):
            raise OSError(errno.EACCES, f"{sockaddr[0]} is not a public address")
        return socket.socket(family=family, type=kind, proto=protocol)

    return aiohttp.TCPConnector(socket_factory=guarded_socket, **options)


def guarded_session(guard: Guard) -> requests.Session:
    """Return a `requests` session that opens only allowed connections and uses no proxy."""
    session = requests.Session()
    session.trust_env = False
    adapter = _Adapter(guard)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    return session


class _Adapter(BoundedAdapter):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        super().__init__()

    def init_poolmanager(self, *positional: Any, **options: Any) -> None:
        super().init_poolmanager(*positional, **options)
        self.poolmanager.pool_classes_by_scheme = _pools(self._guard)


def _pools(guard: Guard) -> dict[str, type[HTTPConnectionPool]]:
    """Return a urllib3 connection pool class for each scheme, with guarded connections."""

    class Plain(_GuardedConnection, HTTPConnection):
        allows = staticmethod(guard.allows)

    class Secure(_GuardedConnection, HTTPSConnection):
        allows = staticmethod(guard.allows)

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _GuardedConnection:
    """A mixin for urllib3 connections that resolves the host and connects to an allowed address."""

    allows: Any
    _dns_host: str
    port: int

    def _new_conn(self) -> socket.socket:
        host = self._dns_host
        try:
            infos = socket.getaddrinfo(host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise NewConnectionError(self, f"{host}: {error}") from error  # type: ignore[arg-type]
        permitted = [str(info[4][0]) for info in infos if self.allows(str(info[4][0]))]
        if not permitted:
            raise NewConnectionError(self, f"{host} has no public address")  # type: ignore[arg-type]
        try:
            self._dns_host = permitted[0]
            return super()._new_conn()  # type: ignore[misc,no-any-return]
        finally:
            self._dns_host = host
