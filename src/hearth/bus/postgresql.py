"""Wake-ups through the database: PostgreSQL's LISTEN and NOTIFY."""

from collections.abc import Callable
from typing import Any

import psycopg
from sqlalchemy import URL

from hearth.bus.relay import Relay

CHANNEL = "hearth_work"
DEAD_AFTER_S = 10  # without an answer of the server, on an idle connection
USUAL: dict[str, Any] = {  # unless the URL of the database says something else
    "connect_timeout": 10,
    "keepalives_idle": DEAD_AFTER_S,
    "keepalives_interval": DEAD_AFTER_S,
    "keepalives_count": 1,
}


class PostgresRelay(Relay):
    """Holds two connections: one listens, one notifies."""

    failures = (psycopg.Error, OSError)

    def __init__(self, url: URL, name: str, wake: Callable[[], None]) -> None:
        super().__init__(name, wake)
        _, target = url.get_dialect()().create_connect_args(url)
        self._target = {**USUAL, **target}

    async def relay(self) -> None:
        """Connect, and relay until a connection fails."""
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
