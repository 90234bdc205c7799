"""The arithmetic of batches: how a group changes its size and members step by step.

Source: docs/spec/groups-and-nesting.md, section 3.3.
"""

from collections.abc import Iterator

from msgspec import Struct


class Course(Struct, frozen=True):
    """How a group reaches its desired size, the `target`.

    At most `batch` members change at a time. At least `in_service` members stay unchanged
    meanwhile, as far as the sizes allow.
    """

    target: int
    batch: int
    in_service: int = 0

    def step(self, size: int, renewed: int) -> tuple[int, int] | None:
        """Return (size after the next batch, number of members it changes), or None if nothing is
        left.

        `renewed` is the number of members, among the current `size`, that have the desired
        definition.
        """
        if renewed >= size and size == self.target:
            return None
        in_service = min(self.in_service, self.target, size)
        count = min(self.batch, max(self.target - renewed, 0))
        return count + max(min(size, self.target - count), in_service), count


def batches(
    course: Course, size: int, renewed: int = 0, *, by_index: bool
) -> Iterator[tuple[int, int]]:
    """Yield (size after the batch, number of members it changes) for each remaining batch.

    `renewed` is the number of members, among the current `size`, that have the desired definition.
    `by_index` means that members are named by number; then a member above the target size is
    temporary and does not count as renewed.
    """
    while (step := course.step(size, renewed)) is not None:
        after, changes = step
        surplus = max(0, after - max(size, course.target)) if by_index else 0
        renewed += changes - surplus
        size = after
        yield step
