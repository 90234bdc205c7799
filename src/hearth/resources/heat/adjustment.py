"""The arithmetic of scaling: how many members a policy leaves a group with.

Source: spec/groups-and-nesting.md, section 6.3.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import trunc


class AdjustmentType(StrEnum):
    """What the number of a policy means."""

    CHANGE = "change_in_capacity"
    EXACT = "exact_capacity"
    PERCENT = "percent_change_in_capacity"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The sizes that a group may have."""

    least: int
    most: int

    def within(self, size: int) -> int:
        """The nearest size that is allowed."""
        return max(self.least, min(self.most, size))


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change of size. `min_step` is the least number of members for a percentage."""

    amount: float
    type: AdjustmentType
    min_step: int | None = None

    def size(self, current: int, bounds: Bounds) -> int:
        """The size that a group of `current` members gets."""
        match self.type:
            case AdjustmentType.CHANGE:
                return bounds.within(current + int(self.amount))
            case AdjustmentType.EXACT:
                return bounds.within(int(self.amount))
            case AdjustmentType.PERCENT:
                return bounds.within(current + self._share(current))

    def _share(self, current: int) -> int:
        """The percentage in members: less than one counts as one, more are cut to a whole."""
        exact = current * self.amount / 100
        share = trunc(exact)
        if 0 < abs(exact) < 1:
            share = 1 if exact > 0 else -1
        if self.min_step is not None and self.min_step > abs(share):
            share = self.min_step if share > 0 else -self.min_step
        return share
