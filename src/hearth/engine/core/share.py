"""How many of the waiting stacks one engine takes, so that all engines get the same number of
stacks.
"""

from collections.abc import Mapping, Sequence


def share(me: str, owned: Mapping[str, int], waiting: int, *, patient: bool = True) -> int:
    """Return how many of `waiting` stacks the engine `me` takes now.

    `owned` is {id of an engine: number of its stacks} for the engines that may take stacks; `me` is
    one of them. If `patient` is false, the engine takes an equal part of the waiting stacks even if
    other engines have fewer stacks.
    """
    if not waiting:
        return 0
    fair = min(waiting, max(0, _level(sorted(owned.values()), waiting) - owned[me]))
    if not fair and not patient:
        return -(-waiting // len(owned))
    return fair


def _level(counts: Sequence[int], waiting: int) -> int:
    """Return how many stacks an engine may have after the waiting stacks are distributed.

    The waiting stacks go to the engines with the fewest stacks, so that these end with equal
    numbers. The result is this number, rounded up. `counts` are the current numbers of stacks of
    the engines, in ascending order.
    """
    level = below = 0
    for number, count in enumerate(counts, 1):
        if number > 1 and level <= count:
            break
        below += count
        level = -(-(below + waiting) // number)
    return level
