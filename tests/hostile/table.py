"""The table of hostile work: kinds of work × crowds, and what each costs an innocent client.

    python -m tests.hostile.table [--only 'list'] [--seconds 24] [--json FILE]

A crowd is eight clients of one project, one client of each of eight projects, or eight clients that
read nothing. In each cell an innocent client lists, shows, creates, validates, polls and asks for
a certificate. Its 95th percentile may be by ADDED_S_MAX more than alone, and the memory of the
service may be by ADDED_MIB_MAX more than before.
"""

import argparse
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

from tests.clients.dev import hearth_dev
from tests.hostile.clients import HOT
from tests.hostile.crowd import TIMEOUT_S, Asked, crowd
from tests.hostile.kinds import KINDS, LONG_ANSWERS, PART, WHOLE, values
from tests.hostile.tenant import Tenant, tenants
from tests.service.clusters.requests import csr

ADDED_S_MAX = 0.1
ADDED_MIB_MAX = 64.0
WARM_UP_S = 3.0  # until it is known who uses much
PAUSE_S = 0.1
CLIENTS = 8
HANDLE = HOT + "resources:\n  h: {type: OS::Heat::WaitConditionHandle}\n"

NUMBERS = count()
ONE_PROJECT, MANY_PROJECTS, READS_NOTHING = "1 x 8", "8 x 1", "reads nothing"


@dataclass
class Cell:
    """What a crowd cost. Seconds are the 95th percentiles of the innocent's requests."""

    kind: str
    crowd: str
    seconds: dict[str, float]
    failed: list[str]
    before_mib: float
    peak_mib: float
    answers: dict[str, int] = field(default_factory=dict)

    def wrong(self, alone: dict[str, float]) -> list[str]:
        name = f"{self.kind}, {self.crowd}"
        found = [f"{name}: {one}" for one in self.failed[:3]]
        for what, p95_s in self.seconds.items():
            if p95_s > alone[what] + ADDED_S_MAX:
                found.append(f"{name}: {what} {alone[what]:.3f} -> {p95_s:.3f} s")
        if self.peak_mib > self.before_mib + ADDED_MIB_MAX:
            found.append(f"{name}: memory {self.before_mib:.0f} -> {self.peak_mib:.0f} MiB")
        bad = {status: n for status, n in self.answers.items() if status.startswith("5")}
        if bad:
            found.append(f"{name}: the crowd was answered {bad}")
        return found


class Innocent(Thread):
    """A client that does what people and servers do, and notes how long each took."""

    def __init__(self, tenant: Tenant, place: str, cluster: str) -> None:
        super().__init__(daemon=True)
        self.tenant = tenant
        self.times: dict[str, list[float]] = {}
        self.failed: list[str] = []
        self.over = Event()
        self._created: list[str] = []
        certificate = {"cluster_uuid": cluster, "csr": csr()}
        resource = f"{place}/resources/h"
        self._asked = {
            "list": tenant.asks("GET", "/stacks?limit=20"),
            "show": tenant.asks("GET", f"{place}?resolve_outputs=true"),
            "poll": tenant.asks("GET", f"{resource}/metadata"),
            "validate 250": tenant.asks("POST", "/validate", {"template": values(250)}),
            "certificate": tenant.asks_of_clusters("POST", "/certificates", certificate),
        }
        url = urlsplit(tenant.dev.url)
        self._line = HTTPConnection(url.hostname or "", url.port, timeout=TIMEOUT_S)

    def run(self) -> None:
        while not self.over.is_set():
            for what in ("list", "show", "poll", "list", "show", "poll", "validate 250"):
                self._timed(what, lambda what=what: self._send(self._asked[what]))  # type: ignore[misc]
                self.over.wait(PAUSE_S / 2)
            self._timed("certificate", lambda: self._send(self._asked["certificate"]))
            self._timed("create of 3", self._create)
            self.over.wait(PAUSE_S)
        self._delete_created()
        self._line.close()

    def _timed(self, what: str, act: Callable[[], object]) -> None:
        if self.over.is_set():
            return
        begun = time.perf_counter()
        try:
            act()
        except (OSError, AssertionError) as problem:
            self.failed.append(f"{what}: {problem!r}"[:300])
            self._line.close()
        self.times.setdefault(what, []).append(time.perf_counter() - begun)

    def _send(self, one: Asked) -> bytes:
        self._line.request(one.method, one.path, one.body or None, one.headers)
        answer = self._line.getresponse()
        body = answer.read()
        if answer.status >= 400:
            raise AssertionError(f"{answer.status} {body[:200]!r}")
        return body

    def _create(self) -> None:
        name = f"three-{next(NUMBERS)}"
        body = {"stack_name": name, "template": values(3)}
        made = json.loads(self._send(self.tenant.asks("POST", "/stacks", body)))
        place = f"/stacks/{name}/{made['stack']['id']}"
        self._created.append(place)
        while b"CREATE_COMPLETE" not in self._send(self.tenant.asks("GET", place)):
            time.sleep(0.02)

    def _delete_created(self) -> None:
        """Delete the stacks, so that the project's quota does not end the creates. Wait until they
        are gone, so that the next cell does not meet their deletes.
        """
        try:
            for place in self._created:
                self._send(self.tenant.asks("DELETE", place))
            for place in self._created:
                while not self._gone(place):
                    time.sleep(PAUSE_S)
        except (OSError, AssertionError) as problem:
            self.failed.append(f"delete: {problem!r}"[:300])

    def _gone(self, place: str) -> bool:
        with suppress(AssertionError):  # 404
            return b"DELETE_COMPLETE" in self._send(self.tenant.asks("GET", place))
        return True

    def p95(self) -> dict[str, float]:
        return {what: _p95(times) for what, times in self.times.items()}


