"""The random faults of a history, and the probability of each."""

import random
from collections import Counter
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

OUTAGE_MAX_S = 6.0
LOST = ("lost before", "lost after", "invisible", "late", "busy", "misdirected")
UNREAD = ("no answer", "busy", "misdirected", "deadlock")
SLOW_MAX_S = 6.0  # less than a lease allows
CRASHES_MAX = 5


class Odds(Struct, frozen=True):
    """The probability of each fault and of each rare feature, from 0 to 1."""

    crash: float = 0.003
    freeze: float = 0.0005
    mischief: float = 0.03
    failure: float = 0.018
    deaf: float = 0.2
    slow_database: float = 0.3  # in all of a history
    rollback: float = 0.5
    hooks: float = 0.25
    jump: float = 0.05
    slow: float = 0.02
    outage: float = 0.0006
    blind: float = 0.01
    identity: float = 0.1
    plugin: float = 0.2  # in all of a history
    poor: float = 0.05  # an engine without one of the types
    load: float = 0.15  # in all of a history
    groups: float = 0.2  # in all of a history
    unanswered: float = 0.0005  # commits of engines
    unanswered_request: float = 0.05


def with_odds(**more: float) -> Odds:
    """Return the default probabilities with the given ones changed."""
    return replace(Odds(), **more)


class Machines:
    """Random faults of machines and of their database connections.

    `seen` counts the faults by name. They have their own random number generator, so that the
    histories of other faults stay the same.
    """

    def __init__(self, seed: int, odds: Odds, seen: Counter[str]) -> None:
        self.rng = random.Random(f"machines {seed}")
        self._odds, self._seen = odds, seen
        self.healed = False

    def at(self, what: str, method: str) -> str | None:
        """Return how the answer to this COMMIT is lost: before ("lost before") or after ("lost
        after") it is carried out. Return None if the answer is not lost.
        """
        share = {"commit": self._odds.unanswered, "request": self._odds.unanswered_request}
        if self.healed or self.rng.random() > share.get(what, 0.0):
            return None
        self._seen["unanswered"] += 1
        self._seen["outage"] += what == "commit"
        return self.rng.choice(("lost before", "lost after"))

    def skew_s(self) -> float:
        """Return a random error of a machine's wall clock, in seconds."""
        return self.rng.choice((0.0, 0.0, self.rng.uniform(-60.0, 60.0)))

    def stands(self) -> bool:
        """Return whether a machine's clocks stop while the machine is frozen."""
        return self.rng.random() < 0.5


class Faults:
    """Generates the random faults of the cloud, the database and the engines in one history.

    `odds` are their probabilities. `seen` counts the faults by name. `now` returns the virtual time
    in seconds. After `heal` there are no faults.
    """

    def __init__(
        self,
        rng: random.Random,
        odds: Odds,
        seen: Counter[str],
        machines: Machines,
        now: Callable[[], float],
    ) -> None:
        self.machines = machines
        self.healed = False
        self._rng, self._odds, self._seen, self._now = rng, odds, seen, now
        self._back_at = 0.0  # when the database is available again
        self._slow_database = rng.random() < odds.slow_database

    def heal(self) -> None:
        """End all faults for the rest of the history, so that the stack can be repaired."""
        self.healed = self.machines.healed = True

    def deaf(self) -> bool:
        """Return whether an engine misses the current wake-up message."""
        return not self.healed and self._rng.random() < self._odds.deaf

    def of_call(self, op: str, path: str) -> str | None:
        """Return the fault of a call to the cloud, or None if the call succeeds."""
        if self.healed or self._rng.random() > self._odds.mischief:
            return None
        kind = self._rng.choice(LOST)
        self._seen[kind] += 1
        return kind

    def of_operation(self, op: str, name: str) -> str | None:
        """Return how an operation on a thing fails in the cloud, or None if it succeeds."""
        if self.healed or self._rng.random() > self._odds.failure:
            return None
        kinds = ["error", "reject", "conflict", "conflict", "hang"]
        if op == "create":
            kinds += ["in_error", "hang"]
        kind = self._rng.choice(kinds)
        self._seen[kind] += 1
        return kind

    def slow_s(self) -> float:
        """Return the delay of a transaction, in seconds, before it begins or before it returns."""
        if self.healed:
            return 0.0
        if self._rng.random() > self._odds.slow:
            return self._rng.uniform(0.0, 0.7) if self._slow_database else 0.0
        self._seen["slow"] += 1
        return self._rng.uniform(0.1, SLOW_MAX_S)

    def away(self) -> bool:
        """Return whether the database is unavailable now."""
        if self.healed or self._now() < self._back_at:
            return not self.healed
        if self._rng.random() > self._odds.outage:
            return False
        self._seen["outage"] += 1
        self._back_at = self._now() + max(0.0, self._rng.uniform(-3.0, OUTAGE_MAX_S))
        return True

    def blind(self) -> str | None:
        """Return how the current read of the cloud fails, or None if it gets its answer."""
        if self.healed or self._rng.random() > self._odds.blind:
            return None
        self._seen["blind"] += 1
        return self._rng.choice(UNREAD)

    def of_identity(self, call: str) -> str | None:
        """Return the fault of a call to the identity service: "refused", "lost" or None."""
        if self.healed or self._rng.random() > self._odds.identity:
            return None
        return self._rng.choice(("refused", "lost"))

    def of_engine(self) -> str | None:
        """Return the fault of an engine at the current call: "crash", "freeze" or None."""
        if self.healed or self._seen["crash"] >= CRASHES_MAX:
            return None
        draw = self._rng.random()
        if draw < self._odds.freeze:
            self._seen["freeze"] += 1
            return "freeze"
        if draw > self._odds.freeze + self._odds.crash:
            return None
        self._seen["crash"] += 1
        return "crash"
