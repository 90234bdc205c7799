"""Snapshots of a stack, and the restore of a snapshot."""

from hearth.engine.core.rules import RequestKind, refusal
from hearth.model.problem import NotSupported, Rejected, rejection
from hearth.model.state import Action, Status
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.reading.world import known_world
from hearth.service.services import Services
from hearth.service.stacks.begin_operation import begin_operation
from hearth.service.stacks.documents import revision_of_document
from hearth.service.stacks.quotas import not_too_many_operations
from hearth.service.stacks.request import checked
from hearth.store import accept, reads, snapshots
from hearth.store.database import Tx
from hearth.store.rows import StackRow
from hearth.store.snapshots import Snapshot


async def take_snapshot(
    services: Services, caller: Caller, row: StackRow, name: str | None
) -> Snapshot:
    """Begin a snapshot of a stack and return it, in CREATE_IN_PROGRESS.

    `name` is None for a snapshot without a name. Raises Rejected if the stack has too many
    snapshots, if its state does not allow one, or if too many stacks of the project are in
    progress.
    """
    now, ident = services.clock.now(), services.new_id()
    limit, asks = services.limits.max_snapshots_per_stack, requester(caller)

    def transaction(tx: Tx) -> Snapshot:
        not_too_many_operations(tx, services, caller, except_id=row.id)
        return snapshots.take(tx, row.id, ident, name, limit, now, services.new_id, asks)

    snapshot = await services.store.run_once(transaction)
    services.bus.tell()
    return snapshot


async def list_snapshots(services: Services, row: StackRow) -> list[Snapshot]:
    """Return the snapshots of a stack, oldest first."""
    return await services.store.read(lambda tx: snapshots.of_stack(tx, row.id))


async def show_snapshot(services: Services, row: StackRow, snapshot_id: str) -> Snapshot:
    """Return the snapshot of the stack with this id. Raises Rejected with NotFound."""
    return await services.store.read(lambda tx: snapshots.get(tx, row.id, snapshot_id))


async def delete_snapshot(services: Services, row: StackRow, snapshot_id: str) -> None:
    """Request the deletion of a snapshot and of its objects in the cloud.

    Raises Rejected if the snapshot does not exist or is still being created.
    """
    now = services.clock.now()
    await services.store.run_once(lambda tx: snapshots.drop(tx, row.id, snapshot_id, now))
    services.bus.tell()


async def restore_snapshot(
    services: Services, caller: Caller, row: StackRow, snapshot_id: str
) -> StackRow:
    """Begin to restore a snapshot; return the stack, in RESTORE_IN_PROGRESS.

    Raises Rejected if the snapshot does not exist or is not complete, if the state of the stack
    does not allow it, or if the restored template fails a check.
    """
    if problem := refusal(RequestKind.RESTORE, row.name, row.action, row.status):
        raise Rejected([problem])
    snapshot = await show_snapshot(services, row, snapshot_id)
    if snapshot.body is None or snapshot.status is not Status.COMPLETE:
        message = "Restoring incomplete snapshot is not supported."
        raise rejection(NotSupported, message)
    revision = revision_of_document(snapshot.body, Action.RESTORE)
    records = await services.store.read(lambda tx: reads.records(tx, row.id))
    world = known_world(services, reads.in_charge(records))
    await checked(services, caller, row, revision, world=world)
    operation = accept.OperationRequest(
        Action.RESTORE,
        revision,
        requester=requester(caller),
        by=caller.user_name,
    )
    return await begin_operation(services, caller, row, operation)
