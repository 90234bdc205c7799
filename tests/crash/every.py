"""kill -9 under many types at once: each type's full template is a stack of its own.

    python -m tests.crash.every [--rounds N] [--windows N] [--lost] [--json FILE] [TYPE…]

All calls that change something are held, so that all stacks stand still, each before its next call.
Then Hearth is killed in one of the windows, or the calls are let go and come to the next round. A
life creates, updates and deletes all stacks and is killed in two rounds of each; after each of the
three, the cloud must hold what it holds after a life without kills. With `--lost` nothing is
killed: each call is carried out and loses its answer the first time.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hearth.resources.capabilities import UsesUsers
from hearth.resources.described import example
from tests.crash import account
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.crash.windows import LATE_S, WINDOWS
from tests.types.case import Subject, cases, has_key, kinds, subject

WRITES = "(?<!/auth/tokens)(?<!/OS-TRUST/trusts)$"
CALLS = [  # that change something
    *({"method": method, "path_regex": WRITES} for method in ("POST", "PUT", "PATCH", "DELETE")),
    {"method": "GET", "path_regex": "/(dis)?associate"},
]
TOGETHER = 20  # stacks; of more calls than 64 in a project, further ones wait for a place
STILL_S = 1.5  # no further call comes: all wait
GONE = ("GONE", "")
KILLS = 2  # in an operation; a stack whose owner died three times in one is failed by design
END_S = 240.0
VERBS = ("create", "update", "delete")
BEFORE, UNANSWERED, UNCOMMITTED, LATE = WINDOWS
LOST = "answer lost"


@dataclass
class Result:
    """What was under way at the kills, and what must not be."""

    kills: int = 0
    lost: int = 0  # answers
    hit: Counter[tuple[str, str, str]] = field(default_factory=Counter)  # type, verb, window
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Lives:
    """One cloud, one Hearth, and all the stacks."""

    def __init__(
        self, folder: Path, subjects: Iterable[Subject], result: Result, *, in_a_hurry: bool
    ) -> None:
        self.cloud = Cloud()
        self.hearth = Hearth(folder, self.cloud, in_a_hurry=in_a_hurry)
        self.hearth.configure("hearth", revive_retired_types="true")
        self.hearth.start()
        users = ("admin", "demo")
        self.clients = {user: Client(self.cloud, self.hearth.url, user) for user in users}
        self.subjects = {f"k-{one.slug}": one for one in subjects}
        self.ids: dict[str, str] = {}
        self.wanted: dict[str, Counter[str]] = {}
        self.result = result

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.hearth.kill()
        self.cloud.close()

    def live(self, window: str = "", first: int = 0) -> None:
        """A life, killed in a window in the rounds from `first` on; without one: as it shall be."""
        rounds = range(first, first + KILLS) if window in WINDOWS else range(0)
        self.cloud.admin("POST", "ledger/mark")
        for verb in VERBS:
            before = self.result.kills
            self._act(verb, window, rounds)
            self._look(verb, window, f"{window} {verb} {before}")

    # acts

    def _act(self, verb: str, window: str, rounds: range) -> None:
        if window == LOST:
            first = [{**match, "first": True} for match in CALLS]
            self.cloud.knobs([{"match": match, "effect": {"withhold": 0}} for match in first])
        elif rounds:
            self._arm(0, window, rounds)
        for name, one in self.subjects.items():
            self._ask(verb, name, one)
        for number in range(rounds.stop):
            if not self._all_wait(verb):
                break
            if number in rounds:
                self._note(verb, window)
                self._strike(window, lambda n=number: self._arm(n + 1, window, rounds))
            else:
                self._arm(number + 1, window, rounds)
        if rounds:
            self.cloud.clear()
        until(f"the end of {verb}", lambda: not self._open(verb), END_S)
        for name, one in self.subjects.items():
            self._client(one).state(name, self.ids[name])  # can be shown, with its outputs
        self.result.lost += sum(self.cloud.struck())
        self.cloud.clear()

    def _arm(self, number: int, window: str, rounds: range) -> None:
        """Let go what waits, and be ready for the calls of a round."""
        self.cloud.clear()
        if number >= rounds.stop:
            return
        kept = {"withhold": True} if window == UNANSWERED and number in rounds else {"hold": True}
        self.cloud.knobs([{"match": match, "effect": kept} for match in CALLS])

    def _ask(self, verb: str, name: str, one: Subject) -> None:
        client = self._client(one)
        full = next(start for start in one.starts() if start.name == "full")
        if verb == "create":
            self.ids[name] = client.create(name, with_keys(full.template), {})
        elif verb == "delete":
            client.delete(name, self.ids[name])
        elif full.changes:
            template = one.with_properties(full.changes[-1].properties)
            client.update(name, self.ids[name], with_keys(template), {})

    def _client(self, one: Subject) -> Client:
        return self.clients[one.case.get("caller", "demo")]

    def _open(self, verb: str) -> list[str]:
        """The stacks that are not at the end of an act; what went wrong with one is told once."""
        found = {user: client.states() for user, client in self.clients.items()}
        waiting = []
        for name, one in self.subjects.items():
            states = found[one.case.get("caller", "demo")]
            status, reason = ("", "") if states is None else states.get(self.ids[name], GONE)
            if status.endswith("_FAILED"):
                wrong = f"{name}: {status}: {reason}"
                self.result.wrong += [wrong] if wrong not in self.result.wrong else []
            if status.endswith("IN_PROGRESS") or not status:
                waiting.append(name)
        return waiting

    # kills

    def _all_wait(self, verb: str) -> bool:
        """Wait until no further call comes; False when all stacks have come to their ends."""
        since, before = time.monotonic(), -1

        def still() -> bool:
            nonlocal since, before
            now = self.cloud.waiting()
            if now != before:
                since, before = time.monotonic(), now
            return time.monotonic() - since > STILL_S

        until("all calls to wait", still, END_S)
        return before > 0

    def _note(self, verb: str, window: str) -> None:
        """Which types have a call under way."""
        query = (
            "SELECT DISTINCT resource.type FROM node"
            " JOIN resource ON resource.id = node.resource_id WHERE node.phase = 'intent'"
        )
        with sqlite3.connect(self.hearth.file, timeout=10) as database:
            for (name,) in database.execute(query):
                self.result.hit[name, verb, window] += 1
        database.close()

    def _strike(self, window: str, arm: Callable[[], None]) -> None:
        self.result.kills += 1
        if window == LATE:
            self.hearth.kill()
            self.hearth.start()
            time.sleep(LATE_S)
            arm()
            return
        lock = self._answered_into_a_lock() if window == UNCOMMITTED else None
        self.hearth.kill()
        if window == BEFORE:
            self.cloud.release(discard=True)
        if lock is not None:
            lock.execute("ROLLBACK")
            lock.close()
        arm()
        self.hearth.start()

    def _answered_into_a_lock(self) -> sqlite3.Connection:
        """All calls are answered, and nothing of it can be committed."""
        lock = sqlite3.connect(self.hearth.file, timeout=10, isolation_level=None)
        lock.execute("BEGIN IMMEDIATE")
        before, held = self.cloud.answered().keys(), self.cloud.waiting()
        self.cloud.release()
        until("the answers", lambda: len(self.cloud.answered().keys() - before) >= held, END_S)
        time.sleep(0.5)
        return lock

    # account

    def _look(self, verb: str, window: str, when: str) -> None:
        objects = self.cloud.objects()
        if verb == "delete":
            self.result.wrong += [f"{when}: {line}" for line in account.after_delete(objects)]
        elif not window:
            alive = [one for one in objects if one["deleted"] is None]
            self.wanted[verb] = Counter(account.rtype_of(one) for one in alive)
        else:
            found = account.after_create(objects, self.wanted[verb])
            self.result.wrong += [f"{when}: {line}" for line in found.wrong]


def with_keys(template: Any) -> str:
    """The template with names of ours where one of the user's would leave no key."""
    types = kinds()
    template = deepcopy(template)
    for body in template["resources"].values():
        properties = body.get("properties") or {}
        if body["type"] in types and not has_key(types[body["type"]], properties):
            del properties["name"]
    return json.dumps(template)


