"""A cache of objects that are dropped some time after their last use."""

import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST = 2000
KEPT_S = 120.0
"""How long an object is kept after its last use, in seconds."""


class Recent(Generic[K, V]):
    """Objects that were used within the last KEPT_S seconds, at most MOST of them."""

    def __init__(self) -> None:
        self._kept: OrderedDict[K, tuple[V, float]] = OrderedDict()  # with the time of the last use

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K) -> V | None:
        """Return the object with this key, which counts as used now, or None."""
        entry = self._kept.get(key)
        if entry is None:
            return None
        self._kept[key] = entry[0], time.monotonic()
        self._kept.move_to_end(key)
        return entry[0]

    def keep(self, key: K, value: V) -> list[K]:
        """Add an object, which counts as used now; return the keys of the objects dropped.

        Objects that were not used for KEPT_S are dropped and, if there are more than MOST, the
        least recently used ones. Code that still holds such an object can use it.
        """
        now = time.monotonic()
        dropped: list[K] = []
        self._kept[key] = value, now
        while True:
            oldest, (_, used_at) = next(iter(self._kept.items()))
            if used_at > now - KEPT_S and len(self._kept) <= MOST:
                return dropped
            del self._kept[oldest]
            dropped.append(oldest)

    def clear(self) -> None:
        """Drop all objects."""
        self._kept.clear()
