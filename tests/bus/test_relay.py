"""Wake-ups between processes, by PostgreSQL and by RabbitMQ: who is woken, what failures cost."""

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import aio_pika
import psycopg
import pytest
import sqlalchemy as sa
from msgspec import Struct

from hearth.bus import rabbit_relay
from hearth.bus import relay as relays
from hearth.bus.local import Bus
from hearth.bus.postgresql import PostgresRelay
from hearth.bus.rabbit_relay import RabbitRelay
from hearth.bus.relay import Relay
from tests.conftest import drop_database, fresh_database, lacking

BROKER = os.environ.get("HEARTH_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/")
LONG_S = 10.0


class Process:
    """A process with a bus, and how often its listeners were woken."""

    def __init__(self, make: Callable[[str, Callable[[], None]], Relay], name: str) -> None:
        self.bus = Bus()
        self.woken = 0
        self.bus.listen(self._wake)
        self.relay = make(name, self.bus.wake)
        self.bus.relay(self.relay.tell)

    def _wake(self) -> None:
        self.woken += 1


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG_S):
        while not true():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(
    make: Callable[[str, Callable[[], None]], Relay], count: int
) -> AsyncIterator[list[Process]]:
    """Processes that are connected: each was woken once for what it may have missed."""
    processes = [Process(make, f"process {number}") for number in range(count)]
    tasks = [asyncio.create_task(one.relay.run()) for one in processes]
    try:
        await until(lambda: all(one.woken for one in processes))
        for one in processes:
            one.woken = 0
        yield processes
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def postgres_cut(url: sa.URL) -> None:
    async with await psycopg.AsyncConnection.connect(
        host=url.host, port=url.port, user=url.username, dbname=url.database, autocommit=True
    ) as link:
        await link.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )


async def rabbit_cut() -> None:
    connection = await aio_pika.connect(BROKER.replace("rabbit:", "amqp:"))
    async with connection:
        channel = await connection.channel()
        await channel.exchange_delete(rabbit_relay.EXCHANGE)


class Kind(Struct):
    """How processes are connected: how a relay is made, and how all connections are cut."""

    name: str
    make: Callable[[str, Callable[[], None]], Relay]
    cut: Callable[[], Coroutine[Any, Any, None]]


