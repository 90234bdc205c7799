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


def guarded_connector(guard: Guard, **more: Any) -> aiohttp.TCPConnector:
    """Return an aiohttp connector that opens only allowed connections.

    `more` are further arguments of the TCPConnector.
    """

    def allowed(about: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, protocol, _, place = about
        if not guard.allows(str(place[0])):
            raise OSError(errno.EACCES, f"{place[0]} is not a public address")
        return socket.socket(family=family, type=kind, proto=protocol)

    return aiohttp.TCPConnector(socket_factory=allowed, **more)


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
