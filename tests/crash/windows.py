"""When Hearth dies: windows, each a way to be there at the right moment.

A window is entered before the stack is (or goes on being) worked on, comes to its moment, and is
left once Hearth is dead: `arm`, `moment`, `strike`, `leave`.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import Any, Protocol

from tests.crash.processes import Client, Hearth, Pair, until
from tests.crash.story import Wave

MOMENT_S = 90.0  # a record with an orphan is deleted a minute after the attempt
OVER_S = 1.0  # between two looks whether the operation has ended
STILL_S = 2.5  # calls of a wave come in this time after each other, on a busy machine too
LEASE_S = 15.0  # as engines have it
ANSWERS_S = 30.0
AWAKE_S = 2.0  # time to do harm for an engine that wakes up
LATE_S = 1.0  # less than the time for which a type may be there and not be seen


class Door(Protocol):
    """Where the calls come in: a cloud, or a gate before another service."""

    def knobs(self, rules: list[dict[str, Any]]) -> None:
        """More rules."""

    def clear(self) -> None:
        """No rules; whoever waits goes on."""

    def struck(self) -> list[int]:
        """How often each rule struck."""

    def waiting(self) -> int:
        """How many calls are held or without their answer."""

    def release(self, *, discard: bool = False) -> None:
        """Let held calls go on, or cut them off."""

    def answered(self) -> dict[int, int]:
        """The status of each call that has ended, by its number."""


class Window:
    """One kill to come. `targets` are the calls at which it happens, by kind."""

    def __init__(self, door: Door, hearth: Hearth, targets: Wave) -> None:
        self.door = door
        self.hearth = hearth
        self.targets = targets
        self.hit: list[str] = []
        self.is_over: Callable[[], bool] = lambda: False  # whether the operation has ended
        self.next: Window | None = None  # its calls may come as soon as Hearth is there again

    def arm(self) -> None:
        """Make ready, before the calls go out."""

    def strike(self) -> None:
        """Kill, and start again."""
        self.hearth.kill()
        self.leave()
        if self.next is not None:
            self.next.arm()
        self.hearth.start()

    def moment(self) -> bool:
        """Wait for the moment to kill; False if it never came."""
        raise NotImplementedError

    def leave(self) -> None:
        """Clean up, with Hearth dead."""
        self.door.clear()

    def _rules(self, effect: dict[str, Any]) -> None:
        rules = [
            {"match": {**call.match(), "times": 1}, "effect": effect}
            for call in self.targets.values()
        ]
        self.door.knobs(rules)

    def _all_wait(self) -> bool:
        """Wait until all targets are there, or no more come."""
        since, before = time.monotonic(), 0
        asked = since

        def there() -> bool:
            nonlocal since, before, asked
            if time.monotonic() - asked > OVER_S:
                asked = time.monotonic()
                if self.is_over():
                    return True
            now = self.door.waiting()
            if now != before:
                since, before = time.monotonic(), now
            still = time.monotonic() - since > STILL_S
            return now == len(self.targets) or (now > 0 and still)

        try:
            until("the call that Hearth is killed at", there, MOMENT_S)
        except TimeoutError:
            return False
        self.hit = [kind for kind, n in zip(self.targets, self.door.struck(), strict=True) if n]
        return bool(self.hit) and self.door.waiting() > 0


class BeforeSent(Window):
    """The intent is committed; the call never reaches the service."""

    def arm(self) -> None:
        self._rules({"hold": True})

    def moment(self) -> bool:
        return self._all_wait()

    def leave(self) -> None:
        self.door.release(discard=True)
        super().leave()


class NoAnswer(Window):
    """The call is carried out; its answer never comes."""

    def arm(self) -> None:
        self._rules({"withhold": True})

    def moment(self) -> bool:
        return self._all_wait()


class LandsLate(Window):
    """The call is on its way when Hearth dies, and carried out when the next one looks for it."""

    def arm(self) -> None:
        self._rules({"hold": True})

    def moment(self) -> bool:
        return self._all_wait()

    def strike(self) -> None:
        self.hearth.kill()
        self.hearth.start()
        time.sleep(LATE_S)
        self.door.clear()
        if self.next is not None:
            self.next.arm()


class NotCommitted(Window):
    """The call is carried out and answered; what came of it cannot be committed."""

    def __init__(self, door: Door, hearth: Hearth, targets: Wave) -> None:
        super().__init__(door, hearth, targets)
        self._lock: sqlite3.Connection | None = None

    def arm(self) -> None:
        self._rules({"hold": True})

    def moment(self) -> bool:
        if not self._all_wait():
            return False
        self._lock = sqlite3.connect(self.hearth.file, timeout=10, isolation_level=None)
        self._lock.execute("BEGIN IMMEDIATE")
        before = self.door.answered()
        held = self.door.waiting()
        self.door.release()

        def answered() -> bool:
            new = self.door.answered().keys() - before.keys()
            return len(new) >= held

        until("the answers", answered, ANSWERS_S)
        time.sleep(0.15)  # Hearth has them, and waits for the database
        return True

    def leave(self) -> None:
        super().leave()
        if self._lock is not None:
            self._lock.execute("ROLLBACK")
            self._lock.close()


class AnyTime(Window):
    """Some moment or other."""

    def __init__(self, door: Door, hearth: Hearth, luck: random.Random) -> None:
        super().__init__(door, hearth, {})
        self._after_s = luck.uniform(0.0, 4.0)

    def moment(self) -> bool:
        time.sleep(self._after_s)
        return True


class Waits(Window):
    """No call is under way: some resources only take their time."""

    def __init__(
        self, door: Door, hearth: Hearth, client: Client, name: str, waits: tuple[str, ...]
    ) -> None:
        super().__init__(door, hearth, {})
        self._client = client
        self._name = name
        self._waits = waits

    def moment(self) -> bool:
        def all_wait() -> bool:
            found = self._client.call("GET", f"/stacks/{self._name}/resources")
            if found is None or not found.ok:
                return False
            rows = found.json()["resources"]
            states = {row["resource_name"]: row["resource_status"] for row in rows}
            return all(states.get(name) == "CREATE_IN_PROGRESS" for name in self._waits)

        try:
            until("resources that wait", all_wait, MOMENT_S)
        except TimeoutError:
            return False
        self.hit = list(self._waits)
        return True


class PairWindow(Window):
    """A window of two engines: what happens to the one that works on the stack."""

    def __init__(self, door: Door, pair: Pair, targets: Wave) -> None:
        super().__init__(door, pair.owner, targets)
        self.pair = pair

    def moment(self) -> bool:
        self.hearth = self.pair.owner
        return self._all_wait()


class OwnerDies(PairWindow):
    """The engine that works on the stack is killed; another takes over when its lease is over."""

    def arm(self) -> None:
        self._rules({"withhold": True})

    def strike(self) -> None:
        self.hearth.kill()
        self.door.clear()
        if self.next is not None:
            self.next.arm()
        self.pair.until_taken_over()


class OwnerSleeps(PairWindow):
    """The engine stands still for longer than its lease; then it goes on with what it was at.

    Its calls are carried out meanwhile, before the other engine looks for them, and their answers
    wait for it.
    """

    late = False

    def arm(self) -> None:
        self._rules({"hold": True})

    def strike(self) -> None:
        with self.hearth.stopped():
            if not self.late:
                self.door.clear()
            self.pair.until_taken_over()
            if self.late:
                time.sleep(LATE_S)
                self.door.clear()
        time.sleep(AWAKE_S)
        self.hearth.close()
        if self.next is not None:
            self.next.arm()


class OwnerSleepsLate(OwnerSleeps):
    """The same, but its calls are carried out only while the other engine looks for them."""

    late = True


class Sleeps(Window):
    """The only engine stands still for longer than its lease."""

    def arm(self) -> None:
        self._rules({"hold": True})

    def moment(self) -> bool:
        return self._all_wait()

    def strike(self) -> None:
        with self.hearth.stopped():
            self.door.clear()
            time.sleep(LEASE_S + 1)
        if self.next is not None:
            self.next.arm()


WINDOWS: dict[str, Callable[[Door, Hearth, Wave], Window]] = {
    "before the call is sent": BeforeSent,
    "accepted, no answer": NoAnswer,
    "answered, not committed": NotCommitted,
    "lands after the restart": LandsLate,
}
ALONE = {"stopped past its lease, alone": Sleeps}
PAIR: dict[str, Callable[[Door, Pair, Wave], Window]] = {
    "stopped past its lease, answered": OwnerSleeps,
    "stopped past its lease, lands late": OwnerSleepsLate,
    "killed, the other engine goes on": OwnerDies,
}
STOPPED = ("stopped past its lease, answered", "stopped past its lease, lands late")
RANDOM = "at random"
WAITING = "while it only waits"
