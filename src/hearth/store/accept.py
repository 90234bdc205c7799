"""Accept requests: one transaction checks the state of a stack and begins the operation.

The stack row holds the current state, the revision holds the desired state, and a message informs
the owner of the stack. The API uses this module for root stacks, and the commit of an engine uses
it for nested stacks.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, field, structs
from sqlalchemy.exc import IntegrityError

from hearth.engine.core.rules import RequestKind, StackExists, idle, refusal
from hearth.model.problem import EntityNotFound, Rejected, rejection
from hearth.model.state import Action, Status
from hearth.store import credentials, events
from hearth.store.database import Tx
from hearth.store.messages import Cancel, Content, OperationBegun, child_ended, packed
from hearth.store.prepared import NOW, Listed, Prepared
from hearth.store.rows import COLUMNS, Event, Options, Revision, StackRow, stack_row, stack_values
from hearth.store.tables import inbox, node, resource, snapshot, stack, tree
from hearth.store.texts import (
    content_of,
    newest_revisions,
    put_rows,
    revision_contents,
    revision_values,
)

NewId = Callable[[], str]
_TREE = Prepared(lambda: tree.insert())
# by the database's clock, with which it is compared
_STACK = Prepared(lambda: stack.insert().values(due_at=NOW))
_MESSAGE = Prepared(lambda: inbox.insert())
_ID = sa.bindparam("id", type_=sa.String())
_RUNNING = Prepared(
    lambda: sa.select(stack.c.traversal).where(
        stack.c.id == _ID, stack.c.status == Status.IN_PROGRESS.value
    )
)
_UNSETTLED = Listed(
    lambda ids: sa.select(stack.c.id).where(
        stack.c.id.in_(ids),
        sa.or_(
            sa.exists().where(
                resource.c.stack_id == stack.c.id,
                sa.or_(
                    resource.c.status != Status.COMPLETE.value,
                    resource.c.until.is_not(None),
                    resource.c.replaced_by.is_not(None),
                ),
            ),
            sa.exists().where(node.c.stack_id == stack.c.id),
            sa.exists().where(inbox.c.stack_id == stack.c.id),
        ),
    )
)
_LOCK = Listed(
    lambda ids: (
        sa.select(stack)
        .where(stack.c.id.in_(ids), stack.c.deleted_at.is_(None))
        .order_by(stack.c.id)
        .with_for_update()
    )
)


class NewStack(Struct, frozen=True):
    """A stack to create. A nested stack has a `parent`, and the id of the parent's record of it.

    `credential` is the pair (id, content) of a new credential. It is None if the stack shares the
    credential of its root stack; then `credential_id` is set. `creator` is the name of the user.
    `action` is CREATE or ADOPT. Without `timeout_mins` the configured timeout applies.
    """

    id: str
    project_id: str
    name: str
    revision: Revision
    timeout_mins: int | None = None
    disable_rollback: bool = True
    credential: tuple[str, credentials.Requester] | None = None
    credential_id: str | None = None
    user_project_id: str | None = None
    creator: str | None = None
    tags: tuple[str, ...] = ()
    parent: StackRow | None = None
    parent_record: str | None = None
    action: Action = Action.CREATE


SCALING = "scaling"  # in place of the parent's traversal: a signal requested the operation


class OperationRequest(Struct, frozen=True):
    """A request for an operation on an existing stack.

    A field that is None leaves the value in the stack's row unchanged. A request without `options`,
    except a delete, keeps the option `converge` of the last operation. `by` is the name of the user
    who made `revision`. `parent_traversal` is set if the parent stack requested the operation.
    """

    action: Action
    revision: Revision | None = None
    timeout_mins: int | None = None
    disable_rollback: bool | None = None
    tags: tuple[str, ...] | None = None
    requester: credentials.Requester | None = None
    by: str | None = None
    parent_traversal: str | None = None
    options: Options | None = None
    copy_of: int | None = None  # the number of the revision from which `revision` was copied
    stands: bool = False  # if true, an update that would change nothing ends at once


def demand_free(tx: Tx, project_id: str, name: str) -> None:
    """Raise Rejected with StackExists if the project has a stack with this name that is not
    deleted.
    """
    condition = sa.and_(stack.c.project_id == project_id, stack.c.live_name == name)
    if tx.first(sa.select(stack.c.id).where(condition)) is not None:
        raise _taken(name)


def _taken(name: str) -> Rejected:
    return rejection(StackExists, f"The Stack ({name}) already exists.")


class Writes(Struct):
    """Rows that several requests of one transaction collect; they are written together at its
    end.

    `stacks` are new stacks, and `updates` are existing ones.
    """

    stacks: list[StackRow] = field(default_factory=list)
    updates: list[StackRow] = field(default_factory=list)
    revisions: list[dict[str, Any]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    inbox: list[dict[str, Any]] = field(default_factory=list)

    def send(self, tx: Tx, stack_id: str, content: Content, now: float) -> None:
        """Add a message for the owner of a stack."""
        self.inbox.append(_message_values(tx, stack_id, content, now))

    def write(self, tx: Tx) -> None:
        """Insert and update all collected rows."""
        if self.stacks:
            tx.many(_STACK, [_new_values(tx, row) for row in self.stacks])
        if self.updates:
            tx.many(_WRITE, [bound(stack_values(tx, row)) for row in self.updates])
        put_rows(tx, self.revisions)
        events.append(tx, self.events)
        if self.inbox:
            tx.many(_MESSAGE, self.inbox)


class LockedStacks(Struct):
    """The locked rows of the stacks for which a transaction has requests, with the changes so far.

    `rows` are the stacks that exist, by id. `newest` are the numbers of the last revisions, and
    `contents` the hashes of the current revisions, by stack id. `unsettled` are the ids of stacks
    with an unread message or with a resource that is not finished: it failed, is in progress or is
    being replaced. The last three contain only stacks for which they are needed.
    """

    rows: dict[str, StackRow]
    newest: dict[str, int]
    contents: dict[str, str]
    unsettled: frozenset[str]


def lock_all(tx: Tx, requests: Sequence[tuple[str, OperationRequest]]) -> LockedStacks:
    """Lock the stacks of the requests, and read everything on which the decisions about them
    depend.
    """
    ids = sorted({stack_id for stack_id, _ in requests})
    rows = {row.id: stack_row(tx, row) for row in tx.listed(_LOCK, ids)}
    moved = sorted({i for i, operation in requests if operation.revision is not None and i in rows})
    standing = [
        i for i in sorted({i for i, operation in requests if operation.stands}) if i in rows
    ]
    return LockedStacks(
        rows,
        newest_revisions(tx, moved),
        revision_contents(tx, standing),
        frozenset(row.id for row in tx.listed(_UNSETTLED, standing)),
    )


def create(tx: Tx, new: NewStack, now: float, new_id: NewId) -> StackRow:
    """Store a new stack in CREATE_IN_PROGRESS or ADOPT_IN_PROGRESS, and return its row.

    Raises Rejected with StackExists if the project has a root stack with this name.
    """
    if new.parent is not None:
        writes = Writes()
        row = create_nested(tx, new, now, new_id, writes)
        writes.write(tx)
        return row
    traversal, event_id = new_id(), new_id()
    sinks = bool(new.revision.environment.get("event_sinks"))
    tx.do(_TREE, {"root_id": new.id, "event_seq": 1, "resources": 0, "sinks": sinks})
    if new.credential:
        credentials.put(tx, *new.credential, now)
    row = _new_row(tx, new, now, traversal)
    try:
        tx.do(_STACK, _new_values(tx, row))
    except IntegrityError:
        raise _taken(new.name) from None
    put_rows(tx, [revision_values(tx, new.id, 1, new.revision, now, new.creator)])
    begun = events.of_stack(row, event_id, now, row.action, row.status, row.reason)
    events.first(tx, begun, sinks=sinks)
    return row


def create_nested(tx: Tx, new: NewStack, now: float, new_id: NewId, writes: Writes) -> StackRow:
    """Prepare a nested stack as `create` does, but add its rows to `writes` instead of storing
    them.

    Only the texts of its template and files are stored at once.
    """
    row = _new_row(tx, new, now, new_id())
    writes.stacks.append(row)
    writes.revisions.append(revision_values(tx, new.id, 1, new.revision, now, new.creator))
    writes.events.append(events.of_stack(row, new_id(), now, row.action, row.status, row.reason))
    return row


def _new_row(tx: Tx, new: NewStack, now: float, traversal: str) -> StackRow:
    parent = new.parent
    return StackRow(
        id=new.id,
        project_id=new.project_id,
        name=new.name,
        live_name=None if parent else new.name,
        root_id=parent.root_id if parent else new.id,
        parent_id=parent.id if parent else None,
        parent_record=new.parent_record,
        parent_traversal=parent.traversal if parent else None,
        depth=parent.depth + 1 if parent else 0,
        action=new.action,
        status=Status.IN_PROGRESS,
        reason=f"Stack {new.action} started",
        first_failure=None,
        revision=1,
        previous_revision=0,
        traversal=traversal,
        started_at=now,
        deadline=now + _timeout_s(tx, new.timeout_mins),
        options=Options(),
        timeout_mins=new.timeout_mins,
        disable_rollback=new.disable_rollback,
        owner=None,
        epoch=0,
        takeovers=0,
        due_at=now,
        credential_id=new.credential[0] if new.credential else new.credential_id,
        user_project_id=new.user_project_id,
        creator=new.creator,
        tags=",".join(new.tags) if new.tags else None,
        created_at=now,
        updated_at=None,
        deleted_at=None,
    )


def operate(
    tx: Tx, stack_id: str, operation: OperationRequest, now: float, new_id: NewId
) -> StackRow:
    """Begin an operation on a stack and return its new row.

    The operation may replace one that is in progress. Nothing begins if the stack is already being
    deleted, suspended or resumed as requested, or if `operation.stands` is true and the update
    would change nothing; then only a parent stack is informed. Raises Rejected if the stack does
    not exist or its state does not allow the operation.
    """
    writes = Writes()
    row = ask(tx, lock_all(tx, [(stack_id, operation)]), stack_id, operation, now, new_id, writes)
    writes.write(tx)
    return row


def ask(
    tx: Tx,
    among: LockedStacks,
    stack_id: str,
    operation: OperationRequest,
    now: float,
    new_id: NewId,
    writes: Writes,
) -> StackRow:
    """Begin an operation as `operate` does, but add the rows of stacks, revisions, events and
    messages to `writes` instead of storing them.

    `among` has the locked rows, and gets the changed row. Raises Rejected before anything is
    changed.
    """
    row = among.rows.get(stack_id)
    if row is None:
        raise _no_such(stack_id)
    request = RequestKind(operation.action.value.lower())
    if problem := refusal(request, row.name, row.action, row.status):
        raise Rejected([problem])
    if operation.action is Action.DELETE and row.state == "DELETE_IN_PROGRESS":
        after = _joined(row, operation)
    elif idle(request, row.action, row.status):
        _tell_parent(tx, row, operation, now, writes)
        return row
    elif operation.stands and _is_so(tx, among, row, operation):
        after = _stood(tx, row, operation, now, new_id, writes)
    else:
        after = _begun(tx, among, row, operation, now, new_id, writes)
    if after is not row:
        writes.updates.append(after)
        among.rows[stack_id] = after
    return after


def _begun(
    tx: Tx,
    among: LockedStacks,
    row: StackRow,
    operation: OperationRequest,
    now: float,
    new_id: NewId,
    writes: Writes,
) -> StackRow:
    """Return the row of the stack with the new operation, and add the other rows to `writes`."""
    traversal, event_id = new_id(), new_id()
    if operation.action is Action.DELETE and row.status is Status.IN_PROGRESS:
        reason = f"Stack {row.action} cancelled"
        cancelled = events.of_stack(row, new_id(), now, row.action, Status.FAILED, reason)
        writes.events.append(cancelled)
    if operation.action is Action.SNAPSHOT and row.parent_id is not None:
        # on success it becomes part of the parent's snapshot
        begin_snapshot(tx, row.id, new_id(), None, now)
    number, before = row.revision, row.previous_revision
    if operation.revision is not None:
        number = among.newest[row.id] = 1 + among.newest[row.id]
        before = row.revision
        values = revision_values(
            tx, row.id, number, operation.revision, now, operation.by, operation.copy_of
        )
        writes.revisions.append(values)
        among.contents[row.id] = values["content"]
        if row.parent_id is None and operation.revision.environment.get("event_sinks"):
            events.have_sinks(tx, row.root_id)
    timeout = row.timeout_mins if operation.timeout_mins is None else operation.timeout_mins
    row = row.having(
        action=operation.action,
        status=Status.IN_PROGRESS,
        reason=f"Stack {operation.action} started",
        first_failure=None,
        revision=number,
        previous_revision=before,
        traversal=traversal,
        parent_traversal=operation.parent_traversal or row.parent_traversal,
        started_at=now,
        updated_at=now,
        timeout_mins=timeout,
        deadline=now + _timeout_s(tx, timeout),
        options=_options(row, operation),
        disable_rollback=(
            row.disable_rollback
            if operation.disable_rollback is None
            else operation.disable_rollback
        ),
        tags=row.tags if operation.tags is None else (",".join(operation.tags) or None),
        credential_id=_requested(tx, row, operation, now, new_id),
        takeovers=0,
    )
    writes.events.append(events.of_stack(row, event_id, now, row.action, row.status, row.reason))
    writes.send(tx, row.id, OperationBegun(), now)
    return row


def _is_so(tx: Tx, among: LockedStacks, row: StackRow, operation: OperationRequest) -> bool:
    """Return whether the requested update would change nothing: the stack is idle, and the stack
    and all its resources already have the desired state.
    """
    succeeded = row.status is Status.COMPLETE and row.action in (Action.CREATE, Action.UPDATE)
    if not succeeded or row.owner is not None or operation.revision is None:
        return False
    if (operation.options is not None and operation.options.converge) or row.id in among.unsettled:
        return False
    return among.contents.get(row.id) == content_of(tx, operation.revision)


def _stood(
    tx: Tx, row: StackRow, operation: OperationRequest, now: float, new_id: NewId, writes: Writes
) -> StackRow:
    """Return the row that a nested stack has after an update that changes nothing.

    No engine has to load the stack, because the update starts and ends in this transaction. Its
    events and the message to the parent are added to `writes`.
    """
    row = row.having(
        action=operation.action,
        reason=f"Stack {operation.action} completed successfully",
        parent_traversal=operation.parent_traversal or row.parent_traversal,
        started_at=now,
        updated_at=now,
        timeout_mins=row.timeout_mins if operation.timeout_mins is None else operation.timeout_mins,
        options=_options(row, operation),
    )
    begun = f"Stack {operation.action} started"
    writes.events += [
        events.of_stack(row, new_id(), now, row.action, status, reason)
        for status, reason in ((Status.IN_PROGRESS, begun), (Status.COMPLETE, row.reason))
    ]
    _tell_parent(tx, row, operation, now, writes)
    return row


def begin_snapshot(tx: Tx, stack_id: str, snapshot_id: str, name: str | None, now: float) -> None:
    """Store a new snapshot in CREATE_IN_PROGRESS."""
    row = {
        "id": snapshot_id,
        "stack_id": stack_id,
        "name": name,
        "action": Action.CREATE.value,
        "status": Status.IN_PROGRESS.value,
        "reason": tx.seal_text("Stack SNAPSHOT started", "snapshot.reason", snapshot_id),
        "created_at": now,
        "body": None,
    }
    tx.execute(snapshot.insert(), row)


def _requested(
    tx: Tx, row: StackRow, operation: OperationRequest, now: float, new_id: NewId
) -> str | None:
    """Store the requester's token in the stack's credential, or in a new one if it has none.

    Return the id of the credential. If the request has no requester, nothing is stored.
    """
    if operation.requester is None:
        return row.credential_id
    fields = structs.asdict(operation.requester)
    if row.credential_id and credentials.change(tx, row.credential_id, fields):
        return row.credential_id
    credential_id = new_id()
    credentials.put(tx, credential_id, operation.requester, now)
    return credential_id


def _options(row: StackRow, operation: OperationRequest) -> Options:
    """Return the options of an operation. If the request has none, `converge` stays as it was,
    except in a delete.
    """
    if operation.options is not None:
        return operation.options
    return Options(converge=row.options.converge and operation.action is not Action.DELETE)


def _joined(row: StackRow, operation: OperationRequest) -> StackRow:
    """Return the row of a delete in progress after another request to delete the stack.

    The parent is informed of the end of the delete as the result of the later request.
    """
    if operation.parent_traversal is None:
        return row
    return row.having(parent_traversal=operation.parent_traversal)


def _tell_parent(
    tx: Tx, row: StackRow, operation: OperationRequest, now: float, writes: Writes
) -> None:
    """Send the parent stack the message that an operation has ended, for a nested stack that does
    not need to run it.
    """
    if row.parent_id is None or operation.parent_traversal is None:
        return
    ended = child_ended(row.having(parent_traversal=operation.parent_traversal))
    writes.send(tx, row.parent_id, ended, now)


def cancel(tx: Tx, stack_id: str, rollback: bool, now: float) -> None:
    """Request that the owner of a stack cancels the operation in progress.

    If `rollback` is true, the stack is then rolled back. Raises Rejected if there is no stack or no
    operation that can be cancelled.
    """
    row = lock(tx, stack_id)
    request = RequestKind.CANCEL if rollback else RequestKind.CANCEL_WITHOUT_ROLLBACK
    if problem := refusal(request, row.name, row.action, row.status):
        raise Rejected([problem])
    send(tx, stack_id, Cancel(rollback, row.traversal), now)


def cancel_quietly(tx: Tx, stack_id: str, rollback: bool, now: float) -> None:
    """Cancel the operation of a nested stack as `cancel` does, but ignore one that cannot be
    cancelled.
    """
    row = tx.first(_RUNNING, {"id": stack_id})
    if row is not None:
        send(tx, stack_id, Cancel(rollback, row.traversal), now)


def lock(tx: Tx, stack_id: str) -> StackRow:
    """Lock the row of a stack for this transaction and return it.

    Raises Rejected with EntityNotFound if the stack does not exist or is deleted.
    """
    row = tx.first(*_LOCK.of([stack_id]))
    if row is None:
        raise _no_such(stack_id)
    return stack_row(tx, row)


def _no_such(stack_id: str) -> Rejected:
    return rejection(EntityNotFound, "Stack", stack_id)


def send(tx: Tx, stack_id: str, content: Content, now: float) -> None:
    """Store a message for the owner of a stack."""
    tx.do(_MESSAGE, _message_values(tx, stack_id, content, now))


def _message_values(tx: Tx, stack_id: str, content: Content, now: float) -> dict[str, Any]:
    kind, body = packed(content)
    return {
        "stack_id": stack_id,
        "kind": kind,
        "body": tx.seal(body, "mail.body", stack_id),
        "created_at": now,
    }


def _new_values(tx: Tx, row: StackRow) -> dict[str, Any]:
    """Return the columns of a new stack without `due_at`.

    The statement itself sets `due_at` to the database's time, so an engine can claim the stack at
    once.
    """
    values = stack_values(tx, row)
    del values["due_at"]
    return values


def _timeout_s(tx: Tx, timeout_mins: int | None) -> float:
    return timeout_mins * 60.0 if timeout_mins else tx.config.stack_action_timeout_s


def bound(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of columns as the parameters of a statement made by `written`."""
    return {f"b_{name}": value for name, value in values.items()}


def written(*owned: str) -> Prepared:
    """Return the UPDATE statement for a stack, with all columns except its id and those in
    `owned`.
    """
    names = [name for name in COLUMNS if name not in {"id", *owned}]
    values: dict[str, Any] = {name: sa.bindparam(f"b_{name}") for name in names}
    return Prepared(stack.update().where(stack.c.id == sa.bindparam("b_id")).values(values))


_WRITE = written("owner", "epoch", "due_at")  # columns that only the owner writes
