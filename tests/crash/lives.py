"""The lives of stacks during which Hearth is killed: created, changed, deleted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.conftest import drop_database, fresh_database
from tests.crash import account
from tests.crash.gate import Gate
from tests.crash.plan import VERBS, Kill, Life
from tests.crash.processes import Client, Cloud, Hearth, Pair, free_port, until
from tests.crash.story import Act, Story
from tests.crash.windows import (
    ALONE,
    PAIR,
    RANDOM,
    WAITING,
    WINDOWS,
    AnyTime,
    Door,
    Waits,
    Window,
)
from tests.guests.guests import running

END_S = 150.0  # a record with an orphan is deleted a minute after the attempt
STRAYS_S = 75.0


@dataclass(frozen=True)
class Made:
    """A kill that was made, and the kinds of calls that were under way."""

    window: str
    verb: str
    kinds: tuple[str, ...]


@dataclass
class Outcome:
    """How a life went. `wrong` is what must not be, by the verb after which it was seen."""

    life: Life
    wrong: dict[str, list[str]] = field(default_factory=dict)
    superfluous: list[str] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    missed: list[Kill] = field(default_factory=list)
    seconds: float = 0.0
    log: str = ""


def words(problem: Exception) -> str:
    """An exception, as it is told."""
    return f"{type(problem).__name__}: {problem}"


class Lane:
    """One cloud and one Hearth; lives one after the other."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self.folder = folder
        self.cloud = Cloud(orchestration_url=f"http://127.0.0.1:{port}/v1/$(project_id)s")
        self.door: Door = self.cloud
        self.hearth: Any = Hearth(folder, self.cloud, port=port)
        self.clients: dict[str, Client] = {}
        self.hearth.start()

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.hearth.kill()
        self.cloud.close()

    def client(self, user: str) -> Client:
        if user not in self.clients:
            self.clients[user] = Client(self.cloud, self.hearth.url, user)
        return self.clients[user]

    def objects(self) -> list[dict[str, Any]]:
        """What was made since the mark."""
        return self.cloud.objects()

    def live(self, life: Life) -> Outcome:
        """One life from its create to its delete."""
        outcome, began = Outcome(life), time.monotonic()
        try:
            _Living(self, life, outcome).all()
        except Exception as problem:  # whatever it is, the run goes on and the life is not well
            outcome.wrong.setdefault("stuck", []).append(words(problem))
        outcome.seconds = time.monotonic() - began
        if outcome.wrong:
            outcome.log = self.hearth.said()
        return outcome

    def window(self, kill: Kill, life: Life, luck: random.Random) -> Window:
        if kill.window == RANDOM:
            return AnyTime(self.door, self.hearth, luck)
        if kill.window == WAITING:
            client = self.client(life.story.user)
            return Waits(self.door, self.hearth, client, life.name, kill.targets)
        wave = life.story.act(kill.verb).waves[kill.wave]
        targets = {kind: wave[kind] for kind in kill.targets}
        if kill.window in PAIR:
            return PAIR[kill.window](self.door, self.hearth, targets)
        return {**WINDOWS, **ALONE}[kill.window](self.door, self.hearth, targets)


class PairLane(Lane):
    """One cloud, and two engines on one PostgreSQL."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cloud = Cloud()
        self.door = self.cloud
        database, self._database = fresh_database("postgresql")
        self.hearth = Pair(folder, self.cloud, database)
        self.clients = {}
        self.hearth.start()

    def close(self) -> None:
        super().close()
        drop_database("postgresql", self._database)


class OuterLane(Lane):
    """One cloud, a Hearth to be killed, and another one that its stacks have stacks in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gate = Gate(free_port())
        self.door = self.gate
        self.cloud = Cloud(orchestration_url=f"{self.gate.url}/v1/$(project_id)s")
        self.inner = Hearth(folder / "inner", self.cloud)
        self.inner.start()
        self.gate.behind = self.inner.url
        self.hearth = Hearth(folder / "outer", self.cloud)
        self.hearth.start()
        self.clients = {}
        self._inside = Client(self.cloud, self.inner.url)

    def close(self) -> None:
        self._inside.close()
        super().close()
        self.inner.kill()
        self.gate.close()

    def objects(self) -> list[dict[str, Any]]:
        inside = [
            {"service": "orchestration", "collection": collection, "deleted": None}
            for collection in ("stacks", "software_configs")
            for _ in self._inside.all(collection)
        ]
        return [*super().objects(), *inside]


