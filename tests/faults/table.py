"""What happens under each fault: `make faults` prints the table.

    python -m tests.faults.table [--database postgresql|mariadb] [ROW…]

An API process and three engines work on one database, four users create, update and delete stacks,
and for some seconds something goes wrong. Then all users finish. A row is right if no user saw an
error (an answer that says "come back later" is none), no operation was lost or is past its
deadline, and the cloud has exactly what it had before.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import SERVERS
from tests.crash.processes import Client
from tests.faults import faults as f
from tests.faults.broker import Broker
from tests.faults.users import Users
from tests.faults.world import World

USERS = 4
BEFORE_S, AFTER_S = 1.5, 1.0
TAKE_OVER_S = 18.0  # a lease, and a look

WRITES = {"method": "POST"}
SERVERS_MADE = {"service": "compute", "method": "POST", "path_regex": "/servers$"}
READS = {"method": "GET"}
FIRST_READS = {"method": "GET", "first": True}
KEYSTONE = {"service": "identity"}
SOME_TOKENS = {"service": "network", "times": 3}
GARBAGE = '{"networks": [{"id": "4711", "na'
BOTH = frozenset(SERVERS)
POSTGRESQL = frozenset({"postgresql"})


class Fault(NamedTuple):
    """A row before it has run: `means` says how the fault is made.

    `needs_broker`: a machine must have RabbitMQ for it.
    """

    means: str
    happens: Callable[[World], AbstractContextManager[None]]
    databases: frozenset[str] = BOTH
    needs_broker: bool = False

    def is_possible(self, kind: str) -> bool:
        """Return whether this machine can do it with this kind of database."""
        return kind in self.databases and (Broker.is_here() or not self.needs_broker)


def _cloud(means: str, match: Mapping[str, Any], **effect: Any) -> Fault:
    return Fault(means, lambda w: f.in_cloud(w, effect, match=match))


ROWS: dict[str, Fault] = {
    "an engine dies": Fault("SIGKILL", lambda w: f.killed(w, w.engines[:1])),
    "an engine dies and stays away": Fault(
        "SIGKILL", lambda w: f.killed(w, w.engines[:1], away_s=TAKE_OVER_S)
    ),
    "two engines die": Fault("SIGKILL", lambda w: f.killed(w, w.engines[:2])),
    "all engines die": Fault("SIGKILL", lambda w: f.killed(w, w.engines)),
    "the API process dies": Fault("SIGKILL", lambda w: f.killed(w, w.apis[:1])),
    "everything dies": Fault("SIGKILL", lambda w: f.killed(w, [*w.apis, *w.engines])),
    "an engine stands still for 5 s": Fault("SIGSTOP", lambda w: f.stopped(w, w.engines[:1], 5.0)),
    "an engine stands still for 60 s": Fault(
        "SIGSTOP", lambda w: f.stopped(w, w.engines[:1], 60.0)
    ),
    "all engines stand still for 20 s": Fault("SIGSTOP", lambda w: f.stopped(w, w.engines, 20.0)),
    "the API process stands still for 10 s": Fault(
        "SIGSTOP", lambda w: f.stopped(w, w.apis[:1], 10.0)
    ),
    "engines are replaced one by one": Fault("SIGTERM", f.replaced),
    "an engine has no more memory": Fault("RLIMIT_AS", f.memory_limited),
    "the clock of an engine is an hour ahead": Fault(
        "time.time", lambda w: f.clock_wrong(w, f.HOUR_S)
    ),
    "the clock of an engine is an hour late": Fault(
        "time.time", lambda w: f.clock_wrong(w, -f.HOUR_S)
    ),
    "database connections are cut": Fault("terminate, KILL", f.cut_often),
    "the database refuses connections": Fault("ALTER DATABASE, KILL", f.no_connections),
    "the database is read-only": Fault("read_only", f.read_only, POSTGRESQL),
    "a table is locked": Fault("LOCK TABLE", f.locked),
    "all rows of stacks and engines are locked": Fault("SELECT FOR UPDATE", f.rows_locked),
    "transactions deadlock": Fault("SELECT FOR UPDATE", f.deadlocks),
    "answers of COMMITs are lost": Fault("a proxy", f.answers_lost),
    "an engine and the database are separated for 8 s": Fault(
        "a proxy", lambda w: f.route_lost(w, 8.0)
    ),
    "an engine and the database are separated for 40 s": Fault(
        "a proxy", lambda w: f.route_lost(w, 40.0)
    ),
    "the broker dies": Fault("SIGKILL", lambda w: f.broker_dies(w, f.FAULT_S), needs_broker=True),
    "the broker stands still for 20 s": Fault(
        "SIGSTOP", lambda w: f.broker_stopped(w, 20.0), needs_broker=True
    ),
    "writes are answered with 503": _cloud("status 503", WRITES, status=503),
    "writes are answered with 429": _cloud(
        "status 429, Retry-After", WRITES, status=429, retry_after=1
    ),
    "writes are carried out and answered with 504": _cloud(
        "status 504 after", WRITES, status=504, after=True
    ),
    "writes are carried out and answered with 500": _cloud(
        "status 500 after", SERVERS_MADE, status=500, after=True
    ),
    "writes are carried out and not answered": _cloud(
        "connection closed", SERVERS_MADE, withhold=0.5
    ),
    "connections to the cloud are cut": _cloud("drop", READS, drop=True),
    "each read is answered with 502 once": _cloud("status 502", FIRST_READS, status=502),
    "the cloud is slow": _cloud("latency 2 s", {}, latency_s=2.0),
    "the cloud answers garbage": _cloud("half an answer", READS, garble=GARBAGE),
    "Keystone is answered with 503": _cloud("status 503", KEYSTONE, status=503),
    "tokens are refused": _cloud("status 401", SOME_TOKENS, status=401),
}


HEAD = ("fault", "means", "lives", "requests again", "longest life", "past deadline", "ledger",
        "wrong")  # fmt: skip


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
    fault = ROWS[name]
    world.cloud.admin("POST", "ledger/mark")
    clients = [Client(world.cloud, world.apis[0].url) for _ in range(USERS)]
    world.rows += 1
    users = [Users(one, f"r{world.rows}-u{number}") for number, one in enumerate(clients)]
    wrong: list[str] = []
    for one in users:
        one.start()
    time.sleep(BEFORE_S)
    late_s = 0.0
    try:
        with fault.happens(world):
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
    left = world.left()
    wrong += [sentence for one in users for sentence in one.wrong]
    wrong += [f"left over: {text}" for text in left]
    lives, again = sum(one.lives for one in users), sum(one.again for one in users)
    if not lives:
        wrong.append("no life was completed")
    longest_s = max(one.longest_s for one in users)
    return Row(name, fault.means, lives, again, longest_s, late_s, len(left), wrong)


def table(rows: Sequence[str], kind: str, folder: Path) -> list[Row]:
    """Run rows one after the other; print each as soon as it is there."""
    found = []
    world = World(folder, kind)
    with world.ends:
        print(f"| {' | '.join(HEAD)} |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for name in rows:
            if not ROWS[name].is_possible(kind):
                print(f"not possible here: {name}", file=sys.stderr)
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
