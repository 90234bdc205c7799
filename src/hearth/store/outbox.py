"""What leaves for others, put in the transaction that makes it true.

One process at a time sends, the living engine of the smallest id, and in the order of the rows: so
the notifications of a stack leave in the order of its states, each at least once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from hearth.store.claim import LEASE_S
from hearth.store.database import Tx
from hearth.store.prepared import NOW, Listed, Prepared
from hearth.store.rows import Event
from hearth.store.tables import credential, engine, outbox, stack

STATE = "state"
_INSERT = Prepared(outbox.insert())
_DELETE = Prepared(outbox.delete().where(outbox.c.id == sa.bindparam("b_id")))
_STACKS = Listed(
    lambda ids: (
        sa.select(stack, credential.c.body.label("facts"))
        .outerjoin(credential, credential.c.id == stack.c.credential_id)
        .where(stack.c.id.in_(ids))
    )
)
_FIRST_ALIVE = (
    sa.select(sa.func.min(engine.c.id)).where(engine.c.beat_at >= NOW - LEASE_S).scalar_subquery()
)
_PENDING = Prepared(
    sa.select(outbox)
    .where(sa.bindparam("me", type_=sa.String()) == _FIRST_ALIVE)
    .order_by(outbox.c.id)
    .limit(sa.bindparam("most", type_=sa.Integer()))
)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A row that waits to be sent."""

    id: int
    kind: str
    body: Any


def put_states(tx: Tx, events: Iterable[Event]) -> None:
    """Put the states that stacks came to, told by their own events."""
    own = [one for one in events if one.physical_id == one.stack_id]
    if not own:
        return
    found = {row.id: row for row in tx.rows(*_STACKS.of(sorted({one.stack_id for one in own})))}
    tx.many(
        _INSERT, [_row(tx, STATE, one.time, _state(tx, one, found[one.stack_id])) for one in own]
    )


def _row(tx: Tx, kind: str, now: float, body: Any) -> dict[str, Any]:
    return {"kind": kind, "body": tx.seal(body), "due_at": now, "attempts": 0}


def _state(tx: Tx, one: Event, its: Any) -> dict[str, Any]:
    facts = tx.unseal(its.facts) or {}
    return {
        "id": one.id,
        "time": one.time,
        "action": one.action,
        "status": one.status,
        "reason": one.reason,
        "stack_id": its.id,
        "stack_name": its.name,
        "project_id": its.project_id,
        "user_id": facts.get("user_id"),
        "user_name": its.creator,
        "tags": its.tags.split(",") if its.tags else [],
        "created_at": its.created_at,
        "updated_at": its.updated_at,
        "revision": its.revision,
    }


def pending(tx: Tx, engine_id: str, most: int) -> list[Leaving]:
    """The oldest rows, for whoever is to send now; nothing for the others."""
    rows = tx.rows(_PENDING, {"me": engine_id, "most": most})
    return [Leaving(row.id, row.kind, tx.unseal(row.body)) for row in rows]


def sent(tx: Tx, ids: Sequence[int]) -> None:
    """These have left."""
    if ids:
        tx.many(_DELETE, [{"b_id": i} for i in ids])
