"""Faults of servers and networks that a world has for itself."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence

import aio_pika

from hearth.bus.notification import addresses
from hearth.bus.postgresql import CHANNEL
from hearth.bus.rabbit_relay import EXCHANGE
from tests.crash.processes import until
from tests.faults.broker import Broker
from tests.faults.network import Namespace
from tests.faults.postgresql import Replicated, Server
from tests.faults.world import World

DETECTED_S = 3.0  # until a supervisor promotes the standby
FULL_S = 15.0
NOTICED_S = 45.0  # until a process gives up connections to a machine that is gone
BLOCK = b"\0" * (1 << 16)
BROKER_AWAY_S = 15.0
FLOOD_S = 6.0
FLOOD_PAUSE_S = 0.005
DELETE_ALL = (
    '[rabbit_amqqueue:delete(Q, false, false, <<"hearth tests">>)'
    ' || Q <- rabbit_amqqueue:list(<<"/">>)].'
)


@contextlib.contextmanager
def partitioned(
    world: World, namespace: Callable[[World], Namespace], edges: Sequence[str], seconds: float
) -> Iterator[None]:
    """Packets between a process and others are lost, in both directions."""
    with namespace(world).cut(*edges):
        time.sleep(seconds)
    yield


def api_process(world: World) -> Namespace:
    """Return the namespace of the API process."""
    assert world.network is not None
    return world.network.namespaces[0]


def engine(world: World) -> Namespace:
    """Return the namespace of the first engine."""
    assert world.network is not None
    return world.network.namespaces[1]


@contextlib.contextmanager
def restarted(world: World) -> Iterator[None]:
    """The database server ends at once, as by `pg_ctl restart -m immediate`, twice."""
    primary = _servers(world).primary
    for _ in range(2):
        primary.end(signal.SIGQUIT)
        primary.start()
        time.sleep(1.0)
    yield


@contextlib.contextmanager
def disk_full(world: World) -> Iterator[None]:
    """The disk of the database server is full. A supervisor starts the server when it has ended."""
    primary = _servers(world).primary
    file, ends = primary.disk / "full", time.monotonic() + FULL_S
    with file.open("wb", buffering=0) as opened:
        while time.monotonic() < ends:
            with contextlib.suppress(OSError):
                while True:  # also what the server gives back
                    opened.write(BLOCK)
            _supervise(primary)
            time.sleep(0.2)
    file.unlink()
    while not primary.answers():
        _supervise(primary)
        time.sleep(0.2)
    yield


def _supervise(server: Server) -> None:
    if server.ended():
        server.launch()


@contextlib.contextmanager
def failed_over(world: World) -> Iterator[None]:
    """The machine of the primary is gone, and its standby is promoted. Later there is another."""
    servers = _servers(world)
    servers.primary.end(signal.SIGKILL)
    time.sleep(DETECTED_S)
    servers.fail_over()
    time.sleep(DETECTED_S)
    servers.replicate()
    yield


@contextlib.contextmanager
def vanished(world: World) -> Iterator[None]:
    """The machine of the primary is gone without a word, and its standby is promoted."""
    servers = _servers(world)
    servers.be_far()
    try:
        with servers.cut():
            time.sleep(DETECTED_S)
            servers.fail_over()
            until("all engines work with the new primary", lambda: _all_beat(world), NOTICED_S)
            servers.standby.end(signal.SIGKILL)
    finally:  # the old primary must not come back as one
        if not servers.standby.ended():
            servers.standby.end(signal.SIGKILL)
        servers.replicate()
    yield


def _all_beat(world: World) -> bool:
    text = "SELECT count(*) FROM engine WHERE beat_at > extract(epoch FROM clock_timestamp()) - 3"
    return _servers(world).primary.run(text, world.name) == [(len(world.engines),)]


@contextlib.contextmanager
def replica_stopped(world: World, seconds: float) -> Iterator[None]:
    """The standby stands still, and each COMMIT waits for it."""
    standby = _servers(world).standby
    standby.send(signal.SIGSTOP)
    time.sleep(seconds)
    standby.send(signal.SIGCONT)
    yield


def _servers(world: World) -> Replicated:
    assert world.postgresql is not None
    return world.postgresql


@contextlib.contextmanager
def brokers_die(world: World, count: int) -> Iterator[None]:
    """The first brokers of a cluster die, and are started again."""
    dying = _nodes(world)[:count]
    for one in dying:
        one.kill()
    time.sleep(BROKER_AWAY_S)
    for one in dying:
        one.launch()
    for one in _nodes(world):
        one.ready()
    yield


@contextlib.contextmanager
def broker_cut_off(world: World, seconds: float) -> Iterator[None]:
    """The first broker of a cluster does not hear the others, which do not wait for it."""
    first, *_ = _nodes(world)
    first.send(signal.SIGSTOP)
    time.sleep(seconds)
    first.send(signal.SIGCONT)
    for one in _nodes(world):
        one.ready()
    yield


@contextlib.contextmanager
def queues_deleted(world: World) -> Iterator[None]:
    """An administrator deletes all queues, twice, also those of one connection."""
    for _ in range(2):
        world.broker.control("eval", DELETE_ALL)
        time.sleep(2.0)
    yield


@contextlib.contextmanager
def flooded(world: World) -> Iterator[None]:
    """Wake-ups come again and again, and each for nothing."""
    if world.kind == "postgresql":
        ends = time.monotonic() + FLOOD_S
        while time.monotonic() < ends:
            with world.database.begin() as connection:
                connection.exec_driver_sql(f"NOTIFY {CHANNEL}, 'nobody'")
            time.sleep(FLOOD_PAUSE_S)
    else:
        asyncio.run(_flood(world))
    yield


async def _flood(world: World) -> None:
    (url,) = addresses(f"rabbit://{world.broker.address}/")
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        exchange = await channel.get_exchange(EXCHANGE)
        ends = time.monotonic() + FLOOD_S
        while time.monotonic() < ends:
            await exchange.publish(aio_pika.Message(b"\xff nobody"), routing_key="")
            await asyncio.sleep(FLOOD_PAUSE_S)


def _nodes(world: World) -> Sequence[Broker]:
    assert world.brokers is not None
    return world.brokers.nodes
