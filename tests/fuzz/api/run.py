"""`python -m tests.fuzz.api.run [--minutes N] [--database KIND] [--seed S] [--json FILE]`.

Prints what was asked and answered, and each finding with a request that repeats it. It passes if
each route was asked, no answer was wrong, and the log has no traceback and no word of a tenant.
"""

import argparse
import base64
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from tests.conftest import SERVERS
from tests.fuzz.api.calls import APIS, Call, every_call, query_names, request_of
from tests.fuzz.api.canaries import Canaries
from tests.fuzz.api.caretaker import Caretaker, state
from tests.fuzz.api.judge import Person, wrong_in_log, wrong_with
from tests.fuzz.api.mutate import FORM, mutated
from tests.fuzz.api.tenants import Tenant, World, prepare, serving
from tests.fuzz.api.wire import Sent, exchange
from tests.fuzz.run import commit

THREADS = 4
ALIKE_MAX = 2  # findings that are shown of a route with the same fault
BODY_MAX = 6000
GARBAGE = ("gAAAAnonsense", "x" * 9000, "\xff" * 20, "\ud800", "null", "' OR 1=1 --")
PEOPLE = [
    *(Person(f"{name} member", name, secrets=True) for name in ("one", "two") for _ in range(6)),
    *(Person(f"{name} reader", name) for name in ("one", "two") for _ in range(2)),
    *(Person(f"{name} guest", name, secrets=False) for name in ("one", "two")),
    Person("nobody", None),
    Person("garbage", None),
    Person("admin", None, listened=False),
]


@dataclass(frozen=True)
class Finding:
    """What was wrong with an answer, and the request. `place` is seed/thread/number."""

    place: str
    fault: str
    route: str
    person: str
    why: str
    method: str
    path: str
    headers: list[list[str]]
    body: str
    excerpt: str


