"""Several users at one stack, in some histories: each asks as soon as what runs has ended, most
change little, and some have second thoughts.

They have a luck of their own: where there is no crowd, a history is what it would be without.
"""

import random

from hearth.sim.draw import Draw

UPDATES = 0.5  # of what they ask for
SMALL = 0.8  # of the updates
SECOND_THOUGHTS = 0.5  # after a small one
THINKS_MAX_S = 6.0
TRUST_ENDS_MAX_S = 15.0
HESITATES_MAX_S = 3.0


class Crowd:
    """The users of one history; `here` says whether there is more than one."""

    def __init__(self, seed: int, share: float) -> None:
        self._luck = random.Random(f"crowd {seed}")  # noqa: S311
        self.here = self._luck.random() < share
        self.draw = Draw(self._luck)

    def user(self) -> dict[str, str]:
        """Whoever asks next."""
        return {"user_id": self._luck.choice("abc")}

    def updates(self) -> bool:
        """Whether what somebody does next is an update."""
        return self.here and self._luck.random() < UPDATES

    def changes_little(self) -> bool:
        return self.here and self._luck.random() < SMALL

    def thinks_s(self) -> float | None:
        """Seconds until somebody breaks off what he has just asked for; None if he does not."""
        if self._luck.random() > SECOND_THOUGHTS:
            return None
        return self._luck.uniform(0.0, THINKS_MAX_S)

    def hesitates_s(self) -> float:
        """Seconds until the next one asks who has seen the end of what ran."""
        return self._sometimes(HESITATES_MAX_S)

    def trust_ends_s(self) -> float:
        """Seconds that the end of a trust takes: others ask meanwhile."""
        return self._sometimes(TRUST_ENDS_MAX_S) if self.here else 0.0

    def _sometimes(self, most: float) -> float:
        return max(0.0, self._luck.uniform(-most, most))
