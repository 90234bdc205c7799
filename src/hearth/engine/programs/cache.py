"""A cache with two limits: the number of items, and the total length of their source texts."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

CHARACTERS_MAX = 1_000_000
"""The maximum total length of the source texts of all cached items, in characters. A module needs
several hundred bytes of memory per character.
"""


class Cache(Generic[K, V]):
    """A cache that drops the least recently used items first.

    It holds at most `most` items, whose source texts have at most `characters_max` characters
    together.
    """

    def __init__(self, most: int, characters_max: int = CHARACTERS_MAX) -> None:
        self.most = most
        self.characters_max = characters_max
        self.characters = 0
        self._things: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._things)

    def get(self, key: K) -> V | None:
        """Return the item with this key, or None; the item counts as used now."""
        found = self._things.get(key)
        if found is None:
            return None
        self._things.move_to_end(key)
        return found[0]

    def peek(self, key: K) -> V | None:
        """Return the item with this key, or None; it does not count as used. Any thread may call
        this.
        """
        found = self._things.get(key)
        return None if found is None else found[0]

    def keep(self, key: K, value: V, characters: int) -> None:
        """Add an item whose source text has this number of `characters`, and drop old items if
        necessary.

        An item that is larger than the whole cache stays until the next item is added.
        """
        old = self._things.pop(key, None)
        self.characters += characters - (old[1] if old is not None else 0)
        self._things[key] = value, characters
        while len(self._things) > self.most or (
            self.characters > self.characters_max and len(self._things) > 1
        ):
            _, (_, gone) = self._things.popitem(last=False)
            self.characters -= gone