@dataclass
class Report:
    """What a run has asked and seen. `routes` are the statuses of each route."""

    routes: dict[str, Counter[int]] = field(default_factory=dict)
    apis: dict[str, Counter[int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    slowest_s: float = 0.0
    slowest: str = ""
    seconds: float = 0.0
    began: float = field(default_factory=time.monotonic)
    first_s: float | None = None  # after which the first finding came
    wrong: list[str] = field(default_factory=list)  # of the whole: the log, what was kept
    lock: Any = field(default_factory=threading.Lock, repr=False)

    def note(self, call: Call, status: int, seconds: float, finding: Finding | None) -> None:
        """Count an answer, and keep a finding unless there are enough like it."""
        with self.lock:
            self.routes.setdefault(call.name, Counter())[status] += 1
            self.apis.setdefault(call.api, Counter())[status] += 1
            if seconds > self.slowest_s:
                self.slowest_s, self.slowest = seconds, call.name
            if finding is not None:
                if self.first_s is None:
                    self.first_s = round(time.monotonic() - self.began, 2)
                alike = f"{finding.fault}: {call.name}"
                self.faults[alike] += 1
                if self.faults[alike] <= ALIKE_MAX:
                    self.findings.append(finding)

    @property
    def requests(self) -> int:
        return sum(counts.total() for counts in self.apis.values())

    def summary(self) -> dict[str, Any]:
        """Return the counts for a file: of each API its requests, routes and statuses."""
        found = {}
        for api in APIS:
            counts = self.apis.get(api, Counter())
            routes = [call.name for call in every_call() if call.api == api]
            reached = [name for name in routes if any(map(_is_fine, self.routes.get(name, ())))]
            found[api] = {
                "requests": counts.total(),
                "routes": len(routes),
                "asked": sum(name in self.routes for name in routes),
                "succeeded": len(reached),
                "never_succeeded": sorted(set(routes) - set(reached)),
                "statuses": {f"{k}xx": v for k, v in sorted(_by_class(counts).items())},
            }
        return found


def _is_fine(status: int) -> bool:
    return 200 <= status < 400


def _by_class(counts: Counter[int]) -> Counter[int]:
    found: Counter[int] = Counter()
    for status, count in counts.items():
        found[status // 100] += count
    return found


class Fuzzer(threading.Thread):
    """Asks for one route after the other until `ends`, and for each at least once. Its requests
    follow from the seed, its number, and the ids in the world.
    """

    def __init__(self, world: World, report: Report, seed: int, number: int, ends: float) -> None:
        super().__init__(name=f"fuzzer {number}", daemon=True)
        self.world, self.report = world, report
        self.seed, self.number, self.ends = seed, number, ends
        self.calls, self.names = every_call(), query_names()
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            at = 0
            while at < len(self.calls) or time.monotonic() < self.ends:
                self.ask(at)
                at += 1
        except BaseException as problem:
            self.problem = problem
            raise

    def ask(self, at: int) -> None:
        """Send the request with this number."""
        place = f"{self.seed}/{self.number}/{at}"
        luck = random.Random(place)
        call = self._call(at)
        person = luck.choice(PEOPLE)
        if call.presigned and person.tenant is None:
            name = luck.choice(self.world.tenants).name
            person = Person(f"{name} guest", name)
        sent = self.draw(call, person, luck)
        answer = exchange(self.world.server.address, sent)
        fault, excerpt = wrong_with(person, sent, answer, self.world.canaries)
        finding = None
        if fault:
            shown = [[name, value[:500]] for name, value in sent.headers if "oken" not in name]
            finding = Finding(place, fault, call.name, person.name, sent.why, sent.method,
                              sent.path[:3000], shown, _shown(sent.body), excerpt)  # fmt: skip
        self.report.note(call, answer.status, answer.seconds, finding)

    def _call(self, at: int) -> Call:
        """Each route comes once in each round."""
        turn, place = divmod(at, len(self.calls))
        deck = list(self.calls)
        random.Random(f"{self.seed}/{self.number}/round {turn}").shuffle(deck)
        return deck[place]

    def draw(self, call: Call, person: Person, luck: random.Random) -> Sent:
        """Return the request of a person for a route."""
        tenants = self.world.tenants
        own = next((one for one in tenants if one.name == person.tenant), None)
        near = call.presigned or luck.random() < 0.7
        target = own if own is not None and near else luck.choice(tenants)
        mighty = person.name == "admin" or (target is own and person.secrets)
        spare = mighty and call.changes
        words = Canaries(person.tenant or "", luck)
        sent = request_of(call, target, words, spare=spare, luck=luck)
        signed_before = luck.random() < 0.15
        if signed_before:
            sent = self._with_credential(sent, call, person, luck)
        ids = self._ids(own, mighty=person.name == "admin")
        for _ in range(luck.choices([0, 1, 2, 3], [15, 55, 20, 10])[0]):
            sent = mutated(sent, luck, self.names, ids, path=not call.is_below_kept)
        return sent if signed_before else self._with_credential(sent, call, person, luck)

    def _ids(self, own: Tenant | None, *, mighty: bool) -> list[str]:
        """Ids of other tenants, and what a tenant can spare; only those if `mighty` is true."""
        found = []
        for one in self.world.tenants:
            found += list(one.spare.values() if one is own or mighty else one.kept.values())
        return [word for word in found if not word.startswith("http")]

    def _with_credential(self, sent: Sent, call: Call, person: Person, luck: random.Random) -> Sent:
        if person.name == "nobody" or "Signature=" in sent.path:
            return sent
        if person.name == "garbage":
            token = luck.choice(GARBAGE)
        else:
            token = self.world.ground.people[person.name].token
            signer = self.world.signers.get(person.name)
            if call.action and signer is not None and luck.random() < 0.6:
                return _signed(sent, signer)
        more = [("X-Auth-Token", token)]
        if call.api == "cloudformation":
            more.append(("X-Auth-User", "x"))
        return replace(sent, headers=(*sent.headers, *more))


def _signed(sent: Sent, signer: Any) -> Sent:
    """Sign the parameters of a request, if they can be written in a signature."""
    path, _, query = sent.path.partition("?")
    in_body = any(value == FORM for _, value in sent.headers)
    text = sent.body.decode("utf-8", "replace") if in_body else query
    try:
        params = signer.version_2(sent.method, dict(parse_qsl(text, keep_blank_values=True)))
        made = urlencode(params)
    except (UnicodeEncodeError, ValueError):
        return sent
    if in_body:
        return replace(sent, body=made.encode())
    return replace(sent, path=f"{path}?{made}", raw=False)


def _shown(body: bytes) -> str:
    """A body for a report."""
    cut = f" … {len(body)} bytes" if len(body) > BODY_MAX else ""
    try:
        return body[:BODY_MAX].decode() + cut
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(body[:BODY_MAX]).decode() + cut


def play(world: World, seconds: float, seed: int, threads: int = THREADS) -> Report:
    """Ask for so many seconds; return what was seen."""
    report, begun = Report(), time.monotonic()
    before = [state(world, tenant) for tenant in world.tenants]
    fuzzers = [Fuzzer(world, report, seed, n, begun + seconds) for n in range(threads)]
    caretaker = Caretaker(world)
    for one in (caretaker, *fuzzers):
        one.start()
    for one in fuzzers:
        one.join()
    caretaker.over.set()
    caretaker.join()
    report.seconds = time.monotonic() - begun
    report.wrong += [f"{one.name} ended: {one.problem!r}" for one in fuzzers if one.problem]
    report.wrong += caretaker.wrong
    for tenant, was in zip(world.tenants, before, strict=True):
        if (now := state(world, tenant)) != was:
            changed = {key: (was[key], now[key]) for key in was if was[key] != now[key]}
            report.wrong.append(f"what {tenant.name} keeps was changed: {changed}")
    if world.server.hearth.ended():
        report.wrong.append("the process ended")
    lines = world.server.log.read_text(errors="replace").splitlines()
    report.wrong += wrong_in_log(lines, world.canaries)[:20]
    return report


def shown(report: Report) -> Iterable[str]:
    """The result for people."""
    slowest = f"slowest {report.slowest_s:.1f} s: {report.slowest}"
    yield f"{report.requests} requests in {report.seconds:.0f} s, {slowest}"
    for api, one in report.summary().items():
        counts = ", ".join(f"{name} {count}" for name, count in one["statuses"].items())
        routes = f"{one['asked']} of {one['routes']} routes asked, {one['succeeded']} succeeded"
        yield f"{api:15} {one['requests']:8} requests, {routes}; {counts}"
    for alike, count in report.faults.most_common():
        yield f"{count:6} times {alike}"
    for one in report.findings:
        yield f"FOUND {json.dumps(asdict(one), ensure_ascii=True)}"
    for words in report.wrong:
        yield f"WRONG {words}"
    first = f", the first after {report.first_s} s" if report.first_s is not None else ""
    yield f"{report.faults.total()} wrong answers{first}, {len(report.wrong)} other findings"


def main(arguments: list[str] | None = None) -> int:
    """Run it and print the result; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.api.run")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--database", choices=["sqlite", *SERVERS], default="postgresql")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--log", type=Path, help="keep what Hearth logged in this file")
    given = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder), given.database) as server,
    ):
        try:
            world = prepare(server, given.seed, whole=True)
            report = play(world, 60 * given.minutes, given.seed, given.threads)
        finally:
            if given.log is not None:
                shutil.copy(server.log, given.log)
    print(*shown(report), sep="\n")
    if given.json is not None:
        told = {
            "commit": commit(), "database": given.database, "seed": given.seed,
            "minutes": given.minutes, "requests": report.requests,
            "slowest_s": round(report.slowest_s, 1), "slowest": report.slowest,
            "apis": report.summary(),
            "faults": dict(report.faults), "findings": [asdict(one) for one in report.findings],
            "wrong": report.wrong,
        }  # fmt: skip
        given.json.write_text(json.dumps(told, indent=1) + "\n")
    return int(bool(report.faults or report.wrong))


if __name__ == "__main__":
    sys.exit(main())
