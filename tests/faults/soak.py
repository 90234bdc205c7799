"""Users work for a long time while faults come and go: `make soak`.

    python -m tests.faults.soak [--minutes 30] [--database postgresql|mariadb] [--seed N]
                                [--json FILE]

Two API processes and four engines work on one database. Faults of the table follow each other in an
order that the seed gives. At the end no stack may be left, nothing may be left in the cloud, no
user may have seen an error, and the memory of the processes that no fault has restarted must not
have grown.
"""

import argparse
import contextlib
import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import linear_regression, mean

import msgspec
import sqlalchemy as sa

from hearth.store import tables
from tests.conftest import SERVERS
from tests.crash.processes import Client, Hearth
from tests.faults.rows import ROWS
from tests.faults.users import Users
from tests.faults.world import Site, World

USERS = 4
APIS, ENGINES = 2, 4
SAMPLE_S = 5.0
REST_S = (2.0, 10.0)  # between two faults
WARM_UP = 0.4  # this part of the time is not in the slope: caches fill, and heaps reach their size
GROWTH_MAX_MIB_H = 1.0
RESTARTS_ALL = frozenset(
    {"all engines die", "everything dies", "engines are replaced one by one"}
)  # nothing would be left to be measured
NEEDS_MEMORY = frozenset({"an engine has no more memory"})
"""Faults with a large stack, for which the heap of one engine grows once; it gives this memory back
and takes it again little by little. They come at the end, when memory is not measured any more.
"""


class Memory(msgspec.Struct, frozen=True):
    """The resident memory of a process: at the end of the warm-up, at the end, and its slope.

    `error_mib_h` is the standard error of the slope, and `each_minute_mib` the size each minute,
    from the start.
    """

    begin_mib: float
    end_mib: float
    slope_mib_h: float
    error_mib_h: float
    each_minute_mib: Sequence[float] = ()

    @property
    def grows(self) -> bool:
        """Whether it grows by more than is allowed, with some certainty."""
        return self.slope_mib_h - 2 * self.error_mib_h > GROWTH_MAX_MIB_H


class Result(msgspec.Struct, kw_only=True, frozen=True):
    """What a soak has shown; durations in seconds."""

    minutes: float
    database: str
    seed: int
    faults: list[str]
    lives: int
    requests_again: int
    longest_life_s: float
    past_deadline_s: float
    stuck: int
    orphans: int
    memory: dict[str, Memory]
    wrong: list[str]


class Sampler(threading.Thread):
    """Reads the memory of processes, and how late the latest operation is, until `close`."""

    def __init__(self, processes: Mapping[str, Hearth], late_s: Callable[[], float]) -> None:
        super().__init__()
        self.late_s = 0.0
        self.measures = True  # memory; the latest operation is always looked for
        self._processes = processes
        self._late_s = late_s
        self._samples: dict[str, list[tuple[float, float]]] = {name: [] for name in processes}
        self._ends = threading.Event()

    def run(self) -> None:
        """Sample until the end."""
        while not self._ends.wait(SAMPLE_S):
            for name, process in self._processes.items() if self.measures else ():
                self._samples[name].append((time.monotonic(), resident_mib(process.pid)))
            with contextlib.suppress(sa.exc.DBAPIError):  # a fault may be on the database
                self.late_s = max(self.late_s, self._late_s())

    def close(self) -> None:
        """Take no more samples."""
        self._ends.set()
        self.join()

    def memory(self) -> dict[str, Memory]:
        """What the samples after the warm-up say."""
        found = {}
        for name, samples in self._samples.items():
            memory = trend(samples[int(len(samples) * WARM_UP) :])
            each = [round(size, 1) for _, size in samples[:: max(1, round(60 / SAMPLE_S))]]
            found[name] = msgspec.structs.replace(memory, each_minute_mib=each)
        return found


