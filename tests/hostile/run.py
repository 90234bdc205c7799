"""Hostile clients of one project beside an innocent one of another, and what that costs it.

    make hostile                 twelve minutes, a table, and tests/hostile/result.json
    make hostile MINUTES=1

It passes if none of the innocent's requests fails, its 95th percentile stays within bounds, the
memory comes back, and SIGTERM under full load ends the process in time.
"""

import argparse
import contextlib
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.clients.dev import Dev, hearth_dev
from tests.hostile.clients import (
    HOT,
    TEMPLATES,
    Api,
    Client,
    dawdler,
    deserter,
    endless,
    foreign_cloud,
    large_json,
    of_templates,
    signaller,
    traveller,
)

PASSWORD = "secret"
STOP_S_MAX = 25.0
KEPT_MAX = 1.2  # memory after, as a multiple of before
ADDED_MIB_MAX = 160.0  # memory after, beside that of a fresh process
ADDED_S_MAX = 0.1  # of a neighbour's 95th percentile, in the table of pairs
P95_S_MAX = 1.0  # with all hostile clients at once, on two cores that they share with them
SETTLE_S = 20.0
PAIR_S = 5.0
TEMPLATE = HOT + "resources:\n  a: {type: OS::Heat::Value, properties: {value: x}}\n"


@dataclass
class Report:
    """What a run has shown. Memory is that of Hearth and what it started but the cloud, in MiB."""

    seconds: float
    innocent: int = 0
    failed: list[str] = field(default_factory=list)
    p50_s: float = 0.0
    p95_s: float = 0.0
    worst_s: float = 0.0
    start_mib: float = 0.0  # of a fresh process
    before_mib: float = 0.0  # after a first short attack: caches and heaps have their size
    peak_mib: float = 0.0
    after_mib: float = 0.0
    stop_s: float = 0.0
    hostile: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def wrong(self) -> list[str]:
        """What is not as it has to be."""
        found = [f"the innocent's request: {one}" for one in self.failed[:5]]
        if self.p95_s > P95_S_MAX:
            found.append(f"95th percentile {self.p95_s:.3f} s")
        if self.after_mib > self.before_mib * KEPT_MAX:
            found.append(f"memory {self.before_mib:.0f} -> {self.after_mib:.0f} MiB")
        if self.after_mib > self.start_mib + ADDED_MIB_MAX:
            found.append(f"memory {self.start_mib:.0f} MiB fresh, {self.after_mib:.0f} after")
        if self.stop_s > STOP_S_MAX:
            found.append(f"SIGTERM took {self.stop_s:.1f} s")
        for name, counts in self.hostile.items():
            if bad := {status: n for status, n in counts.items() if status.startswith("50")}:
                found.append(f"{name} was answered {bad}")
        return found


class Innocent(threading.Thread):
    """Lists, shows and validates something small, and notes how long each took."""

    def __init__(self, api: Api, pause_s: float = 0.05) -> None:
        super().__init__(daemon=True)
        self.api, self.pause_s = api, pause_s
        self.times: list[float] = []
        self.failed: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        asked = (
            ("GET", "/stacks", {}),
            ("POST", "/validate", {"json": {"template": TEMPLATE}}),
            ("POST", "/stacks/preview", {"json": {"stack_name": "mine", "template": TEMPLATE}}),
        )
        while not self.over.is_set():
            for method, path, more in asked:
                begun = time.perf_counter()
                try:
                    status = self.api.call(method, path, **more).status_code
                except OSError as problem:
                    status = 0
                    self.failed.append(f"{method} {path}: {problem!r}")
                self.times.append(time.perf_counter() - begun)
                if status >= 400:
                    self.failed.append(f"{method} {path}: {status}")
            self.over.wait(self.pause_s)

    def p95_s(self) -> float:
        return statistics.quantiles(self.times, n=20)[-1]


@contextlib.contextmanager
def attacked(dev: Dev) -> Iterator[list[Client]]:
    """All hostile clients at once, in the administrator's project."""
    stop = threading.Event()
    api = Api(dev.url, dev.auth_url, "admin", PASSWORD)
    with contextlib.contextmanager(foreign_cloud)() as auth_url:
        acts = {
            "patterns": of_templates(api, ["60 patterns", "one pattern", "200 patterns"]),
            "expressions": of_templates(api, ["60 expressions", "one expression", "laughs"]),
            "large": of_templates(api, ["large"], "/stacks/preview"),
            "slow heads": dawdler(dev.url),
            "signals": signaller(api),
            "foreign cloud": traveller(api, auth_url),
            "endless bodies": endless(dev.url),
            "large JSON": large_json(api),
            "deserter": deserter(api),
        }
        clients = [Client(name, act, stop) for name, act in acts.items()]
        for one in clients:
            one.start()
        try:
            yield clients
        finally:
            stop.set()
            for one in clients:
                one.join(5)


