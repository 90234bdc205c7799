"""The arithmetic of scaling: the new size of a group after a scaling policy.

Source: spec/groups-and-nesting.md, section 6.3.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import trunc


class AdjustmentType(StrEnum):
    """The meaning of the number in a scaling policy."""

    CHANGE = "change_in_capacity"
    EXACT = "exact_capacity"
    PERCENT = "percent_change_in_capacity"


@dataclass(frozen=True, slots=True)
class Bounds:
    """The smallest and the largest size of a group."""

    least: int
    most: int

    def within(self, size: int) -> int:
        """Return the allowed size nearest to `size`."""
        return max(self.least, min(self.most, size))


@dataclass(frozen=True, slots=True)
class Adjustment:
    """A change of size. `min_step` is the smallest number of members for a percentage."""

    amount: float
    type: AdjustmentType
    min_step: int | None = None

    def size(self, current: int, bounds: Bounds) -> int:
        """Return the new size of a group with `current` members."""
        match self.type:
            case AdjustmentType.CHANGE:
                return bounds.within(current + int(self.amount))
            case AdjustmentType.EXACT:
                return bounds.within(int(self.amount))
            case AdjustmentType.PERCENT:
                return bounds.within(current + self._share(current))

    def _share(self, current: int) -> int:
        """Return the percentage as a number of members, rounded towards zero but at least one."""
        exact = current * self.amount / 100
        share = trunc(exact)
        if 0 < abs(exact) < 1:
            share = 1 if exact > 0 else -1
        if self.min_step is not None and self.min_step > abs(share):
            share = self.min_step if share > 0 else -self.min_step
        return share
