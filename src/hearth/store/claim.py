"""Who works on which stack: leases of engines, claims of stacks, and their release.

All times compared here are the database's own.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from hearth.engine.core.record import Record
from hearth.store.database import Tx
from hearth.store.rows import Revision, StackRow, record_of, stack_row
from hearth.store.tables import (
    credential,
    engine,
    mail,
    node,
    resource,
    resource_data,
    stack,
    stray,
)
from hearth.store.texts import get_revision

LEASE_S = 15.0


def announce(tx: Tx, engine_id: str, host: str, pid: int) -> None:
    """Enter an engine with a fresh lease."""
    row = {"id": engine_id, "host": host, "pid": pid, "started_at": 0.0, "beat_at": 0.0}
    tx.execute(engine.insert(), row)
    tx.execute(
        engine.update().where(engine.c.id == engine_id).values(started_at=tx.now, beat_at=tx.now)
    )


def beat(tx: Tx, engine_id: str) -> bool:
    """Renew the lease; False if others have declared the engine dead."""
    mine = engine.c.id == engine_id
    done = tx.execute(engine.update().where(mine).values(beat_at=tx.now))
    return bool(done.rowcount)


def resign(tx: Tx, engine_id: str) -> None:
    """End the lease at once: its stacks may be claimed by the next who looks."""
    tx.execute(engine.update().where(engine.c.id == engine_id).values(beat_at=0.0))


def expire_all(tx: Tx) -> None:
    """End every lease (the caller knows that no other engine can be alive)."""
    tx.execute(engine.update().values(beat_at=0.0))


@dataclass(frozen=True, slots=True)
class Claim:
    """A stack that is now ours."""

    stack_id: str
    epoch: int


def claim(tx: Tx, engine_id: str, limit: int) -> list[Claim]:
    """Take up to `limit` stacks that want an owner: due, with mail, or of a dead engine.

    None while our own lease is not valid: after a jump of the clock all look dead to each other.
    """
    fresh = sa.and_(engine.c.id == engine_id, engine.c.beat_at >= tx.now - LEASE_S)
    if tx.first(sa.select(engine.c.id).where(fresh)) is None:
        return []
    stale = sa.and_(engine.c.beat_at < tx.now - LEASE_S, engine.c.id != engine_id)
    dead = [row.id for row in tx.rows(sa.select(engine.c.id).where(stale))]
    found: dict[str, tuple[int, int]] = {}
    free = sa.and_(stack.c.owner.is_(None), stack.c.deleted_at.is_(None))
    wants = [
        (sa.and_(free, stack.c.due_at <= tx.now), 0),
        (sa.and_(free, stack.c.id.in_(sa.select(mail.c.stack_id))), 0),
    ]
    if dead:
        wants.append((stack.c.owner.in_(dead), 1))
    for condition, orphaned in wants:
        left = limit - len(found)
        if left <= 0:
            break
        query = sa.select(stack.c.id, stack.c.epoch).where(condition).limit(left)
        for row in tx.rows(query.with_for_update(skip_locked=True)):
            found.setdefault(row.id, (row.epoch, orphaned))
    claims = []
    for stack_id in sorted(found):
        epoch, orphaned = found[stack_id]
        done = tx.execute(
            stack.update()
            .where(stack.c.id == stack_id, stack.c.epoch == epoch)
            .values(owner=engine_id, epoch=epoch + 1, takeovers=stack.c.takeovers + orphaned)
        )
        if done.rowcount:
            claims.append(Claim(stack_id, epoch + 1))
    if dead and not found:
        owned = sa.select(stack.c.owner).where(stack.c.owner.is_not(None))
        tx.execute(engine.delete().where(engine.c.id.in_(dead), engine.c.id.not_in(owned)))
    return claims


@dataclass(frozen=True, slots=True)
class InFlight:
    """A node whose intent is committed."""

    resource_id: str
    traversal: str
    kind: str
    action: str
    phase: str
    step: str
    attempt: int
    started_at: float
    wanted: Any
    due_at: float | None


@dataclass(frozen=True, slots=True)
class Stray:
    """An attempt whose answer never came."""

    id: str
    resource_id: str
    resource_type: str
    since: float
    facts: Any


@dataclass(frozen=True, slots=True)
class Loaded:
    """All rows of a stack that its owner needs."""

    stack: StackRow
    revision: Revision
    records: list[Record]
    data: dict[str, dict[str, str]]
    metadata: dict[str, Any]
    in_flight: list[InFlight]
    strays: list[Stray]
    credential: tuple[str, Any] | None


def load(tx: Tx, stack_id: str) -> Loaded | None:
    """The stack as it is now; None if it is gone."""
    row = tx.first(sa.select(stack).where(stack.c.id == stack_id))
    if row is None:
        return None
    mine = stack_row(row)
    records = [
        record_of(tx, r)
        for r in tx.rows(
            sa.select(resource)
            .where(resource.c.stack_id == stack_id)
            .order_by(resource.c.created_at, resource.c.id)
        )
    ]
    kept = tx.rows(sa.select(resource_data).where(resource_data.c.stack_id == stack_id))
    flights = tx.rows(sa.select(node).where(node.c.stack_id == stack_id))
    lost = tx.rows(sa.select(stray).where(stray.c.stack_id == stack_id))
    held = None
    if mine.credential_id:
        found = tx.first(sa.select(credential).where(credential.c.id == mine.credential_id))
        held = (found.kind, tx.unseal(found.body)) if found else None
    return Loaded(
        mine,
        get_revision(tx, stack_id, mine.revision),
        records,
        {r.resource_id: tx.unseal(r.data) for r in kept},
        {r.resource_id: tx.unseal(r.metadata) for r in kept},
        [_in_flight(tx, r) for r in flights],
        [Stray(r.id, r.resource_id, r.resource_type, r.since, tx.unseal(r.facts)) for r in lost],
        held,
    )


def _in_flight(tx: Tx, row: Any) -> InFlight:
    names = ("resource_id", "traversal", "kind", "action", "phase", "step", "attempt", "started_at")
    return InFlight(
        **{name: getattr(row, name) for name in names},
        wanted=tx.unseal(row.wanted),
        due_at=row.due_at,
    )


def read_mail(tx: Tx, stack_id: str) -> list[tuple[int, str, Any]]:
    """What lies there for a stack, oldest first: (id, kind, body)."""
    rows = tx.rows(sa.select(mail).where(mail.c.stack_id == stack_id).order_by(mail.c.id))
    return [(row.id, row.kind, tx.unseal(row.body)) for row in rows]


def with_mail(tx: Tx, engine_id: str) -> set[str]:
    """Stacks of an engine for which mail lies there."""
    query = (
        sa.select(mail.c.stack_id)
        .distinct()
        .join(stack, stack.c.id == mail.c.stack_id)
        .where(stack.c.owner == engine_id)
    )
    return {row.stack_id for row in tx.rows(query)}


def next_due(tx: Tx) -> float | None:
    """When the next unowned stack is due."""
    free = sa.and_(stack.c.owner.is_(None), stack.c.deleted_at.is_(None))
    found: float | None = tx.execute(sa.select(sa.func.min(stack.c.due_at)).where(free)).scalar()
    return found


def traversal(tx: Tx, stack_id: str) -> str | None:
    """The traversal a stack is in now."""
    row = tx.first(sa.select(stack.c.traversal).where(stack.c.id == stack_id))
    return row.traversal if row else None


def metadata(tx: Tx, resource_id: str) -> Any:
    """A resource's metadata as it is now."""
    mine = resource_data.c.resource_id == resource_id
    row = tx.first(sa.select(resource_data.c.metadata).where(mine))
    return tx.unseal(row.metadata) if row else {}


def is_live(tx: Tx, stack_id: str) -> bool:
    """Whether the stack exists and is not deleted."""
    alive = sa.and_(stack.c.id == stack_id, stack.c.deleted_at.is_(None))
    return tx.first(sa.select(stack.c.id).where(alive)) is not None


def state(tx: Tx, stack_id: str) -> tuple[str, str] | None:
    """Action and status of a stack that is not deleted."""
    alive = sa.and_(stack.c.id == stack_id, stack.c.deleted_at.is_(None))
    row = tx.first(sa.select(stack.c.action, stack.c.status).where(alive))
    return (row.action, row.status) if row is not None else None


def members(tx: Tx, stack_id: str) -> dict[str, Any]:
    """The resources of a nested stack as its parent's type sees them, by name."""
    rows = tx.rows(sa.select(resource).where(resource.c.stack_id == stack_id))
    found = (record_of(tx, row) for row in rows)
    return {record.name: member(record) for record in found if record.until is None}


def member(record: Record) -> dict[str, Any]:
    """A resource of a nested stack as its parent's type sees it."""
    return {
        "reference": record.held.reference,
        "attributes": record.held.attributes,
        "physical_id": record.physical_id,
        "status": record.status.value,
    }
