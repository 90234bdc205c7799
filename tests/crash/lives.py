"""The life of a stack during which Hearth is killed: created, killed, completed, deleted."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash import account
from tests.crash.processes import Client, Cloud, Hearth, until
from tests.crash.templates import Call, Story, shelf, three_tiers
from tests.crash.windows import (
    RANDOM,
    UNMAKING,
    WINDOWS,
    AnyTime,
    BeforeSent,
    LandsLate,
    NoAnswer,
    Window,
)

END_S = 90.0
EARLY_AT_ONCE = 3  # calls that are held together: the first resources need nothing of each other
ABANDONED_AT_ONCE = 5
KILLS_PER_STACK = 2  # an operation whose owner died three times is failed by design


@dataclass(frozen=True)
class Kill:
    """A kill to be made: the window, and the kinds of things being made then."""

    window: str
    targets: tuple[str, ...]
    late: bool


@dataclass(frozen=True)
class Life:
    """A stack and its kills."""

    name: str
    story: Story
    kills: tuple[Kill, ...]
    seed: int
    unmade: bool = False  # one more kill while it is deleted
    abandoned: bool = False  # deleted as soon as Hearth is there again, not completed


@dataclass
class Outcome:
    """How a life went."""

    life: Life
    wrong: list[str] = field(default_factory=list)
    superfluous: list[str] = field(default_factory=list)
    made: list[Kill] = field(default_factory=list)
    missed: list[Kill] = field(default_factory=list)
    seconds: float = 0.0
    log: str = ""


def plan(count: int, seed: int) -> list[Life]:
    """Lives with `count` kills or a few more: as many in each window, every kind in turn."""
    luck = random.Random(seed)
    windows = [*WINDOWS, RANDOM]
    early, late = _Rounds(three_tiers.early, luck), _Rounds(three_tiers.late, luck)
    lives = [_of_the_shelf(seed)]
    for i in range(-(-count // (len(windows) * KILLS_PER_STACK))):
        for window in windows:
            kills = (
                Kill(window, early.take(window, EARLY_AT_ONCE), late=False),
                Kill(window, late.take(window, 1), late=True),
            )
            number = len(lives)
            lives.append(
                Life(
                    f"tiers-{number}", three_tiers, kills, seed * 100_003 + number, unmade=not i % 2
                )
            )
    lives += _abandoned(len(lives), seed, luck)
    return lives


def _abandoned(number: int, seed: int, luck: random.Random) -> list[Life]:
    """Every early kind once more, in stacks that are deleted while Hearth comes back to them."""
    kinds = luck.sample(list(three_tiers.early), len(three_tiers.early))
    kills = [
        Kill("accepted, no answer", tuple(kinds[i : i + ABANDONED_AT_ONCE]), late=False)
        for i in range(0, len(kinds), ABANDONED_AT_ONCE)
    ]
    return [
        Life(f"tiers-{number + i}", three_tiers, (kill,), seed * 100_003 + i, abandoned=True)
        for i, kill in enumerate(kills)
    ]


def _of_the_shelf(seed: int) -> Life:
    window = "accepted, no answer"
    kills = (
        Kill(window, tuple(shelf.early), late=False),
        Kill(window, tuple(shelf.late), late=True),
    )
    return Life("shelf", shelf, kills, seed)


class _Rounds:
    """Every kind once per window before any comes again."""

    def __init__(self, kinds: Iterable[str], luck: random.Random) -> None:
        self._kinds = list(kinds)
        self._luck = luck
        self._left: dict[str, list[str]] = {}

    def take(self, window: str, number: int) -> tuple[str, ...]:
        """So many kinds; none for the window that needs none."""
        if window == RANDOM:
            return ()
        chosen: list[str] = []
        while len(chosen) < number:
            left = self._left.setdefault(window, [])
            if not left:
                left += self._luck.sample(self._kinds, len(self._kinds))
            one = left.pop()
            if one not in chosen:
                chosen.append(one)
        return tuple(chosen)


class Lane:
    """One cloud and one Hearth; lives one after the other."""

    def __init__(self, folder: Path) -> None:
        self.cloud = Cloud()
        self.hearth = Hearth(folder, self.cloud)
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

    def live(self, life: Life) -> Outcome:
        """One life from its create to its delete."""
        outcome, began = Outcome(life), time.monotonic()
        try:
            self._live(life, outcome)
        except (AssertionError, TimeoutError) as problem:
            outcome.wrong.append(f"{type(problem).__name__}: {problem}")
        outcome.seconds = time.monotonic() - began
        if outcome.wrong:
            outcome.log = self.hearth.said()
        return outcome

    def _live(self, life: Life, outcome: Outcome) -> None:
        luck, story = random.Random(life.seed), life.story
        client = self.client(story.user)
        self.cloud.admin("POST", "ledger/mark")
        kills = [self._window(kill, story, luck) for kill in life.kills]
        if kills:
            kills[0].arm()
        ident = client.create(life.name, story.template, story.files)
        guest = Guest(client, life.name, ident, story)
        for i, (kill, window) in enumerate(zip(life.kills, kills, strict=True)):
            if kill.late and i and kill.window != RANDOM:
                window.arm()
                guest.may_signal.set()
            (outcome.made if window.moment() else outcome.missed).append(kill)
            self.hearth.kill()
            window.leave()
            self.hearth.start()
            window.after_restart()
        if life.abandoned:
            guest.over()
            self._delete(life, outcome, ident, luck)
            return
        guest.may_signal.set()
        state, reason = self._end(client, life.name, ident)
        guest.over()
        if state != "CREATE_COMPLETE":
            states = client.resources(life.name, ident)
            bad = {name: one for name, one in states.items() if not one.endswith("COMPLETE")}
            outcome.wrong.append(f"{state}: {reason} {bad}")
        seen = account.after_create(self.cloud.objects(), story.wanted)
        outcome.wrong += seen.wrong if state == "CREATE_COMPLETE" else []
        outcome.superfluous += seen.superfluous
        self._delete(life, outcome, ident, luck)

    def _delete(self, life: Life, outcome: Outcome, ident: str, luck: random.Random) -> None:
        """Delete the stack and see that nothing is left over."""
        client = self.client(life.story.user)
        if life.unmade:
            self._kill_while_deleting(life, outcome, ident, luck)
        else:
            client.delete(life.name, ident)
        state, reason = self._end(client, life.name, ident)
        if state not in ("DELETE_COMPLETE", "GONE"):
            outcome.wrong.append(f"{state}: {reason}")
        outcome.wrong += account.after_delete(self.cloud.objects())

    def _kill_while_deleting(
        self, life: Life, outcome: Outcome, ident: str, luck: random.Random
    ) -> None:
        """Kill while some calls of the delete are not, or not known to be, answered."""
        window = luck.choice((NoAnswer, BeforeSent, LandsLate))(self.cloud, self.hearth, {})
        services = luck.sample(("network", "compute", "volume", "identity"), 2)
        window.targets = {name: Call(name, "DELETE", "") for name in services}
        window.arm()
        self.client(life.story.user).delete(life.name, ident)
        kill = Kill(UNMAKING, tuple(services), late=True)
        (outcome.made if window.moment() else outcome.missed).append(kill)
        self.hearth.kill()
        window.leave()
        self.hearth.start()
        window.after_restart()

    def _window(self, kill: Kill, story: Story, luck: random.Random) -> Window:
        if kill.window == RANDOM:
            return AnyTime(self.cloud, self.hearth, {}, luck)
        calls = story.late if kill.late else story.early
        targets = {kind: calls[kind] for kind in kill.targets}
        return WINDOWS[kill.window](self.cloud, self.hearth, targets)

    @staticmethod
    def _end(client: Client, name: str, ident: str) -> tuple[str, str]:
        last = ("", "")

        def ended() -> bool:
            nonlocal last
            last = client.state(name, ident)
            return bool(last[0]) and not last[0].endswith("_IN_PROGRESS")

        try:
            until(f"the end of stack {name}", ended, END_S)
        except TimeoutError:
            states = client.resources(name, ident)
            bad = {one: state for one, state in states.items() if not state.endswith("COMPLETE")}
            raise TimeoutError(f"still {last} after {END_S} s: {bad}") from None
        return last


class Guest:
    """What runs in the server: tells the wait condition once, when it may."""

    def __init__(self, client: Client, name: str, ident: str, story: Story) -> None:
        self.may_signal = threading.Event()
        self._over = threading.Event()
        self._where = (client, name, ident)
        self._story = story
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def over(self) -> None:
        self._over.set()
        self.may_signal.set()
        self._thread.join(30)

    def _run(self) -> None:
        client, name, ident = self._where
        if self._story.handle is None:
            return
        self.may_signal.wait()
        while not self._over.wait(0.1):
            states = client.resources(name, ident)
            if states.get(self._story.waiter or "") == "CREATE_IN_PROGRESS" and client.signal(
                name, ident, self._story.handle
            ):
                return
