"""A cache of objects that are dropped some time after their last use."""

import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 2000
KEPT_S = 300.0
"""How long an object is kept after its last use, in seconds."""


class Recent(Generic[K, V]):
    """Objects that were used within the last KEPT_S seconds, at most MOST of them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, tuple[V, float]] = OrderedDict()  # with the time of the last use

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """Return the object with this key, which counts as used now, or None."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept[key] = found[0], time.monotonic()
        self._kept.move_to_end(key)
        return found[0]

    def keep(self, key: K, value: V) -> V:
        """Add an object and return it; it counts as used now."""
        self._kept[key] = value, time.monotonic()
        return value

    def drop_unused(self) -> Iterator[K]:
        """Drop the objects that nobody has used lately, and those that are too many; yield their
        keys.
        """
        before = time.monotonic() - KEPT_S
        while self._kept:
            key, (_, used_at) = next(iter(self._kept.items()))
            if used_at > before and len(self._kept) <= MOST:
                return
            del self._kept[key]
            yield key

    def clear(self) -> None:
        """Drop all objects."""
        self._kept.clear()
