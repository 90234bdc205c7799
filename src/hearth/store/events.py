"""Events: numbered per tree without gaps, in the transaction that causes them."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.rows import Event, StackRow
from hearth.store.tables import event, tree

_INSERT = Prepared(event.insert())
_MINE = tree.c.root_id == sa.bindparam("b_root", type_=sa.String())
_MOVED = (
    tree.update()
    .where(_MINE)
    .values(event_seq=tree.c.event_seq + sa.bindparam("b_count", type_=sa.Integer()))
)
_MOVE = Prepared(_MOVED)
_MOVE_AND_SEE = Prepared(_MOVED.returning(tree.c.event_seq))
_SEE = Prepared(sa.select(tree.c.event_seq).where(_MINE))


def append(tx: Tx, events: Iterable[Event]) -> None:
    """Append events to their trees; whoever commits first comes first."""
    by_root: dict[str, list[Event]] = {}
    for one in events:
        by_root.setdefault(one.root_id, []).append(one)
    rows: list[dict[str, Any]] = []
    for root_id in sorted(by_root):
        mine = by_root[root_id]
        last = _advanced(tx, root_id, len(mine))
        rows += [_row(tx, one, last - len(mine) + i) for i, one in enumerate(mine, start=1)]
    if rows:
        tx.many(_INSERT, rows)


def first(tx: Tx, one: Event) -> None:
    """The first event of a new tree, whose sequence was stored as 1."""
    tx.many(_INSERT, [_row(tx, one, 1)])


def _advanced(tx: Tx, root_id: str, count: int) -> int:
    """The tree's sequence after `count` more events."""
    mine = {"b_root": root_id}
    moved = {**mine, "b_count": count}
    last: int
    if tx.returning:
        last = tx.value(_MOVE_AND_SEE, moved)
    else:
        tx.do(_MOVE, moved)
        last = tx.value(_SEE, mine)
    return last


def _row(tx: Tx, one: Event, seq: int) -> dict[str, Any]:
    return {
        "root_id": one.root_id,
        "seq": seq,
        "id": one.id,
        "stack_id": one.stack_id,
        "time": one.time,
        "resource_name": one.resource_name,
        "resource_type": one.resource_type,
        "physical_id": one.physical_id,
        "action": one.action,
        "status": one.status,
        "reason": one.reason,
        "properties": None if one.properties is None else tx.seal(one.properties),
    }


def of_stack(
    stack: StackRow, event_id: str, time: float, action: str, status: str, reason: str
) -> Event:
    """The event of a stack itself."""
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
