"""How soon a process gives up a connection to a database server that has become silent.

A machine that loses its power or its network closes no connection. By default Linux repeats its
packets for a quarter of an hour, and an idle connection lasts for hours.
"""

import socket
from typing import Any

import sqlalchemy as sa

CONNECT_S = 10
IDLE_S = 10  # of a connection, before Linux asks the server whether it is alive
SILENT_S = 15  # without an answer from the other machine; as long as a lease
POSTGRESQL = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": IDLE_S,
    "keepalives_interval": IDLE_S,
    "tcp_user_timeout": SILENT_S * 1000,
}
MYSQL = {"TCP_KEEPIDLE": IDLE_S, "TCP_KEEPINTVL": IDLE_S, "TCP_USER_TIMEOUT": SILENT_S * 1000}


def postgresql_defaults(url: sa.URL) -> dict[str, Any]:
    """Return the parameters of libpq that the URL of a database does not set itself."""
    return {name: value for name, value in POSTGRESQL.items() if name not in url.query}


def limit_silence(raw: Any) -> None:
    """Set the limits on a new connection of PyMySQL, which has no parameters for them.

    Systems other than Linux lack some of the options.
    """
    link: socket.socket = raw._sock
    if link.family == socket.AF_UNIX:
        return
    for name, value in MYSQL.items():
        if (option := getattr(socket, name, None)) is not None:
            link.setsockopt(socket.IPPROTO_TCP, option, value)