def memory_mib(pid: int) -> float:
    """The resident memory of a process and of those it started, without the embedded cloud."""
    total = _of_one(pid, "VmRSS:")
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            with contextlib.suppress(OSError):
                if b"hearth_devcloud" not in Path(f"/proc/{child}/cmdline").read_bytes():
                    total += memory_mib(int(child))
    return total


def _of_one(pid: int, key: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(key):
                return int(line.split()[1]) / 1024
    return 0.0


def hostile(seconds: float, folder: Path) -> Report:
    """The whole story against a `hearth dev` of its own."""
    report = Report(seconds)
    with hearth_dev(folder) as dev:
        api = Api(dev.url, dev.auth_url, "demo", PASSWORD)
        for text in TEMPLATES.values():  # loads what is loaded once, the process that computes too
            api.call("POST", "/validate", json={"template": text()})
        report.start_mib = memory_mib(dev.process.pid)
        with attacked(dev):
            time.sleep(min(30.0, seconds / 2))
        time.sleep(SETTLE_S / 2)
        report.before_mib = memory_mib(dev.process.pid)
        innocent = Innocent(api)
        innocent.start()
        with attacked(dev) as clients:
            ends = time.monotonic() + seconds
            while time.monotonic() < ends:
                report.peak_mib = max(report.peak_mib, memory_mib(dev.process.pid))
                time.sleep(0.25)
            report.hostile = {one.name: dict(one.counts) for one in clients}
        innocent.over.set()
        innocent.join(60)
        report.innocent, report.failed = len(innocent.times), innocent.failed
        report.p50_s, report.worst_s = statistics.median(innocent.times), max(innocent.times)
        report.p95_s = innocent.p95_s()
        ends = time.monotonic() + SETTLE_S
        report.after_mib = memory_mib(dev.process.pid)
        while report.after_mib > report.before_mib * KEPT_MAX and time.monotonic() < ends:
            time.sleep(0.5)
            report.after_mib = memory_mib(dev.process.pid)
        with attacked(dev):
            time.sleep(min(5.0, seconds))
            begun = time.monotonic()
            os.kill(dev.process.pid, signal.SIGTERM)
            dev.process.wait(4 * STOP_S_MAX)
            report.stop_s = time.monotonic() - begun
    return report


@dataclass
class Pair:
    """An innocent client alone, and beside one that repeats a hostile request. Seconds."""

    hostile: str
    alone_p95_s: float
    p95_s: float
    requests: int
    failed: list[str]

    @property
    def wrong(self) -> list[str]:
        found = [f"beside {self.hostile}: {one}" for one in self.failed[:3]]
        if self.p95_s > self.alone_p95_s + ADDED_S_MAX:
            found.append(f"beside {self.hostile}: {self.alone_p95_s:.3f} -> {self.p95_s:.3f} s")
        return found


def pairs(seconds: float, folder: Path) -> list[Pair]:
    """Each small hostile request beside an innocent one, for so many seconds."""
    found = []
    with hearth_dev(folder) as dev:
        mine = Api(dev.url, dev.auth_url, "demo", PASSWORD)
        theirs = Api(dev.url, dev.auth_url, "admin", PASSWORD)
        for text in TEMPLATES.values():
            theirs.call("POST", "/validate", json={"template": text()})
        acts = {
            **{name: of_templates(theirs, [name]) for name in TEMPLATES},
            **{f"{name} (preview)": of_templates(theirs, [name], "/stacks/preview")
               for name in ("60 expressions", "60 patterns")},
            "large JSON": large_json(theirs),
            "signals": signaller(theirs),
            "deserter": deserter(theirs),
        }  # fmt: skip
        alone = _beside(mine, None, seconds)
        for name, act in acts.items():
            one = _beside(mine, act, seconds)
            found.append(Pair(name, alone.p95_s(), one.p95_s(), len(one.times), one.failed))
    return found


def _beside(api: Api, act: Callable[[], object] | None, seconds: float) -> Innocent:
    stop, innocent = threading.Event(), Innocent(api, pause_s=0.02)
    hostile_one = None if act is None else Client("hostile", act, stop)
    if hostile_one is not None:
        hostile_one.start()
        time.sleep(0.2)
    innocent.start()
    time.sleep(seconds)
    innocent.over.set()
    innocent.join(60)
    stop.set()
    if hostile_one is not None:
        hostile_one.join(60)
    return innocent


def main() -> int:
    """Run it and print the table; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        table = pairs(PAIR_S, Path(folder) / "pairs")
        report = hostile(60 * options.minutes, Path(folder) / "all")
    for pair in table:
        print(f"{pair.hostile:26} {pair.alone_p95_s:.3f} -> {pair.p95_s:.3f} s")
    for name, value in asdict(report).items():
        print(f"{name:12} {value}")
    if options.json:
        body = {"pairs": [asdict(one) for one in table], "all": asdict(report)}
        options.json.write_text(json.dumps(body, indent=2) + "\n")
    wrong = [*report.wrong, *(one for pair in table for one in pair.wrong)]
    for one in wrong:
        print(f"WRONG: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
