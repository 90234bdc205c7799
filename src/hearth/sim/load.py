"""The load of some histories: several users change one stack at the same time.

Each user sends a request as soon as the running operation has ended. Most changes are small, and
some users cancel what they have just requested. The load has its own random numbers, so histories
without a load stay the same.
"""

import random

from hearth.sim.draw import Draw
from hearth.store.credentials import Requester

UPDATES = 0.5  # of the requests
SMALL = 0.8  # of the updates
SECOND_THOUGHTS = 0.5  # of the small updates
THINKS_MAX_S = 6.0
TRUST_ENDS_MAX_S = 15.0
HESITATES_MAX_S = 3.0


class Load:
    """The users of one history; `here` is true if there is more than one."""

    def __init__(self, seed: int, share: float) -> None:
        self._rng = random.Random(f"crowd {seed}")  # noqa: S311 - the text is part of each history
        self.here = self._rng.random() < share
        self.draw = Draw(self._rng)

    def user(self) -> Requester:
        """Return the user who sends the next request."""
        return Requester(user_id=self._rng.choice("abc"))

    def updates(self) -> bool:
        """Return whether the next request is an update."""
        return self.here and self._rng.random() < UPDATES

    def changes_little(self) -> bool:
        """Return whether the next update is a small one."""
        return self.here and self._rng.random() < SMALL

    def thinks_s(self) -> float | None:
        """Return the seconds until a user cancels an update; None if the user does not."""
        if self._rng.random() > SECOND_THOUGHTS:
            return None
        return self._rng.uniform(0.0, THINKS_MAX_S)

    def hesitates_s(self) -> float:
        """Return the seconds between the end of an operation and the next request."""
        return self._sometimes(HESITATES_MAX_S)

    def trust_ends_s(self) -> float:
        """Return the duration of a trust's deletion in seconds, during which others send
        requests.
        """
        return self._sometimes(TRUST_ENDS_MAX_S) if self.here else 0.0

    def _sometimes(self, most: float) -> float:
        return max(0.0, self._rng.uniform(-most, most))