@contextmanager
def lives_of(
    folder: Path, names: Sequence[str], result: Result, *, in_a_hurry: bool
) -> Iterator[Lives]:
    """The lives of these types; what goes wrong is told, with what there is by then."""
    began = time.monotonic()
    lives = Lives(folder, map(subject, names), result, in_a_hurry=in_a_hurry)
    try:
        yield lives
    except Exception as problem:
        result.wrong.append(f"{names[0]} and others: {type(problem).__name__}: {problem}")
    finally:
        lives.close()
        result.seconds = round(result.seconds + time.monotonic() - began, 1)


def run_lost(folder: Path, names: Sequence[str]) -> Result:
    """A life of all types at once in which each call loses its answer the first time."""
    result = Result()
    with lives_of(folder, names, result, in_a_hurry=True) as lives:
        lives.live()
        lives.live(LOST)
    return result


def run(folder: Path, names: Sequence[str], rounds: int, windows: Sequence[str]) -> Result:
    """Lives in all windows, with kills in the rounds from the first to `rounds`."""
    result = Result()
    in_a_hurry = LATE not in windows  # which is a moment by the real time
    for number in range(0, len(names), TOGETHER):
        some = names[number : number + TOGETHER]
        place = folder / str(number)
        with lives_of(place, some, result, in_a_hurry=in_a_hurry) as lives:
            lives.live()
            for window in windows:
                for first in range(0, rounds, KILLS):
                    lives.live(window, first)
    return result


