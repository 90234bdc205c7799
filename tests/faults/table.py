"""What happens under each fault: `make faults` prints the table.

    python -m tests.faults.table [--database postgresql|mariadb] [ROW…]

An API process and three engines work on one database, four users create, update and delete stacks,
and for some seconds something goes wrong. Then all users finish. A row is right if no user saw an
error (an answer that says "come back later" is none), no operation was lost or is past its
deadline, and the cloud has exactly what it had before.
"""

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from hearth.store import tables
from tests.conftest import SERVERS, drop_database, fresh_database
from tests.crash.processes import Client, Cloud, Hearth
from tests.faults.users import Users

USERS = 4
BEFORE_S, AFTER_S = 1.5, 1.0
FAULT_S = 6.0
TAKE_OVER_S = 18.0  # a lease, and a look


class World:
    """The processes, their database and their cloud."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.ends = contextlib.ExitStack()
        self.kind = kind
        self.rows = 0  # that have run; stacks of each have other names
        self.url, self.name = fresh_database(kind)
        self.ends.callback(drop_database, kind, self.name)
        self.cloud = Cloud()
        self.ends.callback(self.cloud.close)
        self.api = Hearth(folder / "api", self.cloud, database=self.url, role="api")
        self.engines = [
            Hearth(folder / f"engine{number}", self.cloud, database=self.url, role="engine")
            for number in range(3)
        ]
        for one in (self.api, *self.engines):
            self.ends.callback(one.kill)
            one.start()
        self.database = sa.create_engine(self.url, pool_pre_ping=True)
        self.ends.callback(self.database.dispose)
        self.server = sa.create_engine(SERVERS[kind], isolation_level="AUTOCOMMIT")
        self.ends.callback(self.server.dispose)

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


Fault = Callable[[World], AbstractContextManager[None]]


@contextlib.contextmanager
def killed(world: World, processes: Sequence[Hearth], *, away_s: float = 0.0) -> Iterator[None]:
    """Processes die by SIGKILL and are started again."""
    for one in processes:
        one.kill()
    time.sleep(away_s)
    for one in processes:
        one.start()
    yield


@contextlib.contextmanager
def stopped(world: World, processes: Sequence[Hearth], seconds: float) -> Iterator[None]:
    """Processes stand still."""
    for one in processes:
        one.send(signal.SIGSTOP)
    time.sleep(seconds)
    for one in processes:
        one.send(signal.SIGCONT)
    yield


@contextlib.contextmanager
def replaced(world: World) -> Iterator[None]:
    """Each engine is stopped gracefully and started again, one after the other."""
    for one in world.engines:
        one.close()
        one.start()
    yield


@contextlib.contextmanager
def in_cloud(world: World, *effects: Mapping[str, Any], match: Mapping[str, Any]) -> Iterator[None]:
    """Calls to the cloud get faults."""
    world.cloud.knobs([{"match": dict(match), "effect": dict(one)} for one in effects])
    try:
        time.sleep(FAULT_S)
        yield
    finally:
        world.cloud.clear()


@contextlib.contextmanager
def cut_often(world: World) -> Iterator[None]:
    """All connections to the database end, again and again."""
    for _ in range(6):
        world.cut()
        time.sleep(FAULT_S / 6)
    yield


@contextlib.contextmanager
def locked(world: World) -> Iterator[None]:
    """Another session holds a lock on the table of stacks."""
    lock = ("LOCK TABLE stack IN ACCESS EXCLUSIVE MODE" if world.kind == "postgresql"
            else "LOCK TABLES stack WRITE")  # fmt: skip
    with world.database.connect() as connection:
        connection.execute(sa.text(lock))
        time.sleep(FAULT_S)
        if world.kind != "postgresql":
            connection.execute(sa.text("UNLOCK TABLES"))
        connection.rollback()
    yield


@contextlib.contextmanager
def read_only(world: World) -> Iterator[None]:
    """The database takes no writes, as after a failover to a replica."""
    turn = f"ALTER DATABASE {world.name} SET default_transaction_read_only ="
    world.on_server(f"{turn} on")
    world.cut()
    time.sleep(FAULT_S)
    world.on_server(f"{turn} off")
    world.cut()
    yield


@contextlib.contextmanager
def no_connections(world: World) -> Iterator[None]:
    """The database refuses connections."""
    if world.kind == "postgresql":
        world.on_server(f"ALTER DATABASE {world.name} CONNECTION LIMIT 0")
        ends = time.monotonic() + FAULT_S
        allow = f"ALTER DATABASE {world.name} ALLOW_CONNECTIONS "
        world.on_server(f"{allow}false")
        while time.monotonic() < ends:
            world.cut()
            time.sleep(0.2)
        world.on_server(f"{allow}true")
        world.on_server(f"ALTER DATABASE {world.name} CONNECTION LIMIT -1")
    else:
        ends = time.monotonic() + FAULT_S
        while time.monotonic() < ends:
            world.cut()
            time.sleep(0.05)
    yield


@contextlib.contextmanager
def rows_locked(world: World) -> Iterator[None]:
    """Another session holds the rows of all stacks, and of all engines."""
    with world.database.connect() as connection:
        connection.execute(sa.text("SELECT id FROM stack FOR UPDATE"))
        connection.execute(sa.text("SELECT id FROM engine FOR UPDATE"))
        time.sleep(FAULT_S)
        connection.rollback()
    yield


WRITES = {"method": "POST"}
SERVERS_MADE = {"service": "compute", "method": "POST", "path_regex": "/servers$"}
READS = {"method": "GET"}
FIRST_READS = {"method": "GET", "first": True}
KEYSTONE = {"service": "identity"}

ROWS: dict[str, tuple[str, Fault]] = {
    "an engine dies": ("SIGKILL", lambda w: killed(w, w.engines[:1])),
    "an engine dies and stays away": (
        "SIGKILL", lambda w: killed(w, w.engines[:1], away_s=TAKE_OVER_S)
    ),
    "two engines die": ("SIGKILL", lambda w: killed(w, w.engines[:2])),
    "all engines die": ("SIGKILL", lambda w: killed(w, w.engines)),
    "the API process dies": ("SIGKILL", lambda w: killed(w, [w.api])),
    "everything dies": ("SIGKILL", lambda w: killed(w, [w.api, *w.engines])),
    "an engine stands still for 5 s": ("SIGSTOP", lambda w: stopped(w, w.engines[:1], 5.0)),
    "an engine stands still for 60 s": ("SIGSTOP", lambda w: stopped(w, w.engines[:1], 60.0)),
    "all engines stand still for 20 s": ("SIGSTOP", lambda w: stopped(w, w.engines, 20.0)),
    "the API process stands still for 10 s": ("SIGSTOP", lambda w: stopped(w, [w.api], 10.0)),
    "engines are replaced one by one": ("SIGTERM", replaced),
    "database connections are cut": ("terminate, KILL", cut_often),
    "the database refuses connections": ("ALTER DATABASE, KILL", no_connections),
    "the database is read-only": ("read_only", read_only),
    "a table is locked": ("LOCK TABLE", locked),
    "all rows of stacks and engines are locked": ("SELECT FOR UPDATE", rows_locked),
    "writes are answered with 503": (
        "status 503", lambda w: in_cloud(w, {"status": 503}, match=WRITES)
    ),
    "writes are answered with 429": (
        "status 429, Retry-After",
        lambda w: in_cloud(w, {"status": 429, "retry_after": 1}, match=WRITES),
    ),
    "writes are carried out and answered with 504": (
        "status 504 after", lambda w: in_cloud(w, {"status": 504, "after": True}, match=WRITES)
    ),
    "writes are carried out and answered with 500": (
        "status 500 after", lambda w: in_cloud(w, {"status": 500, "after": True},
                                               match=SERVERS_MADE)
    ),
    "writes are carried out and not answered": (
        "connection closed", lambda w: in_cloud(w, {"withhold": 0.5}, match=SERVERS_MADE)
    ),
    "connections to the cloud are cut": (
        "drop", lambda w: in_cloud(w, {"drop": True}, match=READS)
    ),
    "each read is answered with 502 once": (
        "status 502", lambda w: in_cloud(w, {"status": 502}, match=FIRST_READS)
    ),
    "the cloud is slow": ("latency 2 s", lambda w: in_cloud(w, {"latency_s": 2.0}, match={})),
    "the cloud answers garbage": (
        "half an answer",
        lambda w: in_cloud(w, {"garble": '{"networks": [{"id": "4711", "na'}, match=READS),
    ),
    "Keystone is answered with 503": (
        "status 503", lambda w: in_cloud(w, {"status": 503}, match=KEYSTONE)
    ),
    "tokens are refused": (
        "status 401", lambda w: in_cloud(w, {"status": 401}, match={"service": "network",
                                                                     "times": 3})
    ),
}  # fmt: skip


HEAD = ("fault", "means", "lives", "requests again", "longest life", "past deadline", "ledger",
        "wrong")  # fmt: skip


ONLY_POSTGRESQL = frozenset({"the database is read-only"})
"""Rows for one database: MariaDB can only turn read-only with all databases of the server."""


class Row(NamedTuple):
    """The result of a row. `ledger` is what the cloud has too much."""

    name: str
    means: str
    lives: int
    again: int
    longest_s: float
    late_s: float
    ledger: int
    wrong: list[str]


def row(world: World, name: str) -> Row:
    """Let a fault happen while users work."""
    means, fault = ROWS[name]
    world.cloud.admin("POST", "ledger/mark")
    clients = [Client(world.cloud, world.api.url) for _ in range(USERS)]
    world.rows += 1
    users = [Users(one, f"r{world.rows}-u{number}") for number, one in enumerate(clients)]
    wrong: list[str] = []
    for one in users:
        one.start()
    time.sleep(BEFORE_S)
    late_s = 0.0
    try:
        with fault(world):
            late_s = world.late_s()
        time.sleep(AFTER_S)
    except Exception as problem:
        wrong.append(f"the fault itself: {problem}")
    finally:
        world.cloud.clear()
        for one in users:
            one.close()
        for client in clients:
            client.close()
    late_s = max(late_s, world.late_s())
    left = [one for one in world.cloud.objects()
            if one["deleted"] is None and one["service"] != "identity"]  # fmt: skip
    wrong += [sentence for one in users for sentence in one.wrong]
    wrong += [f"left over: {one['collection']} {one['name']}" for one in left]
    lives, again = sum(one.lives for one in users), sum(one.again for one in users)
    if not lives:
        wrong.append("no life was completed")
    longest_s = max(one.longest_s for one in users)
    return Row(name, means, lives, again, longest_s, late_s, len(left), wrong)


def table(rows: Sequence[str], kind: str, folder: Path) -> list[Row]:
    """Run rows one after the other; print each as soon as it is there."""
    found = []
    world = World(folder, kind)
    with world.ends:
        print(f"| {' | '.join(HEAD)} |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name in rows:
            if kind != "postgresql" and name in ONLY_POSTGRESQL:
                continue
            one = row(world, name)
            found.append(one)
            print(
                f"| {one.name} | {one.means} | {one.lives} | {one.again} | {one.longest_s:.1f} s |"
                f" {one.late_s:.1f} s | {one.ledger:+d} | {len(one.wrong)} |", flush=True,
            )  # fmt: skip
            for sentence in one.wrong[:5]:
                print(f"    {sentence}", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.table")
    parser.add_argument("--database", choices=sorted(SERVERS), default="postgresql")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], help="all by default")
    told = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = table(told.rows or list(ROWS), told.database, Path(folder))
    if told.json is not None:
        told.json.write_text(json.dumps([one._asdict() for one in found], indent=2))
    wrong = sum(bool(one.wrong) for one in found)
    print(f"{len(found)} faults, {wrong} wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