@pytest.fixture(params=["postgresql", "rabbitmq"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    """Each in a database or with an exchange that no other test has."""
    if request.param == "postgresql":
        text, name = fresh_database("postgresql")
        url = sa.make_url(text)
        yield Kind("postgresql", partial(PostgresRelay, url), partial(postgres_cut, url))
        drop_database("postgresql", name)
        return

    async def look() -> None:
        await (await aio_pika.connect(BROKER.replace("rabbit:", "amqp:"))).close()

    try:
        asyncio.run(look())
    except OSError:
        lacking("a rabbitmq server")
    monkeypatch.setattr(rabbit_relay, "EXCHANGE", f"hearth.work.{uuid.uuid4().hex}")
    yield Kind("rabbitmq", partial(RabbitRelay, BROKER), rabbit_cut)


def test_work_that_one_accepts_wakes_all_and_each_once(kind: Kind) -> None:
    async def story() -> list[int]:
        async with running(kind.make, 3) as (one, two, three):
            for _ in range(50):  # as many requests in a moment
                one.bus.tell()
            await until(lambda: bool(two.woken and three.woken))
            await asyncio.sleep(0.1)
            return [one.woken, two.woken, three.woken]

    here, *there = asyncio.run(story())
    assert here == 50  # its own listeners at once, and never by the relay
    assert all(1 <= count <= 3 for count in there), there


def test_a_stack_of_one_process_wakes_only_the_others(kind: Kind) -> None:
    async def story() -> tuple[int, int]:
        async with running(kind.make, 2) as (one, two):
            one.bus.tell_others()
            await until(lambda: bool(two.woken))
            return one.woken, two.woken

    assert asyncio.run(story()) == (0, 1)


def test_connections_that_break_are_made_again_and_nothing_is_missed(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "AGAIN_S", 0.05)

    async def story() -> None:
        async with running(kind.make, 2) as (one, two):
            await kind.cut()
            if kind.name == "postgresql":  # both look once more when they are connected again
                await until(lambda: bool(one.woken and two.woken))
            one.woken = two.woken = 0
            async with asyncio.timeout(LONG_S):
                while not (one.woken and two.woken):
                    one.relay.tell()
                    two.relay.tell()
                    await asyncio.sleep(0.05)

    asyncio.run(story())


@pytest.mark.parametrize("kind", ["rabbitmq"], indirect=True)
def test_a_process_that_hears_nothing_any_more_connects_again(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relays, "AGAIN_S", 0.05)
    monkeypatch.setattr(rabbit_relay, "SEND_S", 0.2)

    async def story() -> None:
        async with running(kind.make, 2) as (one, two):
            await bindings_lost()
            async with asyncio.timeout(LONG_S):
                while not (one.woken and two.woken):  # each sends, and nobody has a queue there
                    one.relay.tell()
                    two.relay.tell()
                    await asyncio.sleep(0.05)

    asyncio.run(story())


async def bindings_lost() -> None:
    """Replace the exchange by one that no queue is bound to."""
    async with await aio_pika.connect(BROKER.replace("rabbit:", "amqp:")) as connection:
        channel = await connection.channel()
        await channel.exchange_delete(rabbit_relay.EXCHANGE)
        await channel.declare_exchange(
            rabbit_relay.EXCHANGE, aio_pika.ExchangeType.FANOUT, durable=False, auto_delete=True
        )


@pytest.mark.parametrize(
    "make",
    [
        partial(PostgresRelay, sa.make_url("postgresql+psycopg://nobody@127.0.0.1:1/none")),
        partial(RabbitRelay, "rabbit://u:secret@127.0.0.1:1/"),
    ],
    ids=["postgresql", "rabbitmq"],
)
def test_who_cannot_connect_says_so_once_and_goes_on(
    make: Callable[[str, Callable[[], None]], Relay],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(relays, "AGAIN_S", 0.01)
    process = Process(make, "alone")

    async def story() -> None:
        task = asyncio.create_task(process.relay.run())
        process.bus.tell()
        await asyncio.sleep(0.5)
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(story())
    assert process.woken == 1
    warned = [one for one in caplog.records if one.levelname == "WARNING"]
    assert len(warned) == 1
    assert "only by polling the database" in warned[0].getMessage()
    assert "secret" not in caplog.text


def test_each_connection_that_fails_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(relays, "AGAIN_S", 0.0)
    ends = iter(["first", "refused", "refused", "second", "refused"])

    class Flapping(Relay):
        failures = (OSError,)

        async def relay(self) -> None:
            word = next(ends, None)
            if word is None:
                raise ValueError("the end of the test")
            if word == "refused":
                raise OSError(word)

            async def cut() -> None:
                raise OSError(word)

            async def send() -> None:
                pass

            await self.send_until(cut(), send)

    with pytest.raises(ValueError, match="the end"):
        asyncio.run(Flapping("one", lambda: None).run())
    warned = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert [one.rpartition(": ")[2] for one in warned] == ["first", "second"]


def test_what_is_no_failure_of_a_connection_ends_it() -> None:
    class Broken(Relay):
        failures = (OSError,)

        async def relay(self) -> None:
            raise ValueError("a fault of the program")

    with pytest.raises(ValueError, match="a fault"):
        asyncio.run(Broken("one", lambda: None).run())


@pytest.mark.parametrize("after", [OSError("the connection was closed"), None])
def test_it_ends_when_it_is_cancelled_although_a_library_swallows_that(
    after: Exception | None,
) -> None:
    class Deaf(Relay):
        failures = (OSError,)

        async def relay(self) -> None:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(LONG_S)
            if after is not None:
                raise after

    async def story() -> None:
        task = asyncio.create_task(Deaf("one", lambda: None).run())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task], timeout=relays.AGAIN_S / 2)
        assert task.cancelled()

    asyncio.run(story())


def test_the_options_of_the_database_url_are_those_of_the_connections() -> None:
    url = sa.make_url(
        "postgresql+psycopg://u:p@/hearth?host=a:1&host=b:2&connect_timeout=3&sslmode=require"
    )
    found = PostgresRelay(url, "one", lambda: None)._target
    assert (found["host"], found["port"], found["user"]) == ("a,b", "1,2", "u")
    assert (found["connect_timeout"], found["sslmode"]) == ("3", "require")
