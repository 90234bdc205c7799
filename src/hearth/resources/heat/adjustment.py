"""The arithmetic of scaling: the new size of a group after a scaling policy.

Source: docs/spec/groups-and-nesting.md, section 6.3.
"""

from enum import StrEnum
from math import trunc

from msgspec import Struct


class AdjustmentType(StrEnum):
    """How a scaling policy's number changes the size: add it, set it, or add it as a percentage."""

    CHANGE = "change_in_capacity"
    EXACT = "exact_capacity"
    PERCENT = "percent_change_in_capacity"


class Bounds(Struct, frozen=True):
    """The smallest and the largest allowed size of a group."""

    min_size: int
    max_size: int

    def within(self, size: int) -> int:
        """Return `size` limited to the allowed range."""
        return max(self.min_size, min(self.max_size, size))


class Adjustment(Struct, frozen=True):
    """A change of a group's size.

    `min_step` is the minimum number of members that a percentage adds or removes.
    """

    amount: float
    type: AdjustmentType
    min_step: int | None = None

    def size(self, current: int, bounds: Bounds) -> int:
        """Return the size that a group with `current` members gets, limited to `bounds`."""
        match self.type:
            case AdjustmentType.CHANGE:
                return bounds.within(current + int(self.amount))
            case AdjustmentType.EXACT:
                return bounds.within(int(self.amount))
            case AdjustmentType.PERCENT:
                return bounds.within(current + self._share(current))

    def _share(self, current: int) -> int:
        """Convert the percentage to a number of members to add, which is negative for a removal.

        The result is rounded towards zero, but a share between 0 and 1 counts as one member, and
        fewer than `min_step` members become `min_step`. As in Heat, a share of 0 with `min_step`
        removes members.
        """
        exact = current * self.amount / 100
        share = trunc(exact)
        if 0 < abs(exact) < 1:
            share = 1 if exact > 0 else -1
        if self.min_step is not None and self.min_step > abs(share):
            share = self.min_step if share > 0 else -self.min_step
        return share
