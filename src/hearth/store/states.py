"""Counts of the existing stacks by state, for the metrics."""

from typing import NamedTuple

import sqlalchemy as sa

from hearth.model.state import Status
from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.tables import stack

_OVERDUE = sa.case(
    (sa.and_(stack.c.status == Status.IN_PROGRESS, stack.c.deadline < sa.bindparam("now")), 1),
    else_=0,
)
_STATES = Prepared(
    lambda: (
        sa.select(
            stack.c.action,
            stack.c.status,
            sa.func.count().label("stacks"),
            sa.func.min(stack.c.started_at).label("oldest"),
            sa.func.sum(_OVERDUE).label("overdue"),
        )
        .where(stack.c.deleted_at.is_(None))
        .group_by(stack.c.action, stack.c.status)
    )
)


class StateCount(NamedTuple):
    """How many stacks are in a state, when the oldest of their operations started, and how many
    are past their deadline.
    """

    action: str
    status: str
    stacks: int
    oldest: float
    overdue: int


def states(tx: Tx, now: float) -> list[StateCount]:
    """Return the counts for each state that at least one existing stack has."""
    return [
        StateCount(row.action, row.status, row.stacks, row.oldest, int(row.overdue))
        for row in tx.rows(_STATES, {"now": now})
    ]
