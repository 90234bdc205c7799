"""Faults: each is a context manager that is entered when its fault has begun and ended."""

import contextlib
import resource
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.crash.processes import Client, Hearth, until
from tests.faults.proxy import Loss
from tests.faults.world import World

FAULT_S = 6.0
HOUR_S = 3600.0
LARGE_S = 60.0


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
        _lock_rows(connection)
        time.sleep(FAULT_S)
        connection.rollback()
    yield


def _lock_rows(connection: sa.Connection) -> None:
    """Lock the rows. The service locks some of them in another order, so a deadlock may end this
    attempt; then the next one follows."""
    for last in (*[False] * 9, True):
        try:
            for table in ("stack", "engine"):
                connection.execute(sa.text(f"SELECT id FROM {table} FOR UPDATE"))
            return
        except sa.exc.OperationalError:
            connection.rollback()
            if last:
                raise


@contextlib.contextmanager
def answers_lost(world: World) -> Iterator[None]:
    """The first engine hears nothing of every fifth COMMIT; every second of these is not carried
    out either."""
    assert world.proxy is not None
    losses = [Loss(carried_out=bool(n % 2), spared=4) for n in range(20)]
    world.proxy.lose(*losses)
    time.sleep(FAULT_S)
    world.proxy.lose_no_more()
    yield


@contextlib.contextmanager
def route_lost(world: World, seconds: float) -> Iterator[None]:
    """The first engine and the database do not reach each other; no connection is closed."""
    assert world.proxy is not None
    world.proxy.hold()
    time.sleep(seconds)
    world.proxy.let_go()
    yield


@contextlib.contextmanager
def clock_wrong(world: World, by_s: float) -> Iterator[None]:
    """The clock of the first engine jumps, and jumps back."""
    world.clock.set(by_s)
    time.sleep(FAULT_S)
    world.clock.set(0.0)
    yield


@contextlib.contextmanager
def deadlocks(world: World) -> Iterator[None]:
    """Two other sessions lock the stacks and their resources, in opposite orders."""
    ends = time.monotonic() + FAULT_S
    statements = ["SELECT id FROM stack FOR UPDATE", "SELECT id FROM resource FOR UPDATE"]

    def lock(order: Sequence[str]) -> None:
        while time.monotonic() < ends:
            with contextlib.suppress(sa.exc.DBAPIError), world.database.connect() as connection:
                for text in order:
                    connection.execute(sa.text(text))
                    time.sleep(0.05)
                connection.rollback()

    threads = [
        threading.Thread(target=lock, args=(order,)) for order in (statements, statements[::-1])
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    yield


LARGE = """
heat_template_version: 2021-04-16
parameters: {text: {type: string}}
resources:
""" + "".join(
    f"  r{n}: {{type: OS::Heat::Value, properties: {{value: [{n}, {{get_param: text}}]}}}}\n"
    for n in range(400)
)
GONE = ("GONE", "DELETE_COMPLETE")
LARGE_TEXT = "x" * 5_000


@contextlib.contextmanager
def memory_limited(world: World) -> Iterator[None]:
    """No engine gets more memory than it has, when a stack comes that needs much."""
    client = Client(world.cloud, world.apis[0].url)
    before = {one.pid: resource.prlimit(one.pid, resource.RLIMIT_AS) for one in world.engines}
    for pid, (_, most) in before.items():
        resource.prlimit(pid, resource.RLIMIT_AS, (_size(pid), most))
    name = f"large-{world.rows}"
    ident = client.create(name, LARGE, {}, parameters={"text": LARGE_TEXT})
    time.sleep(FAULT_S)
    for pid, limits in before.items():
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, limits)

    def state() -> str:
        for one in world.engines:
            if one.ended():  # a supervisor starts it again
                one.kill()
                one.start()
        return client.state(name, ident)[0]

    until("the large stack ends", lambda: state().endswith("E"), LARGE_S)
    client.delete(name, ident)
    until("it is deleted", lambda: state() in GONE, LARGE_S)
    client.close()
    yield


def _size(pid: int) -> int:
    """The address space of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [one for one in status.splitlines() if one.startswith("VmSize")]
    return int(line.split()[1]) * 1024


@contextlib.contextmanager
def broker_dies(world: World, away_s: float) -> Iterator[None]:
    """The broker dies and is started again."""
    world.broker.kill()
    time.sleep(away_s)
    world.broker.start()
    yield


@contextlib.contextmanager
def broker_stopped(world: World, seconds: float) -> Iterator[None]:
    """The broker stands still."""
    world.broker.send(signal.SIGSTOP)
    time.sleep(seconds)
    world.broker.send(signal.SIGCONT)
    yield
