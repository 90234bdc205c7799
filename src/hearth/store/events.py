"""Events, numbered without gaps per tree of stacks, in the transaction that causes them.

If a stack has too many events, the same transaction deletes the oldest ones, once per batch of new
events in the tree. A number is never reused, so the order of events does not change.
"""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from hearth.model.state import Status
from hearth.store import outbox
from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.rows import Event, StackRow, cut
from hearth.store.tables import event, tree

_INSERT = Prepared(lambda: event.insert())
_MINE = tree.c.root_id == sa.bindparam("b_root", type_=sa.String())
_MOVED = (
    tree.update()
    .where(_MINE)
    .values(event_seq=tree.c.event_seq + sa.bindparam("b_count", type_=sa.Integer()))
)
_MOVE = Prepared(_MOVED)
_MOVE_AND_SEE = Prepared(_MOVED.returning(tree.c.event_seq, tree.c.sinks))
_SEE = Prepared(lambda: sa.select(tree.c.event_seq, tree.c.sinks).where(_MINE))
_SINKS = Prepared(lambda: tree.update().where(_MINE).values(sinks=sa.true()))


_BUSY = (
    sa.select(event.c.stack_id)
    .where(
        event.c.root_id == sa.bindparam("b_root", type_=sa.String()),
        event.c.seq > sa.bindparam("b_after", type_=sa.BigInteger()),
    )
    .distinct()
    .subquery()
)
_FULL = Prepared(  # in a large tree, few stacks have that many events
    sa.select(event.c.stack_id)
    .join(_BUSY, _BUSY.c.stack_id == event.c.stack_id)
    .group_by(event.c.stack_id)
    .having(sa.func.count() > sa.bindparam("b_keep", type_=sa.Integer()))
)
_OF_STACK = event.c.stack_id == sa.bindparam("b_stack", type_=sa.String())
_SURPLUS = Prepared(
    lambda: (
        sa.select(event.c.seq)
        .where(_OF_STACK)
        .order_by(event.c.seq.desc())
        .limit(1)
        .offset(sa.bindparam("b_keep", type_=sa.Integer()))
    )
)
_PURGE = Prepared(
    lambda: event.delete().where(
        _OF_STACK, event.c.seq <= sa.bindparam("b_last", type_=sa.BigInteger())
    )
)


def append(tx: Tx, events: Iterable[Event]) -> None:
    """Store events with the next numbers of their trees. Transactions for the same tree wait for
    each other.

    The events are also added to the outbox if notifications are enabled or the tree has event
    sinks.
    """
    events = list(events)
    by_root: dict[str, list[Event]] = {}
    for new_event in events:
        by_root.setdefault(new_event.root_id, []).append(new_event)
    rows: list[dict[str, Any]] = []
    lasts: dict[str, int] = {}
    with_sinks: list[str] = []
    for root_id in sorted(by_root):
        tree_events = by_root[root_id]
        last, sinks = _advanced(tx, root_id, len(tree_events))
        lasts[root_id] = last
        if sinks:
            with_sinks.append(root_id)
        rows += [
            _row(tx, event, last - len(tree_events) + i)
            for i, event in enumerate(tree_events, start=1)
        ]
    if rows:
        tx.many(_INSERT, rows)
    batch = tx.config.event_purge_batch_size
    for root_id, last in lasts.items():
        before = last - len(by_root[root_id])
        if tx.config.max_events_per_stack > 0 and before // batch != last // batch:
            _purge(tx, root_id, after=min(before, last - batch))
    if tx.notifies:
        outbox.put_states(tx, events)
    for root_id in with_sinks:
        outbox.put_events(tx, root_id, by_root[root_id])


def have_sinks(tx: Tx, root_id: str) -> None:
    """Record that the stacks of this tree may have event sinks."""
    tx.do(_SINKS, {"b_root": root_id})


def _purge(tx: Tx, root_id: str, after: int) -> None:
    """Delete the oldest events of each stack that has too many and has events after the number
    `after`.
    """
    keep = {"b_keep": tx.config.max_events_per_stack}
    for full in tx.rows(_FULL, {"b_root": root_id, "b_after": after, **keep}):
        parameters = {"b_stack": full.stack_id}
        surplus = tx.first(_SURPLUS, {**parameters, **keep})
        if surplus is not None:
            tx.do(_PURGE, {**parameters, "b_last": surplus.seq})


def first(tx: Tx, event: Event, *, sinks: bool) -> None:
    """Store the first event of a new tree; the row of the tree already has the number 1.

    `sinks` is true if the root stack has event sinks.
    """
    tx.many(_INSERT, [_row(tx, event, 1)])
    if tx.notifies:
        outbox.put_states(tx, [event])
    if sinks:
        outbox.put_events(tx, event.root_id, [event])


def _advanced(tx: Tx, root_id: str, count: int) -> tuple[int, bool]:
    """Reserve `count` numbers for events of a tree.

    Return the last of them, and whether the tree may have event sinks.
    """
    parameters = {"b_root": root_id}
    moved = {**parameters, "b_count": count}
    if tx.returning:
        row = tx.first(_MOVE_AND_SEE, moved)
    else:
        tx.do(_MOVE, moved)
        row = tx.first(_SEE, parameters)
    return row.event_seq, bool(row.sinks)


def _row(tx: Tx, event: Event, seq: int) -> dict[str, Any]:
    """Return the row of an event. Properties are stored only with the first event of an action."""
    properties = None
    if event.status == Status.IN_PROGRESS and event.properties is not None:
        properties = tx.seal(event.properties, "event.properties", event.root_id, seq)
    return {
        "root_id": event.root_id,
        "seq": seq,
        "id": event.id,
        "stack_id": event.stack_id,
        "time": event.time,
        "resource_name": event.resource_name,
        "resource_type": event.resource_type,
        "physical_id": event.physical_id,
        "action": event.action,
        "status": event.status,
        "reason": tx.seal_text(cut(event.reason), "event.reason", event.root_id, seq),
        "properties": properties,
    }


def of_stack(
    stack: StackRow, event_id: str, time: float, action: str, status: str, reason: str
) -> Event:
    """Return an event about the stack itself, not about one of its resources."""
    return Event(
        event_id,
        stack.id,
        stack.root_id,
        time,
        stack.name,
        "OS::Heat::Stack",
        stack.id,
        action,
        status,
        reason,
    )
