"""The list of engines for operators and clients, and the removal of dead engines from it."""

import sqlalchemy as sa
from msgspec import Struct

from hearth.store.claim import LIVE
from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.tables import engine, stack


class EngineRow(Struct, frozen=True):
    """An engine; times are in seconds since 1970; `up` is true while its lease is valid. An engine
    that is `draining` releases its stacks and claims no others.
    """

    id: str
    host: str
    pid: int
    started_at: float
    beat_at: float
    up: bool
    draining: bool = False


_ENGINES = Prepared(
    lambda: (
        sa.select(
            engine.c.id,
            engine.c.host,
            engine.c.pid,
            engine.c.started_at,
            engine.c.beat_at,
            LIVE.label("up"),
            engine.c.draining,
        )
        .where(engine.c.beat_at > 0)
        .order_by(engine.c.started_at, engine.c.id)
    )
)


def engines(tx: Tx) -> list[EngineRow]:
    """Return all engines, oldest first, except those that ended normally."""
    return [
        EngineRow(
            row.id, row.host, row.pid, row.started_at, row.beat_at, bool(row.up), bool(row.draining)
        )
        for row in tx.rows(_ENGINES)
    ]


def drain(tx: Tx, host: str, *, draining: bool) -> int:
    """Make the living engines of a host release their stacks; return the number of these engines.

    If `draining` is false, they take stacks again. An engine that starts later is not affected.
    """
    condition = sa.and_(engine.c.host == host, LIVE)
    tx.execute(engine.update().where(condition).values(draining=draining))
    return int(tx.value(sa.select(sa.func.count(engine.c.id)).where(condition)))


def held_on(tx: Tx, host: str) -> int:
    """Return the number of stacks that the living engines of a host own."""
    owners = sa.select(engine.c.id).where(engine.c.host == host, LIVE)
    return int(tx.value(sa.select(sa.func.count(stack.c.id)).where(stack.c.owner.in_(owners))))


def clean(tx: Tx) -> tuple[int, int]:
    """Remove engines that are dead or ended normally from the table.

    Return (number removed, number kept because they still own stacks).
    """
    dead = sa.not_(LIVE)
    owners = sa.select(stack.c.owner).where(stack.c.owner.is_not(None))
    went = tx.execute(engine.delete().where(dead, engine.c.id.not_in(owners))).rowcount
    remaining = tx.value(sa.select(sa.func.count(engine.c.id)).where(dead))
    return went, int(remaining)