def held_mib(pid: int) -> float:
    """Return the memory of a process and of those it started, without the embedded cloud. What
    several processes share is counted once.
    """
    total = 0.0
    with suppress(OSError):
        if b"hearth_devcloud" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return 0.0
        found = re.search(r"(?m)^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text())
        total = int(found[1]) / 1024 if found else 0.0
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(map(held_mib, map(int, (task / "children").read_text().split())))
    return total


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 20 else max(times)


@dataclass
class Table:
    """The running service, and who asks."""

    innocent: Tenant
    place: str
    cluster: str
    hostile: list[Tenant]
    pid: int
    seconds: float

    def alone(self) -> dict[str, float]:
        client = Innocent(self.innocent, self.place, self.cluster)
        client.start()
        time.sleep(2 * self.seconds)
        return self._ended(client).p95()

    def _ended(self, client: Innocent) -> Innocent:
        client.over.set()
        client.join(TIMEOUT_S)
        return client

    def cell(self, kind: str, clients: list[list[Asked]], name: str) -> Cell:
        before = held_mib(self.pid)
        client = Innocent(self.innocent, self.place, self.cluster)
        peak = before
        reads = name != READS_NOTHING
        with crowd(self.innocent.dev.url, clients, reads=reads) as answers:
            time.sleep(WARM_UP_S)
            client.start()
            ends = time.monotonic() + self.seconds
            while time.monotonic() < ends:
                peak = max(peak, held_mib(self.pid))
                time.sleep(0.3)
            self._ended(client)
        return Cell(kind, name, client.p95(), client.failed, before, peak, dict(answers))

    def cells(self, kind: str) -> list[Cell]:
        one = KINDS[kind](self.hostile[0], WHOLE)
        many = [KINDS[kind](tenant, PART) for tenant in self.hostile[1:]]
        found = [
            self.cell(kind, [one] * CLIENTS, ONE_PROJECT),
            self.cell(kind, many, MANY_PROJECTS),
        ]
        if kind in LONG_ANSWERS:
            found.append(self.cell(kind, [one] * CLIENTS, READS_NOTHING))
        return found


@contextmanager
def running(folder: Path, seconds: float) -> Iterator[Table]:
    """A service with an innocent tenant, and others."""
    with hearth_dev(folder) as dev:
        innocent, *hostile = tenants(dev, ["innocent", *(f"h{n}" for n in range(CLIENTS + 1))])
        place = innocent.stack("mine", HANDLE)
        yield Table(innocent, place, innocent.cluster(), hostile, dev.process.pid, seconds)


def main() -> int:
    """Print the table; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=24.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cells: list[Cell] = []
    with tempfile.TemporaryDirectory() as folder, running(Path(folder), options.seconds) as made:
        made.alone()  # loads what is loaded once
        alone = made.alone()
        print(f"{'':24} {'':14} {'MiB':>5} " + " ".join(f"{one:>12}" for one in alone))
        print(f"{'alone':24} {'':14} {'':5} " + " ".join(f"{one:12.3f}" for one in alone.values()))
        for kind in KINDS:
            for cell in made.cells(kind) if re.search(options.only, kind) else ():
                cells.append(cell)
                print(_line(cell, list(alone)), flush=True)
    if options.json:
        body = {"alone": alone, "cells": [asdict(one) for one in cells]}
        options.json.write_text(json.dumps(body, indent=2) + "\n")
    wrong = [one for cell in cells for one in cell.wrong(alone)]
    for one in wrong:
        print(f"WRONG: {one}")
    print(f"{len(cells)} cells, {len(wrong)} wrong")
    return 1 if wrong else 0


def _line(cell: Cell, names: list[str]) -> str:
    numbers = " ".join(f"{cell.seconds.get(one, 0):12.3f}" for one in names)
    grown = cell.peak_mib - cell.before_mib
    return f"{cell.kind:24} {cell.crowd:14} {grown:5.0f} {numbers}  {cell.answers}"


if __name__ == "__main__":
    sys.exit(main())
