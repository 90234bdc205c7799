"""A cache with limits on the number of items and on the length of the text from which they were
made.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

CHARACTERS_MAX = 1_000_000
"""The maximum characters of text from which all cached items are made; a module needs some
hundred bytes for each.
"""


class Cache(Generic[K, V]):
    """Keeps the last used items: at most `most`, made from at most `characters_max` characters of
    text.
    """

    def __init__(self, most: int, characters_max: int = CHARACTERS_MAX) -> None:
        self.most = most
        self.characters_max = characters_max
        self.characters = 0
        self._things: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._things)

    def get(self, key: K) -> V | None:
        """Return the item of a key, or None; the item becomes the newest."""
        found = self._things.get(key)
        if found is None:
            return None
        self._things.move_to_end(key)
        return found[0]

    def keep(self, key: K, value: V, characters: int) -> None:
        """Add an item with the number of `characters` of its text.

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
