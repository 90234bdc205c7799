"""Replacing a resource on a signal: it is marked as unhealthy, and the stack is updated.

The update has the template and the parameters that the stack has, so it changes nothing else.
"""

from hearth.engine.core.rules import ActionInProgress
from hearth.model.problem import EntityNotFound, rejection
from hearth.model.state import Action, Status
from hearth.service.services import Services
from hearth.store import accept, events, health, reads
from hearth.store.database import Tx
from hearth.store.rows import Event, StackRow

ASKED_BY = "restarter"  # in place of the parent's traversal


async def replace_resource(services: Services, row: StackRow, reference: str, event: Event) -> None:
    """Begin to replace the resource with this reference id in the stack `row`.

    `event` reports the signal; the update begins in the transaction that stores it. Raises Rejected
    if the stack has no such resource, or if its state does not allow an update.
    """
    await services.store.run_once(lambda tx: _begin(tx, services, row, reference, event))


def _begin(tx: Tx, services: Services, row: StackRow, reference: str, event: Event) -> None:
    now = services.clock.now()
    stack = accept.lock(tx, row.id)
    if stack.status is Status.IN_PROGRESS:
        message = f"Stack {stack.name} already has an action ({stack.action}) in progress."
        raise rejection(ActionInProgress, message)
    records = reads.in_charge(reads.records(tx, row.id)).values()
    matches = [
        candidate
        for candidate in records
        if reference in (candidate.held.reference, candidate.physical_id)
    ]
    if not matches:
        raise rejection(EntityNotFound, "Resource", reference)
    (record, *_) = matches
    health.mark(
        tx,
        row.id,
        record.id,
        healthy=False,
        reason=event.reason,
        now=now,
        event_id=services.new_id(),
    )
    events.append(tx, [event])
    operation = accept.OperationRequest(
        Action.UPDATE,
        reads.revision_of(tx, stack),
        parent_traversal=ASKED_BY if stack.parent_id is not None else None,
    )
    accept.operate(tx, row.id, operation, now, services.new_id)
