"""The commit of an engine: the changes of many stacks in one transaction.

The changes of a stack are written only if the engine still owns the stack with the same epoch;
otherwise all of them are skipped and reported as lost. The change set `if_current` (nodes that
start, the stack's state) is written only if the stack is still in the traversal that the owner
knows. The change set `always` (results) is written in any case.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from math import isinf
from operator import attrgetter
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, field

from hearth.engine.core.record import Record
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.store import accept, credentials, events, snapshots
from hearth.store.claim import Orphan
from hearth.store.database import Tx
from hearth.store.document import document
from hearth.store.messages import Content, child_ended
from hearth.store.outbox import ScalingNotice, put_scalings
from hearth.store.prepared import NOW, Listed, Prepared
from hearth.store.rows import (
    DATA,
    METADATA,
    AttemptRow,
    Event,
    StackRow,
    json_list,
    record_state,
    record_values,
    seal_held,
    stack_row,
    stack_values,
)
from hearth.store.server_metadata import kept
from hearth.store.tables import credential, inbox, node, orphan, resource, resource_data, stack
from hearth.store.texts import copy_revision


class Outgoing(Struct, frozen=True):
    """A message that a stack sends to another stack."""

    stack_id: str
    content: Content


class Changes(Struct):
    """The rows to write for one stack. Only the last version of each record is written."""

    # records by id: new ones, those whose state has changed, those with other changes, too
    insert: dict[str, Record] = field(default_factory=dict)
    state: dict[str, Record] = field(default_factory=dict)
    full: dict[str, Record] = field(default_factory=dict)
    delete: list[str] = field(default_factory=list)  # ids of records
    # by record id: changed entries of the private data (None removes one), and the new metadata
    data: dict[str, Mapping[str, str | None]] = field(default_factory=dict)
    metadata: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    # attempts: new ones, changed ones, and the record ids of those that have ended
    nodes: list[AttemptRow] = field(default_factory=list)
    moved: list[AttemptRow] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    scalings: list[ScalingNotice] = field(default_factory=list)
    messages: list[Outgoing] = field(default_factory=list)
    handled: list[int] = field(default_factory=list)  # ids of messages
    # nested stacks: new ones, operations by stack id, cancels (id, whether to roll back)
    create: list[accept.NewStack] = field(default_factory=list)
    operate: list[tuple[str, accept.OperationRequest]] = field(default_factory=list)
    cancel: list[tuple[str, bool]] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    orphans_gone: list[str] = field(default_factory=list)  # ids
    stack: StackRow | None = None
    copy_revision: tuple[int, int] | None = None  # its number, the number of the copy
    drop_credential: str | None = None  # its id
    credential: tuple[str, Mapping[str, Any]] | None = None  # its id, the changed fields
    user_project: tuple[str, str] | None = None  # the id of the root stack, the domain project
    release: tuple[float | None] | None = None  # when the stack needs an owner again; None: never
    # the result of the snapshot: status, reason, and its document; None: made from the rows
    snapshot: tuple[Status, str, Any] | None = None
    # failed snapshots whose objects remain: id, reason, resources with their objects
    left_over: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    # ended deletes of snapshots: id, status, reason; status None removes the row
    snapshots: list[tuple[str, Status | None, str]] = field(default_factory=list)

    @property
    def concerns_others(self) -> bool:
        """Whether the changes may create work for the owners of other stacks, or for a new owner of
        this one.
        """
        return bool(self.messages or self.create or self.operate or self.cancel or self.release)

    def put(self, record: Record, *, full: bool) -> None:
        """Add a record. If `full` is true, all its columns are written, else only its state."""
        if record.id in self.insert:
            self.insert[record.id] = record
        elif full or record.id in self.full:
            self.state.pop(record.id, None)
            self.full[record.id] = record
        else:
            self.state[record.id] = record

    def versions(self) -> Iterator[tuple[str, Record]]:
        """Yield (record id, record) for each existing record that is changed."""
        yield from self.state.items()
        yield from self.full.items()

    def take(self, record_id: str) -> bool | None:
        """Remove a record from the changes.

        Return whether all its columns were to be written; None if the record was not in the
        changes.
        """
        if self.full.pop(record_id, None) is not None:
            return True
        return False if self.state.pop(record_id, None) is not None else None

    def rows(self) -> int:
        """Return the approximate number of rows that the changes write."""
        collections = (
            self.insert,
            self.state,
            self.full,
            self.delete,
            self.data,
            self.metadata,
            self.nodes,
            self.moved,
            self.ended,
            self.events,
            self.messages,
        )
        return 1 + sum(map(len, collections))

    def __bool__(self) -> bool:
        return any(_COLLECTIONS(self))


_COLLECTIONS = attrgetter(*Changes.__struct_fields__)


class CommitPart(Struct, frozen=True):
    """The changes of one stack in a commit, with the owner, epoch and traversal that its worker
    knows.

    `always` is written as long as the owner has the stack, and `if_current` only if the traversal
    is still that of the stack.
    """

    stack_id: str
    owner: str
    epoch: int
    traversal: str
    always: Changes
    if_current: Changes
    now: float


class Fate(StrEnum):
    """The result of committing the changes of one stack.

    DONE: all are written. SUPERSEDED: only `always` is written, because a newer operation has
    begun. LOST: none is written, because the engine no longer owns the stack with this epoch.
    """

    DONE = "done"
    SUPERSEDED = "superseded"
    LOST = "lost"


_LOCK = Listed(
    lambda ids: (
        sa.select(stack.c.id, stack.c.owner, stack.c.epoch, stack.c.traversal)
        .where(stack.c.id.in_(ids))
        .order_by(stack.c.id)
        .with_for_update()
    )
)


def commit(tx: Tx, parts: Sequence[CommitPart], new_id: Callable[[], str]) -> dict[str, Fate]:
    """Write the changes of several stacks; return the result for each, by stack id.

    `new_id` returns a new UUID at each call.
    """
    ids = sorted({part.stack_id for part in parts})
    rows = {row.id: row for row in tx.listed(_LOCK, ids)}
    fates: dict[str, Fate] = {}
    valid: list[tuple[CommitPart, Changes]] = []
    for part in parts:
        row = rows.get(part.stack_id)
        if row is None or row.owner != part.owner or row.epoch != part.epoch:
            fates[part.stack_id] = Fate.LOST
        elif row.traversal != part.traversal:
            fates[part.stack_id] = Fate.SUPERSEDED
            if part.always.release is not None:  # the newer operation needs an owner at once
                part.always.release = (part.now,)
            valid.append((part, part.always))
        else:
            fates[part.stack_id] = Fate.DONE
            valid += [(part, part.always), (part, part.if_current)]
    if valid:
        _write(tx, valid, new_id)
    return fates


def _write(tx: Tx, valid: Sequence[tuple[CommitPart, Changes]], new_id: Callable[[], str]) -> None:
    for part, changes in valid:
        if changes.copy_revision:
            copy_revision(tx, part.stack_id, *changes.copy_revision, part.now)
    stacks = [c.stack for _, c in valid if c.stack is not None]
    if stacks:
        tx.many(_STACK, [accept.bound(stack_values(tx, row)) for row in stacks])
    for _, changes in valid:
        if changes.credential:
            credentials.change(tx, *changes.credential)
        if changes.user_project:
            root_id, project_id = changes.user_project
            tx.do(_USER_PROJECT, {"b_root": root_id, "b_project": project_id})
    _records(tx, valid)
    _data(tx, valid)
    _nodes(tx, valid)
    _orphans(tx, valid)
    put_scalings(tx, [notice for _, changes in valid for notice in changes.scalings])
    for part, changes in valid:
        _snapshots(tx, part, changes)
    done = [i for _, changes in valid for i in changes.handled]
    _delete(tx, inbox, inbox.c.id, done)
    events.append(tx, [e for _, changes in valid for e in changes.events])
    credential_ids = [changes.drop_credential for _, changes in valid if changes.drop_credential]
    _delete(tx, credential, credential.c.id, credential_ids)
    writes = accept.Writes()
    # last, because a nested stack may have its own changes in this commit
    for part, changes in valid:
        for message in changes.messages:
            writes.send(tx, message.stack_id, message.content, part.now)
        for new in changes.create:
            accept.create_nested(tx, new, part.now, new_id, writes)
    _ask_children(tx, valid, new_id, writes)
    writes.write(tx)
    for part, changes in valid:
        for child, rollback in changes.cancel:
            accept.cancel_quietly(tx, child, rollback, part.now)
    released = [
        {"b_id": part.stack_id, "b_wait_s": _wait_s(at, part.now)}
        for part, changes in valid
        if changes.release
        for at in changes.release
    ]
    if released:
        tx.many(_RELEASE, released)


def _wait_s(due_at: float | None, now: float) -> float | None:
    """Return the seconds until a stack is due; None if only a message makes it due.

    Infinity counts as None: MariaDB cannot store it.
    """
    return None if due_at is None or isinf(due_at) else due_at - now


def _ask_children(
    tx: Tx,
    valid: Sequence[tuple[CommitPart, Changes]],
    new_id: Callable[[], str],
    writes: accept.Writes,
) -> None:
    """Begin the requested operations of nested stacks.

    If a request is rejected, the parent gets a message as if the operation had failed. It gets none
    if the nested stack does not exist.
    """
    requests = [(part, *request) for part, changes in valid for request in changes.operate]
    if not requests:
        return
    among = accept.lock_all(tx, [(child, operation) for _, child, operation in requests])
    for part, child, operation in requests:
        before = among.rows.get(child)
        assert before is None or before.parent_id == part.stack_id, f"{child} is another's"
        try:
            accept.ask(tx, among, child, operation, part.now, new_id, writes)
        except Rejected as refused:
            message = "; ".join(problem.message for problem in refused.problems)
            kind = refused.problems[0].kind
            row = tx.first(_CHILD, {"b_id": child})
            if row is None:
                continue
            failed = stack_row(tx, row).having(
                status=Status.FAILED,
                reason=f"{kind}: {message}",
                first_failure=None,
                parent_traversal=operation.parent_traversal,
            )
            writes.send(tx, part.stack_id, child_ended(failed), part.now)


def _snapshots(tx: Tx, part: CommitPart, changes: Changes) -> None:
    if changes.snapshot is not None:
        status, reason, body = changes.snapshot
        row = accept.lock(tx, part.stack_id)
        complete = status is Status.COMPLETE and row.parent_id is None
        if body is None:
            body = document(tx, row, in_snapshot=not complete)  # needed to delete its objects
        snapshots.end_making(tx, part.stack_id, status, reason, body)
        if complete:
            snapshots.take_over(tx, part.stack_id, row.started_at)
    for snapshot_id, cause, resources in changes.left_over:
        accept.begin_snapshot(tx, part.stack_id, snapshot_id, None, part.now)
        body = {"resources": resources}
        snapshots.set_state(tx, snapshot_id, Action.CREATE, Status.FAILED, cause, body)
    for snapshot_id, ended, cause in changes.snapshots:
        if ended is None:
            snapshots.forget(tx, snapshot_id)
        else:
            snapshots.set_state(tx, snapshot_id, Action.DELETE, ended, cause)


_THIS = stack.c.id == sa.bindparam("b_id")
_CHILD = Prepared(lambda: sa.select(stack).where(_THIS))
_STACK = accept.written("owner", "epoch", "due_at", "takeovers", "user_project_id")
_RELEASE = Prepared(
    lambda: (
        stack.update()
        .where(_THIS)
        .values(owner=None, due_at=NOW + sa.bindparam("b_wait_s", type_=sa.Double()))
    )
)
_USER_PROJECT = Prepared(
    lambda: (
        stack.update()
        .where(stack.c.root_id == sa.bindparam("b_root"))
        .values(user_project_id=sa.bindparam("b_project"))
    )
)

_ID = resource.c.id == sa.bindparam("b_id")
_STATE: dict[str, Any] = {
    name: sa.bindparam(f"b_{name}")
    for name in (
        "action",
        "status",
        "reason",
        "physical_id",
        "until",
        "traversal",
        "replaced_by",
        "updated_at",
    )
}
_HELD: dict[str, Any] = {name: sa.bindparam(f"b_{name}") for name in ("requires", "state", "type")}
_INSERT = Prepared(lambda: resource.insert())
_UPDATE_STATE = Prepared(lambda: resource.update().where(_ID).values(_STATE))
_UPDATE_FULL = Prepared(lambda: resource.update().where(_ID).values({**_STATE, **_HELD}))


def _records(tx: Tx, valid: Sequence[tuple[CommitPart, Changes]]) -> None:
    insert = [
        {**record_values(tx, record), "stack_id": part.stack_id}
        for part, changes in valid
        for record in changes.insert.values()
    ]
    newest = {i: record for _, changes in valid for i, record in changes.versions()}
    full_ids = {i for _, changes in valid for i in changes.full}
    state = [
        {f"b_{name}": value for name, value in record_state(tx, record).items()}
        for i, record in newest.items()
        if i not in full_ids
    ]
    full = [
        {
            **{f"b_{name}": value for name, value in record_state(tx, newest[i]).items()},
            "b_requires": json_list(newest[i].requires),
            "b_state": seal_held(tx, newest[i]),
            "b_type": newest[i].type,
        }
        for i in sorted(full_ids)
    ]
    if insert:
        tx.many(_INSERT, insert)
    if state:
        tx.many(_UPDATE_STATE, state)
    if full:
        tx.many(_UPDATE_FULL, full)
    deleted = [i for _, changes in valid for i in changes.delete]
    _delete(tx, resource, resource.c.id, deleted)
    _delete(tx, resource_data, resource_data.c.resource_id, deleted)


def _data(tx: Tx, valid: Sequence[tuple[CommitPart, Changes]]) -> None:
    """Merge private data and replace metadata in their rows, which other processes also write."""
    owners = {i: part.stack_id for part, c in valid for i in (*c.data, *c.metadata)}
    if not owners:
        return
    rows = {row.resource_id: row for row in tx.listed(_LOCK_DATA, sorted(owners))}
    insert, update = [], []
    for resource_id, stack_id in owners.items():
        row = rows.get(resource_id)
        data = dict(tx.unseal(row.data, DATA, resource_id)) if row else {}
        metadata: Any = tx.unseal(row.metadata, METADATA, resource_id) if row else {}
        for _, changes in valid:
            for key, value in changes.data.get(resource_id, {}).items():
                if value is None:
                    data.pop(key, None)
                else:
                    data[key] = value
            if resource_id in changes.metadata:
                metadata = kept(metadata, changes.metadata[resource_id])
        values = {
            "data": tx.seal(data, DATA, resource_id),
            "metadata": tx.seal(metadata, METADATA, resource_id),
        }
        if row is None:
            insert.append(
                {**values, "resource_id": resource_id, "stack_id": stack_id, "version": 1}
            )
        else:
            update.append({**{f"b_{k}": v for k, v in values.items()}, "b_id": resource_id})
    if insert:
        tx.many(_INSERT_DATA, insert)
    if update:
        tx.many(_UPDATE_DATA, update)


_LOCK_DATA = Listed(
    lambda ids: (
        sa.select(resource_data).where(resource_data.c.resource_id.in_(ids)).with_for_update()
    )
)
_INSERT_DATA = Prepared(lambda: resource_data.insert())
_UPDATE_DATA = Prepared(
    lambda: (
        resource_data.update()
        .where(resource_data.c.resource_id == sa.bindparam("b_id"))
        .values(
            data=sa.bindparam("b_data"),
            metadata=sa.bindparam("b_metadata"),
            version=resource_data.c.version + 1,
        )
    )
)
_INSERT_NODE = Prepared(lambda: node.insert())
_MOVE_NODE = Prepared(
    lambda: (
        node.update()
        .where(node.c.resource_id == sa.bindparam("b_id"))
        .values(
            {
                name: sa.bindparam(f"b_{name}")
                for name in ("phase", "step", "attempt", "action", "due_at")
            }
        )
    )
)


def _nodes(tx: Tx, valid: Sequence[tuple[CommitPart, Changes]]) -> None:
    insert = [
        {
            "resource_id": n.resource_id,
            "stack_id": part.stack_id,
            "traversal": n.traversal,
            "kind": n.kind,
            "action": n.action,
            "phase": n.phase,
            "step": n.step,
            "attempt": n.attempt,
            "wanted": tx.seal(n.wanted, "node.wanted", n.resource_id),
            "started_at": n.started_at,
            "due_at": n.due_at,
        }
        for part, changes in valid
        for n in changes.nodes
    ]
    ended = {i for _, changes in valid for i in changes.ended}
    moved = [  # an ended attempt is not updated: a new row belongs to the next attempt
        {
            "b_id": n.resource_id,
            "b_phase": n.phase,
            "b_step": n.step,
            "b_attempt": n.attempt,
            "b_action": n.action,
            "b_due_at": n.due_at,
        }
        for _, changes in valid
        for n in changes.moved
        if n.resource_id not in ended
    ]
    _delete(tx, node, node.c.resource_id, sorted(ended))
    if insert:
        tx.many(_INSERT_NODE, insert)
    if moved:
        tx.many(_MOVE_NODE, moved)


_INSERT_STRAY = Prepared(lambda: orphan.insert())


def _orphans(tx: Tx, valid: Sequence[tuple[CommitPart, Changes]]) -> None:
    rows = [
        {
            "id": row.id,
            "stack_id": part.stack_id,
            "resource_id": row.resource_id,
            "resource_type": row.resource_type,
            "since": row.since,
            "facts": tx.seal(row.facts, "stray.facts", row.id),
        }
        for part, changes in valid
        for row in changes.orphans
    ]
    if rows:
        tx.many(_INSERT_STRAY, rows)
    _delete(tx, orphan, orphan.c.id, [i for _, changes in valid for i in changes.orphans_gone])


def _delete(tx: Tx, table: sa.Table, column: sa.Column[Any], ids: Sequence[Any]) -> None:
    if ids:
        tx.many(_delete_one(table, column), [{"b_id": i} for i in ids])


@cache
def _delete_one(table: sa.Table, column: sa.Column[Any]) -> Prepared:
    return Prepared(table.delete().where(column == sa.bindparam("b_id")))
