"""Concurrent users in some histories: they send requests about the same stack.

Each user sends a request as soon as the previous operation has ended. Most updates are small, and
some users cancel what they have just requested. The users have their own random number generator,
so that histories without them stay the same.
"""

import random

from hearth.store.credentials import Requester
from tests.simulator.draw import Draw

UPDATES = 0.5  # of the requests
SMALL = 0.8  # of the updates
SECOND_THOUGHTS = 0.5  # of the small updates
THINKS_MAX_S = 6.0
TRUST_ENDS_MAX_S = 15.0
HESITATES_MAX_S = 3.0


class Load:
    """Generates the requests of several users in one history.

    `share` is the probability that the history has several users; `here` is true if it has.
    """

    def __init__(self, seed: int, share: float) -> None:
        self._rng = random.Random(f"crowd {seed}")
        self.here = self._rng.random() < share
        self.draw = Draw(self._rng)

    def user(self) -> Requester:
        """Return a random user, who sends the next request."""
        return Requester(user_id=self._rng.choice("abc"))

    def updates(self) -> bool:
        """Return whether the next request is an update; false if the history has only one user."""
        return self.here and self._rng.random() < UPDATES

    def changes_little(self) -> bool:
        """Return whether the next update is a small one; false if the history has only one user."""
        return self.here and self._rng.random() < SMALL

    def thinks_s(self) -> float | None:
        """Return after how many seconds a user cancels an update, or None if the user does not."""
        if self._rng.random() > SECOND_THOUGHTS:
            return None
        return self._rng.uniform(0.0, THINKS_MAX_S)

    def hesitates_s(self) -> float:
        """Return the time between the end of an operation and the next request, in seconds; often
        0.
        """
        return self._sometimes(HESITATES_MAX_S)

    def trust_ends_s(self) -> float:
        """Return how long the deletion of a trust takes, in seconds; often 0."""
        return self._sometimes(TRUST_ENDS_MAX_S) if self.here else 0.0

    def _sometimes(self, most: float) -> float:
        return max(0.0, self._rng.uniform(-most, most))