def resident_mib(pid: int) -> float:
    """The resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [one for one in status.splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def trend(samples: Sequence[tuple[float, float]]) -> Memory:
    """The straight line through samples of (seconds, MiB)."""
    hours = [at / 3600 for at, _ in samples]
    sizes = [size for _, size in samples]
    if len(samples) < 3:
        return Memory(sizes[0] if sizes else 0.0, sizes[-1] if sizes else 0.0, 0.0, 0.0)
    slope, begin = linear_regression(hours, sizes)
    rest = sum((y - begin - slope * x) ** 2 for x, y in zip(hours, sizes, strict=True))
    middle = mean(hours)
    spread = sum((x - middle) ** 2 for x in hours)
    error = (rest / (len(samples) - 2) / spread) ** 0.5
    return Memory(sizes[0], sizes[-1], slope, error)


def soak(minutes: float, kind: str, seed: int, folder: Path, say: Callable[[str], None]) -> Result:
    """Let users and faults work together for some minutes."""
    luck = random.Random(seed)
    usable = [
        name
        for name, fault in ROWS.items()
        if fault.site is Site.PLAIN and fault.is_possible(kind)
        and name not in RESTARTS_ALL | NEEDS_MEMORY
    ]  # fmt: skip
    faults: list[str] = []
    wrong: list[str] = []
    world = World(folder, kind, apis=APIS, engines=ENGINES)
    with world.ends:
        world.cloud.admin("POST", "ledger/mark")
        spared = {"api": world.apis[-1], "engine": world.engines[-1]}  # no fault restarts these
        sampler = Sampler(spared, world.late_s)
        clients = [Client(world.cloud, world.apis[n % APIS].url) for n in range(USERS)]
        users = [Users(one, f"soak-u{number}") for number, one in enumerate(clients)]
        sampler.start()
        for one in users:
            one.start()
        ends, order = time.monotonic() + minutes * 60, list[str]()
        last = sorted(NEEDS_MEMORY)
        try:
            while (now := time.monotonic()) < ends or last:
                sampler.measures = now < ends
                order = order or luck.sample(usable, len(usable))
                faults.append(order.pop() if sampler.measures else last.pop())
                say(f"{(ends - now) / 60:5.1f} min left: {faults[-1]}")
                with ROWS[faults[-1]].happens(world):
                    pass
                world.cloud.clear()
                time.sleep(luck.uniform(*REST_S))
        except Exception as problem:
            wrong.append(f"the fault itself, {faults[-1]}: {problem}")
        finally:
            world.cloud.clear()
            for one in users:
                one.close()
            sampler.close()
            for client in clients:
                client.close()
        stuck, left = _stuck(world), world.left()
    return Result(
        minutes=minutes, database=kind, seed=seed, faults=faults,
        lives=sum(one.lives for one in users), requests_again=sum(one.again for one in users),
        longest_life_s=max(one.longest_s for one in users), past_deadline_s=sampler.late_s,
        stuck=stuck, orphans=len(left), memory=sampler.memory(),
        wrong=[*wrong, *(text for one in users for text in one.wrong),
               *(f"left over: {text}" for text in left)],
    )  # fmt: skip


def _stuck(world: World) -> int:
    """How many stacks are left, which the users have all deleted."""
    query = sa.select(sa.func.count()).where(tables.stack.c.deleted_at.is_(None))
    with world.database.connect() as connection:
        return int(connection.execute(query).scalar_one())


def verdict(result: Result) -> list[str]:
    """Return what is wrong with a result, as sentences."""
    found = list(result.wrong)
    if result.stuck:
        found.append(f"{result.stuck} stacks are stuck")
    if not result.lives:
        found.append("no life was completed")
    found += [
        f"the memory of the {name} grows by {one.slope_mib_h:.1f} MiB an hour"
        for name, one in result.memory.items()
        if one.grows
    ]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a soak, print its result as JSON; return 0 if nothing is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.soak")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--database", choices=sorted(SERVERS), default="postgresql")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 16))
    parser.add_argument("--json", type=Path, help="also write the result to this file")
    options = parser.parse_args(arguments)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        result = soak(options.minutes, options.database, options.seed, Path(folder), say)
    text = json.dumps(msgspec.to_builtins(result), indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")
    for sentence in verdict(result):
        say(sentence)
    return int(bool(verdict(result)))


if __name__ == "__main__":
    sys.exit(main())
