"""Wake-ups between processes through PostgreSQL's LISTEN and NOTIFY."""

from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import URL

from hearth.bus.relay import Relay

CHANNEL = "hearth_work"
DEAD_AFTER_S = 10  # an idle connection is dead if the server is silent for so long
USUAL: dict[str, Any] = {  # defaults; the URL of the database can override them
    "connect_timeout": 10,
    "keepalives_idle": DEAD_AFTER_S,
    "keepalives_interval": DEAD_AFTER_S,
    "keepalives_count": 1,
    "tcp_user_timeout": DEAD_AFTER_S * 1000,
}


class PostgresRelay(Relay):
    """A relay with two connections to PostgreSQL: one for LISTEN, one for NOTIFY.

    `url` is the URL of the database.
    """

    failures = (psycopg.Error, OSError)

    def __init__(self, url: URL, name: str, wake: Callable[[], None]) -> None:
        super().__init__(name, wake)
        _, target = url.get_dialect()().create_connect_args(url)
        self._target = {**USUAL, **target}

    async def relay(self) -> None:
        """Connect, then send and receive wake-ups until a connection fails. Raises its error."""
        async with await self._connected() as listening, await self._connected() as notifying:

            async def notify() -> None:
                await notifying.execute("SELECT pg_notify(%s, %s)", (CHANNEL, self.name))

            await listening.execute(f"LISTEN {CHANNEL}")
            await self.send_until(self._hear(listening), notify)

    async def _hear(self, listening: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        async for notice in listening.notifies():
            self.heard(notice.payload)

    async def _connected(self) -> "psycopg.AsyncConnection[tuple[object, ...]]":
        return await psycopg.AsyncConnection.connect(**self._target, autocommit=True)
