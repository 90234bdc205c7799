"""A cache with two limits: the number of items, and their total size."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """A cache that drops the least recently used items first.

    It holds at most `count_max` items. Their total size is at most `size_max`, in the unit in which
    `keep` gets the size of an item.
    """

    def __init__(self, count_max: int, size_max: int | None = None) -> None:
        self._count_max = count_max
        self._size_max = size_max
        self._size = 0
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def get(self, key: K) -> V | None:
        """Return the item with this key, or None; the item counts as used now."""
        entry = self._items.get(key)
        if entry is None:
            return None
        self._items.move_to_end(key)
        return entry[0]

    def peek(self, key: K) -> V | None:
        """Return the item with this key, or None; it does not count as used. Any thread may call
        this.
        """
        entry = self._items.get(key)
        return None if entry is None else entry[0]

    def oldest(self) -> V | None:
        """Return the least recently used item, or None if the cache is empty."""
        for value, _ in self._items.values():
            return value
        return None

    def keep(self, key: K, value: V, size: int = 0) -> None:
        """Add an item, and drop old items if necessary.

        An item that is larger than the whole cache stays until the next item is added.
        """
        self.drop(key)
        self._items[key] = value, size
        self._size += size
        while len(self) > self._count_max or (self._too_large() and len(self) > 1):
            self.drop_oldest()

    def drop(self, key: K) -> None:
        """Drop the item with this key, if there is one."""
        _, size = self._items.pop(key, (None, 0))
        self._size -= size

    def drop_oldest(self) -> None:
        """Drop the least recently used item. Raises KeyError if the cache is empty."""
        _, (_, size) = self._items.popitem(last=False)
        self._size -= size

    def _too_large(self) -> bool:
        return self._size_max is not None and self._size > self._size_max
