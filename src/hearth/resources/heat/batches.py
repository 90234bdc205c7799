"""The arithmetic of batches: how a group of one size becomes one of another, a few at a time.

Source: spec/groups-and-nesting.md, section 3.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Course:
    """What a group shall become, and how: at most `batch` members are changed at a time, and as far
    as the group can grow `in_service` are left alone meanwhile."""

    target: int
    batch: int
    in_service: int = 0

    def step(self, size: int, renewed: int) -> tuple[int, int] | None:
        """The next batch of a group with `renewed` of `size` members as they shall be.

        It is (the size after it, how many members it changes); None where nothing is left to do.
        """
        if renewed >= size and size == self.target:
            return None
        in_service = min(self.in_service, self.target, size)
        changed = min(self.batch, max(self.target - renewed, 0))
        return changed + max(min(size, self.target - changed), in_service), changed


def batches(
    course: Course, size: int, renewed: int = 0, *, by_index: bool
) -> Iterator[tuple[int, int]]:
    """All batches from a group with `renewed` of `size` members as they shall be.

    In a group with members named `by_index` those above the target are there for a while only, so
    they do not count as renewed.
    """
    while (step := course.step(size, renewed)) is not None:
        after, changed = step
        surplus = max(0, after - max(size, course.target)) if by_index else 0
        renewed += changed - surplus
        size = after
        yield step
