"""The arithmetic of batches: how a group changes its size and members step by step.

Source: spec/groups-and-nesting.md, section 3.3.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Course:
    """The desired size of a group and how to reach it: at most `batch` members change at a time,
    and at least `in_service` stay unchanged if the group can grow enough.
    """

    target: int
    batch: int
    in_service: int = 0

    def step(self, size: int, renewed: int) -> tuple[int, int] | None:
        """Return the next batch as (size after it, members it changes), or None after the last.

        `renewed` is how many of the current `size` members have the desired definition.
        """
        if renewed >= size and size == self.target:
            return None
        in_service = min(self.in_service, self.target, size)
        changed = min(self.batch, max(self.target - renewed, 0))
        return changed + max(min(size, self.target - changed), in_service), changed


def batches(
    course: Course, size: int, renewed: int = 0, *, by_index: bool
) -> Iterator[tuple[int, int]]:
    """Yield all batches, each as (size after it, number of members it changes).

    `renewed` is how many of the current `size` members have the desired definition. If members are
    named `by_index`, those above the target size are temporary and do not count as renewed.
    """
    while (step := course.step(size, renewed)) is not None:
        after, changed = step
        surplus = max(0, after - max(size, course.target)) if by_index else 0
        renewed += changed - surplus
        size = after
        yield step
