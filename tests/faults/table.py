"""What happens under each fault: `make faults` prints the table.

    python -m tests.faults.table [--database postgresql|mariadb] [ROW…]

An API process and three engines work on one database, four users create, update and delete stacks,
and for some seconds something goes wrong. Then all users finish. A row is right if no user saw an
error (an answer that says "come back later" is none), no operation was lost or is past its
deadline, the cloud has exactly what it had before, and all notifications are sent. Some rows have a
world that stands on other servers, or on a network that can be cut; see `tests.faults.world.Site`.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conftest import SERVERS
from tests.crash.processes import Client
from tests.faults.rows import ROWS
from tests.faults.users import Users
from tests.faults.world import Site, World

USERS = 4
BEFORE_S, AFTER_S = 1.5, 1.0
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
    if unsent := world.unsent():
        wrong.append(f"{unsent} notifications are not sent")
    longest_s = max(one.longest_s for one in users)
    return Row(name, fault.means, lives, again, longest_s, late_s, len(left), wrong)


def table(rows: Sequence[str], kind: str, folder: Path) -> list[Row]:
    """Run rows, those of a world one after the other; print each as soon as it is there."""
    print(f"| {' | '.join(HEAD)} |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    found: list[Row] = []
    for site in Site:
        names = [name for name in rows if ROWS[name].site is site]
        for name in names:
            if lacking := ROWS[name].lacks(kind):
                print(f"not possible here: {name}: needs {lacking}", file=sys.stderr)
        if possible := [name for name in names if ROWS[name].is_possible(kind)]:
            found += _rows_of(World(folder / site.name.lower(), kind, site=site), possible)
    return found


def _rows_of(world: World, names: Sequence[str]) -> list[Row]:
    found = []
    with world.ends:
        for name in names:
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
