"""The record that a node works on, and whether the node's intent is committed."""

from hearth.engine.core.record import Record
from hearth.engine.worker.failure import Superseded
from hearth.engine.worker.known.owned import OwnedStack
from hearth.store.commit import Fate


class Intent:
    """What an attempt and its calls share: the record, and how far the row of the attempt is
    written.
    """

    def __init__(self, owned: OwnedStack, record_id: str) -> None:
        self.record_id = record_id
        self.begun = False  # the row is in a change set
        self.committed = False  # the row is committed
        self._owned = owned

    @property
    def record(self) -> Record:
        """Return the current version of the record."""
        return self._owned.memory.records[self.record_id]

    async def until_committed(self) -> None:
        """Wait until all changes so far are committed.

        Raises Superseded if the commit with the intent was refused because a newer operation has
        begun.
        """
        starts = self.begun and not self.committed
        fate = await self._owned.commits.written(start=starts)
        if fate is Fate.DONE:
            self.committed = self.begun
        elif starts:
            raise Superseded
