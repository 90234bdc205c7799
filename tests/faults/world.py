"""Several Hearth processes on one database, to which faults happen."""

import contextlib
import time
from enum import Enum
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hearth.store import tables
from tests.clock import Clock
from tests.conftest import SERVERS, drop_database, fresh_database
from tests.crash.processes import LOOPBACK, Cloud, Hearth, until
from tests.faults.broker import Broker, Brokers
from tests.faults.network import SERVICES, Network, service
from tests.faults.postgresql import Replicated
from tests.faults.proxy import LossyProxy, in_front_of
from tests.faults.users import LIFE_S


class Site(Enum):
    """What the processes of a world stand on."""

    PLAIN = "the database server of the tests"
    REPLICATED = "a PostgreSQL server of our own and its replica"
    CLUSTER = "a cluster of three brokers"
    NAMESPACES = "network namespaces"


class World:
    """The processes, their database, their brokers if the machine has RabbitMQ, and their cloud.

    The first engine reaches the database through `proxy`, and its clock is `clock`. In namespaces,
    the first API process does so, too; both have a namespace of their own.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        *,
        site: Site = Site.PLAIN,
        apis: int = 1,
        engines: int = 3,
    ) -> None:
        with contextlib.ExitStack() as ends:
            self.kind, self.site = kind, site
            self.rows = 0  # that have run; stacks of each have other names
            self.network = Network(2) if site is Site.NAMESPACES else None
            if self.network is not None:
                ends.callback(self.network.close)
            self._make_database(ends)
            self.cloud = Cloud(host=self._host("cloud"))
            ends.callback(self.cloud.close)
            self.brokers = self._made_brokers(folder, ends)
            self._make_processes(folder, apis, engines)
            for one in (*self.apis, *self.engines):
                ends.callback(one.kill)
                one.start()
            self.ends = ends.pop_all()

    def _host(self, name: str) -> str:
        """The address on which a service listens."""
        assert name in SERVICES
        return LOOPBACK if self.network is None else service(name)

    def _make_database(self, ends: contextlib.ExitStack) -> None:
        """An empty database, the way to it that may be broken, and connections of our own."""
        self.postgresql: Replicated | None = None
        server = SERVERS[self.kind]
        if self.site is Site.REPLICATED:
            self.postgresql = Replicated()
            ends.callback(self.postgresql.close)
            server = self.postgresql.url
        self.url, self.name = fresh_database(self.kind, server)
        self.proxied = self.url
        self.proxy: LossyProxy | None = None
        if self.postgresql is None:
            ends.callback(drop_database, self.kind, self.name)
            proxy = in_front_of(self.url, self._host("database"))
            self.proxied, self.proxy = ends.enter_context(proxy)
        self.database = sa.create_engine(self.url, pool_pre_ping=True)
        ends.callback(self.database.dispose)
        self.server = sa.create_engine(server, isolation_level="AUTOCOMMIT", pool_pre_ping=True)
        ends.callback(self.server.dispose)

    def _made_brokers(self, folder: Path, ends: contextlib.ExitStack) -> Brokers | None:
        if not Broker.is_here():
            return None
        count = 3 if self.site is Site.CLUSTER else 1
        found = Brokers(folder, count, self._host("broker"))
        ends.callback(found.close)
        found.start()
        return found

    def _make_processes(self, folder: Path, apis: int, engines: int) -> None:
        """The processes, which do not run yet."""
        host = LOOPBACK
        if self.network is not None:
            host = self.network.namespaces[0].address("users")
        self.apis = [
            self._hearth(folder / f"api{n}", "api", first=not n, host=LOOPBACK if n else host)
            for n in range(apis)
        ]
        self.engines = [
            self._hearth(folder / f"engine{n}", "engine", first=not n) for n in range(engines)
        ]
        if self.network is not None:
            firsts = self.apis[0], self.engines[0]
            for one, namespace in zip(firsts, self.network.namespaces, strict=True):
                one.namespace = namespace.name
        self.clock = self.engines[0].clock = Clock(folder / "clock")

    def _hearth(self, folder: Path, role: str, *, first: bool, host: str = LOOPBACK) -> Hearth:
        """`first`: the first process of a role, whose connections to the database may be broken."""
        proxied = first and (role == "engine" or self.network is not None)
        database = self.proxied if proxied else self.url
        found = Hearth(folder, self.cloud, database=database, role=role, host=host)
        if self.brokers is not None:
            found.configure("DEFAULT", transport_url=self.brokers.url)
            if self.site in (Site.CLUSTER, Site.NAMESPACES):
                found.configure("oslo_messaging_notifications", driver="messagingv2")
        return found

    @property
    def broker(self) -> Broker:
        """The first broker, to which the processes are connected."""
        assert self.brokers is not None
        return self.brokers.nodes[0]

    def left(self) -> list[str]:
        """What the cloud has too much."""
        return [
            f"{one['collection']} {one['name']}"
            for one in self.cloud.objects()
            if one["deleted"] is None and one["service"] != "identity"
        ]

    def unsent(self) -> int:
        """How many notifications are not sent, although they had the time that a user has."""
        with contextlib.suppress(TimeoutError):
            until("all notifications are sent", lambda: not self._waiting(), LIFE_S)
        return self._waiting()

    def _waiting(self) -> int:
        query = sa.select(sa.func.count()).select_from(tables.outbox)
        with self.database.connect() as connection:
            return int(connection.execute(query).scalar_one())

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
