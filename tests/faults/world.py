"""Several Hearth processes on one database, to which faults happen."""

import contextlib
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hearth.store import tables
from tests.clock import Clock
from tests.conftest import SERVERS, drop_database, fresh_database
from tests.crash.processes import Cloud, Hearth
from tests.faults.broker import Broker
from tests.faults.proxy import in_front_of


class World:
    """The processes, their database, their broker if the machine has one, and their cloud.

    The first engine reaches the database through `proxy`, and its clock is `clock`.
    """

    def __init__(self, folder: Path, kind: str, *, apis: int = 1, engines: int = 3) -> None:
        self.ends = contextlib.ExitStack()
        self.kind = kind
        self.rows = 0  # that have run; stacks of each have other names
        self.url, self.name = fresh_database(kind)
        self.ends.callback(drop_database, kind, self.name)
        self.cloud = Cloud()
        self.ends.callback(self.cloud.close)
        by_proxy, self.proxy = self.ends.enter_context(in_front_of(self.url))
        self.broker = Broker(folder / "broker") if Broker.is_here() else None
        if self.broker is not None:
            self.ends.callback(self.broker.close)
            self.broker.start()
        self.apis = [self._hearth(folder / f"api{n}", "api", self.url) for n in range(apis)]
        self.engines = [
            self._hearth(folder / f"engine{n}", "engine", self.url if n else by_proxy)
            for n in range(engines)
        ]
        self.clock = self.engines[0].clock = Clock(folder / "clock")
        for one in (*self.apis, *self.engines):
            self.ends.callback(one.kill)
            one.start()
        self.database = sa.create_engine(self.url, pool_pre_ping=True)
        self.ends.callback(self.database.dispose)
        self.server = sa.create_engine(SERVERS[kind], isolation_level="AUTOCOMMIT")
        self.ends.callback(self.server.dispose)

    def _hearth(self, folder: Path, role: str, database: str) -> Hearth:
        found = Hearth(folder, self.cloud, database=database, role=role)
        if self.broker is not None:
            found.configure("DEFAULT", transport_url=self.broker.url)
        return found

    def left(self) -> list[str]:
        """What the cloud has too much."""
        return [
            f"{one['collection']} {one['name']}"
            for one in self.cloud.objects()
            if one["deleted"] is None and one["service"] != "identity"
        ]

    def on_server(self, text: str, **values: Any) -> list[Any]:
        """Run a statement as administrator of the server; return its rows, if it has any."""
        with self.server.connect() as connection:
            found = connection.execute(sa.text(text), values)
            return list(found) if found.returns_rows else []

    def sessions(self) -> list[int]:
        """The connections to the database of this world."""
        if self.kind == "postgresql":
            text = "SELECT pid FROM pg_stat_activity WHERE datname = :name"
        else:
            text = "SELECT id FROM information_schema.processlist WHERE db = :name"
        return [int(row[0]) for row in self.on_server(text, name=self.name)]

    def cut(self) -> None:
        """End all connections to the database."""
        for one in self.sessions():
            end = (
                f"SELECT pg_terminate_backend({one})"
                if self.kind == "postgresql"
                else f"KILL {one}"
            )
            with contextlib.suppress(sa.exc.DBAPIError):
                self.on_server(end)

    def late_s(self) -> float:
        """How far the operation in progress that is latest is past its deadline, in seconds."""
        query = sa.select(sa.func.min(tables.stack.c.deadline)).where(
            tables.stack.c.status == "IN_PROGRESS", tables.stack.c.deleted_at.is_(None)
        )
        with self.database.connect() as connection:
            first = connection.execute(query).scalar()
        return 0.0 if first is None else max(0.0, time.time() - first)
