"""Query the stacks that an engine still owns; others may have declared the engine dead."""

import sqlalchemy as sa

from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.tables import stack

_OWNED = Prepared(
    lambda: sa.select(stack.c.id, stack.c.epoch).where(
        stack.c.owner == sa.bindparam("me", type_=sa.String())
    )
)


def owned_stacks(tx: Tx, engine_id: str) -> dict[str, int]:
    """Return the epoch of each stack that an engine owns, by stack id."""
    return {row.id: row.epoch for row in tx.rows(_OWNED, {"me": engine_id})}
