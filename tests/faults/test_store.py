"""The database fails while a stack is being made: it stops, and goes on by itself.

Real processes: a cloud, and a Hearth whose database is locked, full, or cut off at the moment when
the cloud's answers come in.
"""

from __future__ import annotations

import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
import sqlalchemy as sa

from tests.conftest import SERVERS, drop_database, fresh_database
from tests.crash import account
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.engine.worker.test_faults import SMALL
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

WANTED = {"network.networks": 1, "network.subnets": 1, "compute.servers": 1, "identity.trusts": 1}
OUT_S = 7.0  # longer than a driver waits for a lock
END_S = 90.0
SERVER_CALL = {"service": "compute", "method": "POST", "path_regex": "/servers$"}


def live_through(folder: Path, fault: Callable[[Hearth], object], database: str | None) -> None:
    """Make and delete a stack; the answer to the server's call comes during the fault."""
    cloud = Cloud()
    hearth = Hearth(folder, cloud, database=database)
    hearth.start()
    client = Client(cloud, hearth.url)
    try:
        cloud.admin("POST", "ledger/mark")
        cloud.knobs([{"match": SERVER_CALL, "effect": {"hold": True}}])
        ident = client.create("web", SMALL, {})
        until("the server's call", lambda: cloud.waiting() == 1, 30)
        with fault(hearth):  # type: ignore[attr-defined]
            cloud.clear()
            time.sleep(OUT_S)
            if database is None:
                assert health(hearth) == 503
        check_ended(client, ident, "CREATE_COMPLETE")
        until("the health check", lambda: health(hearth) == 200, 10)
        assert account.after_create(cloud.objects(), WANTED).wrong == []
        until("the API", lambda: client.state("web", ident)[0] == "CREATE_COMPLETE", 10)
        client.delete("web", ident)
        check_ended(client, ident, "DELETE_COMPLETE", "GONE")
        assert account.after_delete(cloud.objects()) == []
    finally:
        client.close()
        hearth.kill()
        cloud.close()


def health(hearth: Hearth) -> int:
    """Return the status of the health check, also while nothing can be written."""
    address = urlsplit(hearth.url)
    origin = f"{address.scheme}://{address.netloc}"
    return requests.get(f"{origin}/healthcheck", timeout=10).status_code


def check_ended(client: Client, ident: str, *states: str) -> None:
    def ended() -> bool:
        state = state_of(client, ident)
        return bool(state) and not state.endswith("_IN_PROGRESS")

    until("the end of the stack", ended, END_S)
    assert state_of(client, ident) in states


def state_of(client: Client, ident: str) -> str:
    """The state; none while the API has no database."""
    reply = client.call("GET", f"/stacks/web/{ident}")
    if reply is None or reply.status_code >= 500:
        return ""
    return "GONE" if reply.status_code == 404 else str(reply.json()["stack"]["stack_status"])


@contextmanager
def locked(hearth: Hearth) -> Iterator[None]:
    """Another process has the file."""
    with sqlite3.connect(hearth.file, timeout=10, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")
    other.close()


@contextmanager
def full(hearth: Hearth) -> Iterator[None]:
    """No file of Hearth's may grow."""
    assert hearth.process is not None
    pid, before = hearth.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("fault", [locked, full])
def test_a_file_that_cannot_be_written_is_waited_for(
    fault: Callable[[Hearth], object], tmp_path: Path
) -> None:
    live_through(tmp_path, fault, None)


@pytest.fixture(params=["postgresql", "mariadb"])
def server_database(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, str]]:
    """Kind, URL and name of a fresh database on a server."""
    url, name = fresh_database(request.param)
    yield request.param, url, name
    drop_database(request.param, name)


def test_connections_that_are_cut_are_made_anew(
    server_database: tuple[str, str, str], tmp_path: Path
) -> None:
    kind, url, name = server_database
    live_through(tmp_path, lambda _: cut_again_and_again(kind, name), url)


@contextmanager
def cut_again_and_again(kind: str, name: str) -> Iterator[None]:
    """Every connection to the database is cut, before and after."""
    cut(kind, name)
    yield
    cut(kind, name)


def cut(kind: str, name: str) -> None:
    server = sa.create_engine(SERVERS[kind], isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        if kind == "postgresql":
            text = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
            connection.execute(sa.text(text), {"name": name})
        else:
            text = "SELECT id FROM information_schema.processlist WHERE db = :name"
            for (ident,) in connection.execute(sa.text(text), {"name": name}).all():
                connection.execute(sa.text(f"KILL {int(ident)}"))
    server.dispose()


def test_a_server_that_is_away_for_seconds_is_waited_for(tmp_path: Path) -> None:
    url, name = fresh_database("postgresql")
    try:
        live_through(tmp_path, lambda _: away(name), url)
    finally:
        drop_database("postgresql", name)


@contextmanager
def away(name: str) -> Iterator[None]:
    """Nobody may connect, and who is connected is cut off."""
    server = sa.create_engine(SERVERS["postgresql"], isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
        cut("postgresql", name)
        yield
        connection.execute(sa.text(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
    server.dispose()
