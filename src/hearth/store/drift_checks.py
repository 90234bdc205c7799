"""The schedule of the background drift checks, and their last results: one row per root stack.

A process claims a check with one conditional UPDATE, which also makes the stack due again after
LEASE_S seconds. If the process dies, another process repeats the check then. The result is stored
only while the claim is still valid and the stacks are still as they were when the check began.
Claims and due times are times of the database.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from hearth.store import accept, events, reads
from hearth.store.claim import LIVE
from hearth.store.credentials import StackCredential
from hearth.store.database import Tx
from hearth.store.prepared import NOW, Prepared
from hearth.store.rows import Event, StackRow, stack_row
from hearth.store.tables import drift_check, engine, stack

LEASE_S = 180.0
_BODY = "drift_check.body"

_ID = drift_check.c.stack_id == sa.bindparam("b_id", type_=sa.String())
_AFTER = NOW + sa.bindparam("b_after", type_=sa.Double())
_MOST = sa.bindparam("b_most", type_=sa.Integer())
_CLAIMED = sa.and_(_ID, drift_check.c.claim == sa.bindparam("b_claim", type_=sa.String()))
_IS_DUE = drift_check.c.due_at <= NOW - sa.bindparam("b_late", type_=sa.Double())
_FIRST_ALIVE = sa.select(sa.func.min(engine.c.id)).where(LIVE).scalar_subquery()
_NEW = Prepared(
    lambda: (
        sa.select(stack.c.id)
        .outerjoin(drift_check, drift_check.c.stack_id == stack.c.id)
        .where(
            stack.c.parent_id.is_(None),
            stack.c.deleted_at.is_(None),
            drift_check.c.stack_id.is_(None),
            sa.bindparam("b_me", type_=sa.String()) == _FIRST_ALIVE,
        )
        .limit(_MOST)
    )
)
_SCHEDULE = Prepared(
    lambda: drift_check.insert().values(
        stack_id=sa.bindparam("b_id", type_=sa.String()),
        due_at=_AFTER,
        attempts=sa.literal(0),
        announced=sa.false(),
    )
)
_DUE = Prepared(
    lambda: (
        sa.select(drift_check.c.stack_id).where(_IS_DUE).order_by(drift_check.c.due_at).limit(_MOST)
    )
)
_CLAIM = Prepared(
    lambda: (
        drift_check.update()
        .where(_ID, drift_check.c.due_at <= NOW)
        .values(due_at=NOW + LEASE_S, claim=sa.bindparam("b_claim", type_=sa.String()))
    )
)
_DROP = Prepared(lambda: drift_check.delete().where(_CLAIMED))
_LOOK = Prepared(
    lambda: (
        sa.select(stack, drift_check.c.attempts, drift_check.c.announced)
        .join(drift_check, drift_check.c.stack_id == stack.c.id)
        .where(_ID, stack.c.deleted_at.is_(None))
    )
)
_TREE = Prepared(
    lambda: sa.select(stack.c.id, stack.c.traversal, stack.c.status).where(
        stack.c.root_id == sa.bindparam("b_root", type_=sa.String()),
        stack.c.deleted_at.is_(None),
    )
)
_POSTPONE = Prepared(
    lambda: (
        drift_check.update()
        .where(_CLAIMED)
        .values(
            due_at=_AFTER, claim=sa.null(), attempts=sa.bindparam("b_attempts", type_=sa.Integer())
        )
    )
)
_FINISH = Prepared(
    lambda: (
        drift_check.update()
        .where(_CLAIMED)
        .values(
            due_at=_AFTER,
            claim=sa.null(),
            attempts=sa.literal(0),
            checked_at=NOW,
            outcome=sa.bindparam("b_outcome", type_=sa.String()),
            announced=sa.bindparam("b_announced", type_=sa.Boolean()),
            body=sa.bindparam("b_body", type_=sa.LargeBinary()),
        )
    )
)
_LAST = Prepared(lambda: sa.select(drift_check).where(_ID))
_STATES = Prepared(
    lambda: (
        sa.select(drift_check.c.outcome, sa.func.count().label("stacks"))
        .join(stack, stack.c.id == drift_check.c.stack_id)
        .where(stack.c.deleted_at.is_(None), drift_check.c.outcome.is_not(None))
        .group_by(drift_check.c.outcome)
    )
)


class Result(msgspec.Struct, frozen=True):
    """The result of a check. `resources` has only those that differ, as the API shows them."""

    state: str
    counts: Mapping[str, int] = {}
    resources: Sequence[Any] = ()
    reason: str | None = None


class Last(Struct, frozen=True):
    """The last result of a stack and its time."""

    result: Result
    checked_at: float


class DriftCheck(Struct, frozen=True):
    """A claimed check of the root stack `row`.

    `attempts` counts the checks before this one that gave no result. `announced` is true if the
    last event about drift said that the stack has drifted. `tree` has the traversal and the status
    of the stack and its nested stacks, by id.
    """

    claim: str
    row: StackRow
    credential: StackCredential | None
    attempts: int
    announced: bool
    tree: Mapping[str, tuple[str, str]]


def unscheduled(tx: Tx, engine_id: str, limit: int) -> list[str]:
    """Return at most `limit` root stacks that have no schedule yet.

    Only one process schedules stacks; for the others the list is empty.
    """
    return [row.id for row in tx.rows(_NEW, {"b_me": engine_id, "b_most": limit})]


def schedule(tx: Tx, delays: Mapping[str, float]) -> None:
    """Schedule the first checks of stacks, given as {stack id: seconds from now}."""
    if delays:
        tx.many(_SCHEDULE, [{"b_id": i, "b_after": delay} for i, delay in delays.items()])


def due(tx: Tx, limit: int, late_s: float = 0.0) -> list[str]:
    """Return at most `limit` stacks whose check has been due for at least `late_s` seconds, by due
    time.
    """
    return [row.stack_id for row in tx.rows(_DUE, {"b_most": limit, "b_late": late_s})]


def claim(tx: Tx, stack_id: str, claim_id: str) -> DriftCheck | None:
    """Claim the check of a stack, if it is due.

    Return None if another process was faster, or if the stack no longer exists; then its row is
    deleted.
    """
    parameters = {"b_id": stack_id, "b_claim": claim_id}
    if tx.do(_CLAIM, parameters) != 1:
        return None
    values = tx.first(_LOOK, {"b_id": stack_id})
    if values is None:
        tx.do(_DROP, parameters)
        return None
    *columns, attempts, announced = values
    row = stack_row(tx, columns)
    credential = reads.credential_of(tx, row)
    return DriftCheck(claim_id, row, credential, attempts, bool(announced), _tree(tx, stack_id))


def _tree(tx: Tx, root_id: str) -> dict[str, tuple[str, str]]:
    return {row.id: (row.traversal, row.status) for row in tx.rows(_TREE, {"b_root": root_id})}


def postpone(tx: Tx, check: DriftCheck, after_s: float, attempts: int) -> None:
    """End a check without a result; the stack becomes due again after `after_s` seconds."""
    parameters = {"b_id": check.row.id, "b_claim": check.claim}
    tx.do(_POSTPONE, {**parameters, "b_after": after_s, "b_attempts": attempts})


def finish(
    tx: Tx,
    check: DriftCheck,
    result: Result,
    after_s: float,
    *,
    announced: bool,
    event: Event | None,
) -> bool:
    """Store the result of a check, with an event about it, and schedule the next check.

    Store nothing and return False if an operation of the stack or of a nested stack has begun since
    the check began, or if the claim is no longer valid. Raises Rejected if the stack no longer
    exists.
    """
    accept.lock(tx, check.row.id)  # no operation begins between this look and the event
    if _tree(tx, check.row.id) != check.tree:
        return False
    values = {
        "b_id": check.row.id,
        "b_claim": check.claim,
        "b_after": after_s,
        "b_outcome": result.state,
        "b_announced": announced,
        "b_body": tx.seal(result, _BODY, check.row.id),
    }
    if tx.do(_FINISH, values) != 1:
        return False
    if event is not None:
        events.append(tx, [event])
    return True


def last(tx: Tx, stack_id: str) -> Last | None:
    """Return the last result of a stack, or None if it has none."""
    row = tx.first(_LAST, {"b_id": stack_id})
    if row is None or row.checked_at is None:
        return None
    return Last(msgspec.convert(tx.unseal(row.body, _BODY, stack_id), Result), row.checked_at)


def states(tx: Tx) -> dict[str, int]:
    """Return the number of existing stacks by the state of their last check."""
    return {row.outcome: row.stacks for row in tx.rows(_STATES)}
