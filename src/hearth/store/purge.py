"""Permanent removal of deleted stacks: their rows, events and revisions.

The texts of templates and files are kept. They are stored once by content, and a stack that is
being created may use an existing one.
"""

import sqlalchemy as sa

from hearth.store.claim import LIVE
from hearth.store.database import Tx
from hearth.store.prepared import NOW
from hearth.store.tables import (
    credential,
    drift_check,
    engine,
    event,
    inbox,
    node,
    orphan,
    resource,
    resource_data,
    revision,
    snapshot,
    stack,
    tree,
)

_OF_STACK = (event, inbox, node, resource, resource_data, revision, snapshot, orphan, drift_check)
_ALIVE = sa.select(engine.c.id).where(LIVE)


def purge(tx: Tx, *, age_s: float, project_id: str | None, limit: int) -> int:
    """Remove at most `limit` stacks that were deleted more than `age_s` seconds ago; return their
    number.

    Nested stacks are included. The age is measured by the database's clock. A stack that a running
    engine still owns is kept.
    """
    free = sa.or_(stack.c.owner.is_(None), stack.c.owner.not_in(_ALIVE))
    query = (
        sa.select(stack.c.id, stack.c.root_id, stack.c.credential_id)
        .where(stack.c.deleted_at.is_not(None), stack.c.deleted_at <= NOW - age_s, free)
        .order_by(stack.c.deleted_at, stack.c.id)
        .limit(limit)
        .with_for_update()
    )
    if project_id is not None:
        query = query.where(stack.c.project_id == project_id)
    rows = tx.rows(query)
    if not rows:
        return 0
    ids = [row.id for row in rows]
    for table in _OF_STACK:
        tx.execute(table.delete().where(table.c.stack_id.in_(ids)))
    tx.execute(stack.delete().where(stack.c.id.in_(ids)))
    roots = sorted({row.root_id for row in rows})
    live_roots = sa.select(stack.c.root_id)
    for table, column in ((tree, tree.c.root_id), (event, event.c.root_id)):
        tx.execute(table.delete().where(column.in_(roots), column.not_in(live_roots)))
    credential_ids = sorted({row.credential_id for row in rows if row.credential_id is not None})
    in_use = sa.select(stack.c.credential_id).where(stack.c.credential_id.is_not(None))
    tx.execute(
        credential.delete().where(
            credential.c.id.in_(credential_ids), credential.c.id.not_in(in_use)
        )
    )
    return len(rows)
