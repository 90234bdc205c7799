"""Connections that a server has closed while they were idle."""

import asyncio
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from hearth.store import idle
from hearth.store.database import Store, Tx
from hearth.store.seal import sealer_from_secret
from tests.conftest import SERVERS, drop_database, fresh_database

ONE = sa.select(sa.literal(1).label("one"))
SESSIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity WHERE datname = :name",
    "mariadb": "SELECT id FROM information_schema.processlist WHERE db = :name",
}
END = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}


@pytest.fixture(params=["postgresql", "mariadb"])
def database(request: pytest.FixtureRequest) -> Iterator[tuple[Store, str, str]]:
    url, name = fresh_database(request.param)
    store = Store(url, sealer_from_secret("test secret"))
    yield store, request.param, name
    store.close()
    drop_database(request.param, name)


def one(tx: Tx) -> int:
    return int(tx.value(ONE))


def end_all(kind: str, name: str) -> None:
    """End all sessions in a database, as a server that restarts."""
    engine = sa.create_engine(SERVERS[kind], isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for (session,) in connection.execute(sa.text(SESSIONS[kind]), {"name": name}).all():
            connection.execute(sa.text(END[kind].format(session)))
    engine.dispose()


@pytest.mark.parametrize("ping_after_s", [0.0, 3600.0], ids=["idle for long", "used just now"])
def test_closed_connections_are_replaced(
    database: tuple[Store, str, str], ping_after_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, kind, name = database
    monkeypatch.setattr(idle, "PING_AFTER_S", ping_after_s)

    async def scenario() -> None:
        async def both() -> list[int]:
            return await asyncio.gather(
                *(store.read(one) for _ in range(8)), *(store.run(one) for _ in range(8))
            )

        assert await both() == [1] * 16
        end_all(kind, name)
        assert await both() == [1] * 16

    asyncio.run(scenario())


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)  # MariaDB needs no BEGIN
def test_a_read_is_no_transaction_of_the_server(database: tuple[Store, str, str]) -> None:
    store = database[0]
    begun = sa.select(sa.func.now().label("begun"))

    def twice(tx: Tx) -> bool:
        """Return whether two statements belong to one transaction."""
        return bool(tx.value(begun) == tx.value(begun))

    assert asyncio.run(store.read(twice)) is False
    assert asyncio.run(store.run(twice)) is True
    assert asyncio.run(store.read(twice)) is False
