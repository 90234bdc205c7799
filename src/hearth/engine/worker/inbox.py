"""Messages to the owner of a stack, each delivered exactly once."""

from collections import deque

from hearth.store.messages import Message


class Inbox:
    """The messages of one stack that have arrived but were not processed yet.

    The database may reuse the id of a message after its row is deleted; see `forget`.
    """

    def __init__(self) -> None:
        self._waiting: deque[tuple[Message, bool]] = deque()
        self._seen: set[int] = set()  # ids of messages that have arrived and still have a row
        # ids that arrived before the stack was loaded; None afterwards
        self._early: set[int] | None = set()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def deliver(self, message: Message, *, loaded: bool = False) -> bool:
        """Queue a message; return whether it is new.

        `loaded` is true if the message was read in the same transaction as the stack's row. Then
        the row already contains every operation to which the message refers.
        """
        if message.id in self._seen:
            return False
        self._seen.add(message.id)
        self._waiting.append((message, loaded))
        return True

    def wants(self, message_id: int) -> bool:
        """Return whether the message must be read from the database.

        False if it was read before, or if the stack's first load, which reads all messages, is not
        complete.
        """
        if self._early is not None:
            self._early.add(message_id)
            return False
        return message_id not in self._seen

    def opened(self) -> bool:
        """Record that the stack was loaded with its messages; return whether further messages
        arrived during the load.
        """
        early, self._early = self._early, None
        return bool(early) and not (early or set()) <= self._seen

    def next(self) -> tuple[Message, bool] | None:
        """Remove and return the next message with its flag `loaded`; None if there is no
        message.
        """
        return self._waiting.popleft() if self._waiting else None

    def forget(self, message_ids: list[int]) -> None:
        """Forget the ids of messages whose rows are deleted, because the database may reuse
        them.
        """
        self._seen.difference_update(message_ids)