def everything() -> list[str]:
    """The types that have an example and make calls."""
    return sorted(
        name
        for name, kind in kinds().items()
        if example(kind) is not None
        and (kind.service or isinstance(kind, UsesUsers))
        and kind.service != "orchestration"  # which is another Hearth's: the story `outer`
        and kind.service != "container-infra"  # Hearth's own: tests/conductor
        and "signal" not in (cases().get(name) or {})  # somebody would have to send them
    )


def as_json(result: Result, names: list[str]) -> dict[str, Any]:
    """The result: kills by type, verb and window."""
    table: dict[str, dict[str, dict[str, int]]] = {}
    for (name, verb, window), number in sorted(result.hit.items()):
        table.setdefault(name, {}).setdefault(verb, {})[window] = number
    return {
        "kills": result.kills,
        "answers_lost": result.lost,
        "types": len(names),
        "hits": sum(result.hit.values()),
        "wrong": result.wrong,
        "never_hit": [name for name in names if name not in table] if result.kills else [],
        "seconds": result.seconds,
        "by_type": table,
    }


def main() -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="kill -9 under all types at once.")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--windows", type=int, default=len(WINDOWS))
    parser.add_argument("--lost", action="store_true", help="no kills: answers are lost")
    parser.add_argument("--json", type=Path)
    parser.add_argument("types", nargs="*")
    given = parser.parse_args()
    names = given.types or everything()
    with tempfile.TemporaryDirectory() as folder:
        if given.lost:
            result = run_lost(Path(folder), names)
        else:
            result = run(Path(folder), names, given.rounds, list(WINDOWS)[: given.windows])
    told = as_json(result, names)
    if given.json:
        given.json.write_text(json.dumps(told, indent=1) + "\n")
    for line in result.wrong:
        print(f"WRONG {line}")
    print(f"{result.kills} kills, {result.lost} lost answers under {len(names)} types;"
          f" never hit: {told['never_hit']}; {result.seconds} s")  # fmt: skip
    return 1 if result.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
