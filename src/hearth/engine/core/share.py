"""How many of the waiting stacks an engine takes, so that all engines get equally many."""

from collections.abc import Mapping, Sequence


def share(me: str, owned: Mapping[str, int], waiting: int, *, patient: bool = True) -> int:
    """Return how many of `waiting` stacks the engine `me` takes now.

    `owned` is {id of an engine: number of its stacks} for the engines that may take stacks; `me` is
    one of them. An engine that is not `patient` takes a part even if others have fewer stacks.
    """
    if not waiting:
        return 0
    fair = min(waiting, max(0, _level(sorted(owned.values()), waiting) - owned[me]))
    if not fair and not patient:
        return -(-waiting // len(owned))
    return fair


def _level(counts: Sequence[int], waiting: int) -> int:
    """Return how many stacks each engine has at most, once those with the fewest have taken all
    that wait. `counts` is sorted.
    """
    level = below = 0
    for number, count in enumerate(counts, 1):
        if number > 1 and level <= count:
            break
        below += count
        level = -(-(below + waiting) // number)
    return level
