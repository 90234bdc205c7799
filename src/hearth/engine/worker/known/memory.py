"""The rows of an owned stack in memory, and the changes that are not committed yet.

Everything runs on one event loop, so no lock is needed. There are two change sets. `always` is
written in any case; `if_current` is written only if no newer operation has begun, that is, if the
row still has the traversal that the owner knows. Memory is ahead of the rows by at most one commit.
If `if_current` is refused, its changes are undone in memory.
"""

from collections.abc import Callable, Mapping
from typing import Any

from hearth.engine.clock import Clock
from hearth.engine.core.decide import Desired
from hearth.engine.core.predict import MASK
from hearth.engine.core.record import Record
from hearth.model.state import Action, Status
from hearth.store import events
from hearth.store.claim import Loaded, Orphan
from hearth.store.commit import Changes
from hearth.store.rows import Event, StackRow

USUAL_REASON = "state changed"


def unmasked(reason: str) -> str:
    """Return a reason as it is, before there is anything to mask."""
    return reason


class Memory:
    """The rows of one stack, and both change sets.

    `traversal_in_row` is the traversal in the stack's row; `stack` may already have a newer one.
    `data` (private data) and `metadata` are by record id. `mask` replaces hidden values in reasons.
    If `all_hidden` is true, events show no property values.
    """

    stack: StackRow
    traversal_in_row: str

    def __init__(self, stack_id: str, new_id: Callable[[], str], clock: Clock) -> None:
        self.stack_id = stack_id
        self.records: dict[str, Record] = {}
        self.data: dict[str, dict[str, str]] = {}
        self.metadata: dict[str, Any] = {}
        self.orphans: list[Orphan] = []
        self.always = Changes()
        self.if_current = Changes()
        self.mask: Callable[[str], str] = unmasked
        self.all_hidden = False
        self._new_id = new_id
        self._clock = clock
        self._before: dict[str, Record | None] = {}  # records before their changes in `if_current`
        # the same for the commit that is running
        self._before_commit: dict[str, Record | None] = {}

    # -- reading and committing ------------------------------------------------------------

    def load(self, loaded: Loaded) -> None:
        """Replace the memory by the rows that were loaded."""
        self.stack = loaded.stack
        self.traversal_in_row = loaded.stack.traversal
        self.records = {record.id: record for record in loaded.records}
        self.data, self.metadata = loaded.data, loaded.metadata
        self.orphans = list(loaded.orphans)

    def reload(self, loaded: Loaded, *, owner: str, epoch: int) -> None:
        """Load the rows of a newer operation, except the records, because memory is ahead of their
        rows.
        """
        self.undo()
        self.stack = loaded.stack.having(owner=owner, epoch=epoch)
        self.traversal_in_row = loaded.stack.traversal
        self.data, self.metadata = loaded.data, loaded.metadata
        self.stay_ahead()

    def stay_ahead(self) -> None:
        """Apply uncommitted changes to rows that were just read."""
        for record_id, changes in self.always.data.items():
            self.data[record_id] = _without_none({**self.data.get(record_id, {}), **changes})
        self.metadata.update(self.always.metadata)
        if self.always.user_project is not None:
            self.stack = self.stack.having(user_project_id=self.always.user_project[1])

    def take(self) -> tuple[str, Changes, Changes]:
        """Return the traversal in the row, `always` and `if_current`, and begin new change sets."""
        traversal, always, if_current = self.traversal_in_row, self.always, self.if_current
        self.always, self.if_current = Changes(), Changes()
        self._before_commit, self._before = self._before, {}
        if if_current.stack is not None:
            self.traversal_in_row = if_current.stack.traversal
        return traversal, always, if_current

    def refused(self) -> None:
        """Undo in memory the refused `if_current`, and before that the newer one that is not
        committed yet.
        """
        self.undo()
        self._restore(self._before_commit)

    def undo(self) -> None:
        """Undo in memory the changes of the uncommitted `if_current`, and empty it."""
        self._restore(self._before)
        self._before, self.if_current = {}, Changes()

    def _restore(self, before: Mapping[str, Record | None]) -> None:
        for record_id, record in before.items():
            if record is None:
                self.records.pop(record_id, None)
            else:
                self.records[record_id] = record

    # -- records ---------------------------------------------------------------------------

    def put(self, record: Record, *, full: bool = False, if_current: bool = False) -> None:
        """Store the new version of a record. If `full` is true, all columns are written, else only
        the state.

        If `if_current` is true, the change is in that change set, otherwise in `always`.
        """
        if record.reason != USUAL_REASON:
            record = record.having(reason=self.mask(record.reason))
        if if_current:
            self._before.setdefault(record.id, self.records.get(record.id))
        else:  # the new version includes the record's changes in `if_current`
            self._is_certain(record.id)
            full = bool(self.if_current.take(record.id)) or full
        self.records[record.id] = record
        self._set(if_current).put(record, full=full)

    def add(self, record: Record) -> None:
        """Store a new record, in the change set `if_current`."""
        self._before.setdefault(record.id, None)
        self.records[record.id] = record
        self.if_current.insert[record.id] = record

    def drop(self, record: Record, *, if_current: bool = False) -> None:
        """Delete a record, in the change set `if_current` or else in `always`."""
        changes = self._set(if_current)
        if if_current:
            self._before.setdefault(record.id, self.records.get(record.id))
        else:
            self._is_certain(record.id)
        self.records.pop(record.id, None)
        changes.take(record.id)
        if changes.insert.pop(record.id, None) is None:
            changes.delete.append(record.id)

    def _is_certain(self, record_id: str) -> None:
        """Forget the previous version of a record: its change is in `always`, so `undo` must not
        restore it.
        """
        self._before.pop(record_id, None)
        self._before_commit.pop(record_id, None)

    def _set(self, if_current: bool) -> Changes:
        return self.if_current if if_current else self.always

    # -- what belongs to a record ----------------------------------------------------------

    def note_data(
        self, record_id: str, changes: Mapping[str, str | None], *, if_current: bool = False
    ) -> dict[str, str]:
        """Change the private data of a record and return all of it; the value None deletes a
        key.
        """
        self.data[record_id] = _without_none({**self.data.get(record_id, {}), **changes})
        pending = self._set(if_current).data
        pending[record_id] = {**pending.get(record_id, {}), **changes}
        return dict(self.data[record_id])

    def note_metadata(
        self, record_id: str, metadata: Mapping[str, Any], *, if_current: bool = False
    ) -> None:
        """Replace a record's metadata."""
        self.metadata[record_id] = metadata
        self._set(if_current).metadata[record_id] = metadata

    def note_orphan(self, orphan: Orphan) -> None:
        """Record a possible orphan: an object that may exist although no record has its id."""
        self.orphans.append(orphan)
        self.always.orphans.append(orphan)

    def forget_orphan(self, orphan: Orphan) -> None:
        """End the search for an orphan; the next commit deletes its row."""
        if orphan in self.orphans:
            self.orphans.remove(orphan)
            self.always.orphans_gone.append(orphan.id)

    def note_user_project(self, project_id: str) -> None:
        """Record the id of the domain project, for all stacks of the tree."""
        self.always.user_project = (self.stack.root_id, project_id)
        self.stack = self.stack.having(user_project_id=project_id)

    def set_stack(self, row: StackRow) -> None:
        """Change the stack's row, in the change set `if_current`."""
        self.if_current.stack = row
        self.stack = row

    # -- events ----------------------------------------------------------------------------

    def event(
        self,
        record: Record,
        status: Status,
        reason: str = USUAL_REASON,
        *,
        action: Action | str | None = None,
        if_current: bool = False,
        desired: Desired | None = None,
    ) -> None:
        """Add an event of a resource, with the properties of the record or those of `desired`.

        Hidden values and secrets are masked. If `if_current` is true, the event is in that change
        set, otherwise in `always`.
        """
        if reason != USUAL_REASON:
            reason = self.mask(reason)
        source = desired or record.held
        properties = source.properties
        if secret := properties.keys() if self.all_hidden else {*source.secret, *source.guarded}:
            properties = {n: MASK if n in secret else value for n, value in properties.items()}
        self._set(if_current).events.append(
            Event(
                self._new_id(),
                self.stack_id,
                self.stack.root_id,
                self._clock.now(),
                record.name,
                record.type,
                record.physical_id,
                str(action or record.action),
                status.value,
                reason,
                properties or None,
            )
        )

    def stack_event(self, row: StackRow) -> None:
        """Add an event for the state in the given row of the stack, in the change set
        `if_current`.
        """
        now = self._clock.now()
        event = events.of_stack(row, self._new_id(), now, row.action, row.status, row.reason)
        self.if_current.events.append(event)


def _without_none(data: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in data.items() if value is not None}
