"""When Hearth dies: four windows, each a way to be there at the right moment.

A window is entered before the stack is (or goes on being) worked on, comes to its moment, and is
left once Hearth is dead: `arm`, `moment`, `leave`.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from tests.crash.processes import Cloud, Hearth, until
from tests.crash.templates import Call

MOMENT_S = 40.0
STILL_S = 0.6
LATE_S = 1.0  # less than the time for which a type may be there and not be seen


class Window:
    """One kill to come. `targets` are the kinds of calls at which it happens."""

    def __init__(self, cloud: Cloud, hearth: Hearth, targets: dict[str, Call]) -> None:
        self.cloud = cloud
        self.hearth = hearth
        self.targets = targets

    def arm(self) -> None:
        """Make ready, before the calls go out."""

    def moment(self) -> bool:
        """Wait for the moment to kill; False if it never came."""
        raise NotImplementedError

    def leave(self) -> None:
        """Clean up, with Hearth dead."""
        self.cloud.admin("DELETE", "knobs")

    def after_restart(self) -> None:
        """What happens once Hearth is there again."""

    def _rules(self, effect: dict[str, Any]) -> None:
        rules = [
            {"match": {**call.match(), "times": 1}, "effect": effect}
            for call in self.targets.values()
        ]
        self.cloud.knobs(rules)

    def _all_wait(self) -> bool:
        """Wait until all targets are there, or no more come."""
        since, before = time.monotonic(), 0

        def there() -> bool:
            nonlocal since, before
            now = self.cloud.waiting()
            if now != before:
                since, before = time.monotonic(), now
            still = time.monotonic() - since > STILL_S
            return now == len(self.targets) or (now > 0 and still)

        try:
            until("the call that Hearth is killed at", there, MOMENT_S)
        except TimeoutError:
            return False
        return True


class BeforeSent(Window):
    """The intent is committed; the call never reaches the service."""

    def arm(self) -> None:
        self._rules({"hold": True})

    def moment(self) -> bool:
        return self._all_wait()

    def leave(self) -> None:
        self.cloud.release(discard=True)
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

    def leave(self) -> None:
        """It is still on its way."""

    def after_restart(self) -> None:
        time.sleep(LATE_S)
        self.cloud.admin("DELETE", "knobs")


class NotCommitted(Window):
    """The call is carried out and answered; what came of it cannot be committed."""

    def __init__(self, cloud: Cloud, hearth: Hearth, targets: dict[str, Call]) -> None:
        super().__init__(cloud, hearth, targets)
        self._lock: sqlite3.Connection | None = None

    def arm(self) -> None:
        self._rules({"hold": True})

    def moment(self) -> bool:
        if not self._all_wait():
            return False
        self._lock = sqlite3.connect(self.hearth.file, timeout=10, isolation_level=None)
        self._lock.execute("BEGIN IMMEDIATE")
        before = self.cloud.answered()
        held = self.cloud.waiting()
        self.cloud.release()

        def answered() -> bool:
            new = self.cloud.answered().keys() - before.keys()
            return len(new) >= held

        until("the answers", answered, 10)
        time.sleep(0.15)  # Hearth has them, and waits for the database
        return True

    def leave(self) -> None:
        super().leave()
        if self._lock is not None:
            self._lock.execute("ROLLBACK")
            self._lock.close()


class AnyTime(Window):
    """Some moment or other."""

    def __init__(
        self, cloud: Cloud, hearth: Hearth, targets: dict[str, Call], luck: random.Random
    ) -> None:
        super().__init__(cloud, hearth, targets)
        self._after_s = luck.uniform(0.0, 4.0)

    def moment(self) -> bool:
        time.sleep(self._after_s)
        return True


WINDOWS: dict[str, Callable[..., Window]] = {
    "before the call is sent": BeforeSent,
    "accepted, no answer": NoAnswer,
    "answered, not committed": NotCommitted,
    "lands after the restart": LandsLate,
}
RANDOM = "at random"
UNMAKING = "while it is deleted"
