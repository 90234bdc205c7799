"""Messages to the owner of a stack, each delivered exactly once."""

from collections import deque

from hearth.store.messages import Message


class Inbox:
    """Messages that have arrived but were not read yet.

    The id of a message may be used again after its row is deleted.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Message, bool]] = deque()
        self._seen: set[int] = set()  # messages that came and still have a row
        self._early: set[int] | None = set()  # those that have one before the stack is read

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def deliver(self, message: Message, *, loaded: bool = False) -> bool:
        """Queue a message; return whether it is new.

        `loaded`: it was read in the same transaction as the stack's row, so it concerns no
        operation that is newer than the row.
        """
        if message.id in self._seen:
            return False
        self._seen.add(message.id)
        self._waiting.append((message, loaded))
        return True

    def wants(self, message_id: int) -> bool:
        """Return whether the message must be read: it is new, and no load of the stack will read
        it.
        """
        if self._early is not None:
            self._early.add(message_id)
            return False
        return message_id not in self._seen

    def opened(self) -> bool:
        """Record that the stack was loaded with its messages; return whether others have arrived
        meanwhile.
        """
        early, self._early = self._early, None
        return bool(early) and not (early or set()) <= self._seen

    def next(self) -> tuple[Message, bool] | None:
        """Return the next message and whether it was `loaded`."""
        return self._waiting.popleft() if self._waiting else None

    def forget(self, message_ids: list[int]) -> None:
        """Forget messages whose rows are deleted."""
        self._seen.difference_update(message_ids)