class _Living:
    """One life under way."""

    def __init__(self, lane: Lane, life: Life, outcome: Outcome) -> None:
        self.lane, self.life, self.outcome = lane, life, outcome
        self.client = lane.client(life.story.user)
        self.luck = random.Random(life.seed)
        self.ident = ""
        self.guest: Guest | None = None
        self.noted: list[str] = []  # what each deployment must have noted so far
        self.runs = lane.folder / f"runs-{life.name}"
        self.runs.mkdir(parents=True)

    def all(self) -> None:
        """Create, delete, and of what is between the acts where there is something to do in it; a
        resume needs something suspended."""
        self.lane.cloud.admin("POST", "ledger/mark")
        try:
            kills = {verb: self.life.of(verb) for verb in VERBS}
            asked = {"create", "delete", *(verb for verb in VERBS if kills[verb])}
            if "resume" in asked:
                asked.add("suspend")
            elif "suspend" in asked and asked & {"rollback", "update"}:
                asked.add("resume")
            for verb in VERBS:
                if verb in asked:
                    self._act(self.life.story.act(verb), kills[verb])
        finally:
            if self.guest is not None:
                self.guest.over()

    def _act(self, act: Act, kills: list[Kill]) -> None:
        windows = [self.lane.window(kill, self.life, self.luck) for kill in kills]
        for window, following in pairwise(windows):
            window.next = following
        if windows:
            windows[0].arm()
        self._ask(act)
        for kill, window in zip(kills, windows, strict=True):
            if kill.wave >= self.life.story.signalled:
                self._signal()
            window.is_over = self._is_over
            if window.moment():
                kinds = tuple(window.hit)
                self.outcome.made.append(Made(kill.window, act.verb, kinds))
                if set(kill.targets) - set(kinds):
                    self.outcome.missed.append(kill)
            else:
                self.outcome.missed.append(kill)
                self.lane.door.clear()
                if window.next is not None:
                    window.next.arm()
                continue
            window.strike()
        if act.verb == "create" and self.life.abandoned:
            return
        self._signal()
        self._settle(act)

    def _ask(self, act: Act) -> None:
        name, ident = self.life.name, self.ident
        match act.verb:
            case "create":
                self.ident = self.client.create(name, act.template, act.files)
                self.guest = Guest(self.client, name, self.ident, self.life.story, self.runs)
            case "update":
                self.client.update(name, ident, act.template, act.files)
            case "rollback":
                self.client.update(name, ident, act.template, act.files, disable_rollback=False)
            case "check" | "suspend" | "resume":
                self.client.act(name, ident, act.verb)
            case "delete":
                self.client.delete(name, ident)

    def _signal(self) -> None:
        if self.guest is not None:
            self.guest.may_signal.set()

    def _settle(self, act: Act) -> None:
        """Wait for the end of an act, and compare what there is with what there shall be."""
        state, reason = self._end()
        self.noted += [act.ran] if act.ran is not None else []
        if state not in (f"{act.verb.upper()}_COMPLETE", "GONE"):
            self._wrong(act, [f"{state}: {reason} {self._unfinished()}"])
        elif act.verb == "delete":
            self._wrong(act, account.after_delete(self.lane.objects()))
        else:
            seen = self._account(act)
            self._wrong(act, seen.wrong)
            if act.servers is not None:
                self._wrong(act, account.servers(self.client.servers(), act.servers))
            if act.verb == "create":
                self.outcome.superfluous += seen.superfluous
        self._wrong(act, list(self._ran_otherwise()))

    def _ran_otherwise(self) -> Iterator[str]:
        """Yield an error for each deployment that has not run each time once."""
        for name in self.life.story.deployments:
            noted = self.runs / name
            seen = noted.read_text().splitlines() if noted.exists() else []
            wanted = zip(seen, self.noted, strict=False)
            if len(seen) != len(self.noted) or not all(a.startswith(b) for a, b in wanted):
                yield f"{name} ran {seen}, {self.noted} wanted"

    def _account(self, act: Act) -> account.Account:
        """What there is, once orphans have had their time to be found."""
        deadline = time.monotonic() + STRAYS_S
        while True:
            seen = account.after_create(self.lane.objects(), act.wanted)
            if not seen.wrong or time.monotonic() > deadline:
                return seen
            time.sleep(1)

    def _wrong(self, act: Act, words: list[str]) -> None:
        if words:
            self.outcome.wrong.setdefault(act.verb, []).extend(words)

    def _end(self) -> tuple[str, str]:
        last = ("", "")

        def ended() -> bool:
            nonlocal last
            last = self.client.state(self.life.name, self.ident)
            return bool(last[0]) and not last[0].endswith("_IN_PROGRESS")

        try:
            until(f"the end of stack {self.life.name}", ended, END_S)
        except TimeoutError:
            words = f"still {last} after {END_S} s: {self._unfinished()}"
            raise TimeoutError(words) from None
        return last

    def _is_over(self) -> bool:
        state, _ = self.client.state(self.life.name, self.ident)
        return bool(state) and not state.endswith("_IN_PROGRESS")

    def _unfinished(self) -> dict[str, str]:
        states = self.client.resources(self.life.name, self.ident)
        return {name: state for name, state in states.items() if not state.endswith("COMPLETE")}


class Guest:
    """The software in the server: it signals the wait condition once, or it is an agent."""

    def __init__(self, client: Client, name: str, ident: str, story: Story, runs: Path) -> None:
        self.may_signal = threading.Event()
        self._over = threading.Event()
        self._where = (client, name, ident)
        self._story = story
        self._runs = runs
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def over(self) -> None:
        self._over.set()
        self.may_signal.set()
        self._thread.join(30)

    def _run(self) -> None:
        self.may_signal.wait()
        if self._story.server is not None:
            self._deploy(self._story.server)
        if self._story.handle is not None:
            self._tell(self._story.handle)

    def _deploy(self, server: str) -> None:
        """Run the agent of a server until the life is over."""
        client, name, ident = self._where
        while not self._over.wait(0.1):
            shown = client.call("GET", f"/stacks/{name}/{ident}/resources/{server}")
            if shown is None or not shown.ok:
                continue
            section = shown.json()["resource"]["attributes"].get("os_collect_config")
            if section:
                with running("hearth", self._runs / "agent", section, RUNS=str(self._runs)):
                    self._over.wait()

    def _tell(self, handle: str) -> None:
        client, name, ident = self._where
        while not self._over.wait(0.1):
            states = client.resources(name, ident)
            if states.get(self._story.waiter or "") == "CREATE_IN_PROGRESS" and client.signal(
                name, ident, handle, self._story.signal
            ):
                return
