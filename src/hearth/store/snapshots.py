"""Snapshots of stacks: request, list and delete.

An engine completes a snapshot at the end of the stack's SNAPSHOT operation. A delete marks the
snapshot and sends a message to the stack's owner; the row is removed when its objects in the cloud
are deleted.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from hearth.model.problem import NotFound, NotSupported, RequestLimitExceeded, rejection
from hearth.model.state import Action, Status
from hearth.store import accept
from hearth.store.credentials import Requester
from hearth.store.database import Tx
from hearth.store.messages import SnapshotDeleted
from hearth.store.prepared import Listed
from hearth.store.rows import cut
from hearth.store.tables import snapshot, stack

_OF_STACKS = Listed(
    lambda ids: (
        sa.select(snapshot).where(snapshot.c.stack_id.in_(ids)).order_by(snapshot.c.created_at)
    )
)


class Snapshot(Struct, frozen=True):
    """A row of the table `snapshot`.

    `body` is the stack's document, or None while the snapshot is being created. If the snapshot
    failed, the document has only the resources whose objects must be deleted.
    """

    id: str
    stack_id: str
    name: str | None
    action: Action
    status: Status
    reason: str
    created_at: float
    body: dict[str, Any] | None


def take(
    tx: Tx,
    stack_id: str,
    snapshot_id: str,
    name: str | None,
    limit: int,
    now: float,
    new_id: accept.NewId,
    requester: Requester | None = None,
) -> Snapshot:
    """Begin a snapshot of a stack and return it.

    Raises Rejected if the stack already has `limit` snapshots, if its state does not allow one, or
    if it does not exist. A limit of -1 means no limit.
    """
    accept.lock(tx, stack_id)
    if 0 <= limit <= len(of_stack(tx, stack_id)):
        message = f"Request limit exceeded: a stack may have {limit} snapshots at most."
        raise rejection(RequestLimitExceeded, message)
    accept.operate(
        tx, stack_id, accept.OperationRequest(Action.SNAPSHOT, requester=requester), now, new_id
    )
    accept.begin_snapshot(tx, stack_id, snapshot_id, name, now)
    return get(tx, stack_id, snapshot_id)


def of_stack(tx: Tx, stack_id: str) -> list[Snapshot]:
    """Return the snapshots of a stack, oldest first."""
    return of_stacks(tx, [stack_id]).get(stack_id, [])


def of_stacks(tx: Tx, ids: Sequence[str]) -> dict[str, list[Snapshot]]:
    """Return the snapshots of the given stacks, oldest first, by stack id.

    Stacks without snapshots are left out.
    """
    by_stack: dict[str, list[Snapshot]] = {}
    for row in tx.listed(_OF_STACKS, ids):
        by_stack.setdefault(row.stack_id, []).append(_snapshot(tx, row))
    return by_stack


def get(tx: Tx, stack_id: str, snapshot_id: str) -> Snapshot:
    """Return the snapshot of the stack with this id. Raises Rejected with NotFound."""
    condition = sa.and_(snapshot.c.id == snapshot_id, snapshot.c.stack_id == stack_id)
    row = tx.first(sa.select(snapshot).where(condition))
    if row is None:
        raise rejection(NotFound, f"The Snapshot ({snapshot_id}) could not be found.")
    return _snapshot(tx, row)


def drop(tx: Tx, stack_id: str, snapshot_id: str, now: float) -> None:
    """Request the deletion of a snapshot.

    Raises Rejected if the snapshot or the stack does not exist, or while the snapshot is being
    created.
    """
    accept.lock(tx, stack_id)
    current = get(tx, stack_id, snapshot_id)
    if current.action is Action.CREATE and current.status is Status.IN_PROGRESS:
        raise rejection(NotSupported, "Deleting in-progress snapshot is not supported.")
    set_state(tx, snapshot_id, Action.DELETE, Status.IN_PROGRESS, "Snapshot DELETE started")
    accept.send(tx, stack_id, SnapshotDeleted(snapshot_id), now)


def set_state(
    tx: Tx, snapshot_id: str, action: Action, status: Status, reason: str, body: Any = None
) -> None:
    """Write the state of a snapshot; also its document if `body` is given."""
    values: dict[str, Any] = {
        "action": action.value,
        "status": status.value,
        "reason": tx.seal_text(cut(reason), "snapshot.reason", snapshot_id),
    }
    if body is not None:
        values["body"] = tx.seal(body, "snapshot.body", snapshot_id)
    tx.execute(snapshot.update().where(snapshot.c.id == snapshot_id).values(values))


def take_over(tx: Tx, root_id: str, since: float) -> None:
    """Delete the snapshots of the nested stacks of a root stack that were begun since this time.

    The snapshot of the root stack contains their documents.
    """
    below = sa.select(stack.c.id).where(stack.c.root_id == root_id, stack.c.id != root_id)
    tx.execute(
        snapshot.delete().where(snapshot.c.stack_id.in_(below), snapshot.c.created_at >= since)
    )


def end_making(tx: Tx, stack_id: str, status: Status, reason: str, body: Any) -> None:
    """Record that the snapshot in progress of a stack is complete or has failed.

    `body` is the document of the stack, and None stores none.
    """
    making = sa.and_(
        snapshot.c.stack_id == stack_id,
        snapshot.c.action == Action.CREATE.value,
        snapshot.c.status == Status.IN_PROGRESS.value,
    )
    for row in tx.rows(sa.select(snapshot.c.id).where(making)):
        set_state(tx, row.id, Action.CREATE, status, reason, body)


def forget(tx: Tx, snapshot_id: str) -> None:
    """Delete the row of a snapshot."""
    tx.execute(snapshot.delete().where(snapshot.c.id == snapshot_id))


def _snapshot(tx: Tx, row: Any) -> Snapshot:
    return Snapshot(
        row.id,
        row.stack_id,
        row.name,
        Action(row.action),
        Status(row.status),
        tx.unseal_text(row.reason, "snapshot.reason", row.id),
        row.created_at,
        tx.unseal(row.body, "snapshot.body", row.id),
    )
