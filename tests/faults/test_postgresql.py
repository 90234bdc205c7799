"""Servers of our own: a COMMIT that was answered is on the replica, too."""

import asyncio
import signal
from collections.abc import Iterator
from functools import partial

import pytest
import sqlalchemy as sa

from hearth.bus.postgresql import PostgresRelay
from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from tests.bus.test_relay import running, until
from tests.conftest import lacking
from tests.faults.postgresql import Replicated, Server

pytestmark = pytest.mark.slow


@pytest.fixture
def servers() -> Iterator[Replicated]:
    if not Server.is_here():
        lacking("root, network namespaces, setpriv and the programs of PostgreSQL")
    made = Replicated()
    yield made
    made.close()


def test_a_store_follows_the_primary(servers: Replicated):
    store = Store(servers.url, sealer_from_secret("test secret"))
    store.transact(lambda tx: tx.execute(sa.text("CREATE TABLE seen (number INTEGER)")))
    for number in range(2):
        write = sa.text("INSERT INTO seen VALUES (:number)").bindparams(number=number)
        store.transact(lambda tx, write=write: tx.execute(write))  # type: ignore[misc]
        servers.primary.end(signal.SIGKILL)
        servers.fail_over()
        servers.replicate()
    read = sa.text("SELECT number FROM seen ORDER BY number")
    assert [row.number for row in store.transact(lambda tx: tx.rows(read))] == [0, 1]
    store.close()


def test_wake_ups_follow_the_primary(servers: Replicated):
    def fail_over() -> None:
        servers.primary.end(signal.SIGKILL)
        servers.fail_over()

    async def story() -> None:
        make = partial(PostgresRelay, sa.make_url(servers.url))
        async with running(make, 2) as (one, two):
            await asyncio.to_thread(fail_over)
            await until(lambda: bool(one.woken and two.woken))  # both are connected again
            two.woken = 0
            one.relay.tell()
            await until(lambda: bool(two.woken))

    asyncio.run(story())
