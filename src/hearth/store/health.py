"""Health marks: the statements of users that a resource is healthy or unhealthy.

If no engine owns the stack, the mark is written to the record of the resource at once. Otherwise
the engine that owns the stack gets a message, because only the owner writes the records of a stack.
"""

import sqlalchemy as sa

from hearth.engine.core.record import Record
from hearth.engine.core.rules import ActionInProgress
from hearth.engine.core.walk import found_healthy, kept_asleep, unhealthy
from hearth.model.problem import rejection
from hearth.model.state import Action, Status
from hearth.store import accept, events
from hearth.store.database import Tx
from hearth.store.messages import HealthMarked, kind_of
from hearth.store.rows import Event, StackRow, record_of, record_state, seal_held
from hearth.store.tables import inbox, node, resource


def marked(record: Record, *, healthy: bool, reason: str, now: float) -> Record | None:
    """Return the record marked as healthy or unhealthy, or None if the mark changes nothing.

    It changes nothing if the last action of the resource is a delete, or if the resource is marked
    as healthy but is not unhealthy. The mark replaces the state of a suspended resource, so the
    record notes that its object is suspended. Source: engine.md, 23.
    """
    if record.action is Action.DELETE:
        return None
    if healthy and not unhealthy(record):
        return None
    status = Status.COMPLETE if healthy else Status.FAILED
    after = kept_asleep(record)
    if healthy:
        after = found_healthy(after)
    return after.having(action=Action.CHECK, status=status, reason=reason, updated_at=now)


def mark(
    tx: Tx,
    stack_id: str,
    record_id: str,
    *,
    healthy: bool,
    reason: str,
    now: float,
    event_id: str,
) -> bool:
    """Mark a resource as healthy or unhealthy.

    Return True if the record is written or needs no change, and False if a message asks the owner
    of the stack to write it. Raises Rejected with ActionInProgress if an action on the resource is
    in progress, and with EntityNotFound if the stack does not exist.
    """
    row = accept.lock(tx, stack_id)
    if tx.first(sa.select(node.c.resource_id).where(node.c.resource_id == record_id)):
        message = f"Stack {row.name} already has an action ({row.action}) in progress."
        raise rejection(ActionInProgress, message)
    if row.owner is not None:
        accept.send(tx, stack_id, HealthMarked(record_id, healthy, reason), now)
        return False
    resource_row = tx.first(sa.select(resource).where(resource.c.id == record_id))
    before = record_of(tx, resource_row) if resource_row is not None else None
    after = marked(before, healthy=healthy, reason=reason, now=now) if before else None
    if after is None:
        return True
    values = {**record_state(tx, after), "state": seal_held(tx, after)}
    tx.execute(resource.update().where(resource.c.id == record_id).values(values))
    events.append(tx, [event(row, after, event_id, now)])
    return True


def unread(tx: Tx, stack_id: str) -> bool:
    """Return whether the inbox of the stack contains a message about a health mark.

    The engine that owns the stack removes the message when it has handled the mark.
    """
    marks = inbox.c.kind == kind_of(HealthMarked)
    query = sa.select(inbox.c.id).where(inbox.c.stack_id == stack_id, marks).limit(1)
    return tx.first(query) is not None


def event(row: StackRow, record: Record, event_id: str, now: float) -> Event:
    """Return the event that reports that a resource was marked as healthy or unhealthy."""
    return Event(
        event_id,
        row.id,
        row.root_id,
        now,
        record.name,
        record.type,
        record.physical_id,
        record.action.value,
        record.status.value,
        record.reason,
    )
