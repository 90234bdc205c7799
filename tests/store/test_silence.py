"""A connection to a machine that is gone does not last: Linux has limits for each of them."""

import os
import socket
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from hearth.store.silence import IDLE_S, SILENT_S, postgresql_defaults
from tests.conftest import SERVERS, lacking


@pytest.mark.parametrize("kind", SERVERS)
def test_silence_has_a_limit(kind: str):
    store = Store(SERVERS[kind], sealer_from_secret("test secret"))
    try:
        link = store.sync_engine.raw_connection()
    except sa.exc.OperationalError as problem:
        lacking(f"a {kind} server ({problem.orig})")
    assert limits(link.dbapi_connection) == (1, IDLE_S, SILENT_S * 1000)
    link.close()
    store.close()


def limits(raw: Any) -> tuple[int, int, int]:
    """Whether Linux asks an idle server, after how many seconds, and when it gives up, in ms."""
    number = raw._sock.fileno() if hasattr(raw, "_sock") else raw.fileno()
    with socket.socket(fileno=os.dup(number)) as link:
        return (
            link.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
            link.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
            link.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT),
        )


def test_the_url_wins():
    url = sa.make_url("postgresql+psycopg://u@/d?host=a,b&connect_timeout=3")
    assert "connect_timeout" not in postgresql_defaults(url)
    assert postgresql_defaults(url)["tcp_user_timeout"] == SILENT_S * 1000
