"""Scaling: a signal to a scaling policy changes the size of its group.

The transaction that accepts the signal also requests the update of the group's nested stack. The
stack that contains the group runs no operation. Source: docs/spec/groups-and-nesting.md, sections
6.3 and 6.5.
"""

import json

from msgspec.structs import replace

from hearth.engine.core.record import Record
from hearth.model.problem import EntityNotFound, rejection
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceContext, Scaling
from hearth.resources.heat.scaling_group import PENDING, Scalable, Scaled, cooldown_end, pending
from hearth.service.caller import Caller
from hearth.service.context import context_of
from hearth.service.services import Services
from hearth.store import accept, claim, events, reads
from hearth.store.database import Tx
from hearth.store.messages import DataChanged
from hearth.store.outbox import ScalingNotice, put_scalings
from hearth.store.rows import Event, StackRow


async def scale(
    services: Services, caller: Caller, row: StackRow, scaling: Scaling, event: Event
) -> bool:
    """Resize a group of the stack `row`, unless it has the requested size or may not be scaled now.

    `event` is stored if the group is resized. Return False if another request changed the group's
    data at the same time; then call this again. Otherwise return True. Raises Rejected if the stack
    has no such group.
    """
    group, kind = await _group(services, row, scaling.group)
    ctx = await context_of(services, caller, row, group, kind, as_stack=True)
    return await services.store.run_once(
        lambda tx: _resize(tx, services, row, ctx, kind, scaling, event)
    )


async def _group(services: Services, row: StackRow, name: str) -> tuple[Record, Scalable]:
    records = reads.in_charge(await services.store.read(lambda tx: reads.records(tx, row.id)))
    matches = [
        candidate
        for candidate in records.values()
        if name in (candidate.held.reference, candidate.name)
    ]
    for record in matches:
        rtype = services.programs.type_of(record)
        if isinstance(rtype, Scalable) and record.physical_id is not None:
            return record, rtype
    raise rejection(EntityNotFound, "Scaling Group", name)


def _resize(
    tx: Tx,
    services: Services,
    row: StackRow,
    ctx: ResourceContext,
    kind: Scalable,
    scaling: Scaling,
    event: Event,
) -> bool:
    now = services.clock.now()
    parent = accept.lock(tx, row.id)
    group = reads.record_in_charge(tx, row.id, ctx.name)
    if group is None or group.physical_id is None or not _at_rest(parent, group):
        return True
    child = accept.lock(tx, group.physical_id)
    version, data, metadata = reads.data_of(tx, group.id)
    note = pending(data)
    if child.status is Status.IN_PROGRESS or (note and note.traversal == child.traversal):
        return True
    ctx.data = data
    ctx.members = claim.members(tx, child.id)
    ctx.definitions = claim.definitions(tx, child.id)
    before = len(kind.ordered(ctx.members))
    size = scaling.adjustment.size(before, kind.bounds(ctx.properties))
    if size == before or cooldown_end(metadata) > now:
        return True
    definition = kind.scaled(ctx, size)
    if not reads.set_data(tx, row.id, group.id, version, data, metadata):
        return False  # after this first write, the transaction has locked the row
    revision = replace(reads.revision_of(tx, child), template=json.dumps(definition.template))
    operation = accept.OperationRequest(Action.UPDATE, revision, parent_traversal=accept.SCALING)
    traversal = accept.operate(tx, child.id, operation, now, services.new_id).traversal
    change = scaling.adjustment
    details = {
        "adjustment": change.amount,
        "adjustment_type": scaling.type,
        "groupname": ctx.physical_name,
    }
    note = Scaled(before, scaling.cooldown_s, scaling.reason, details, traversal)
    new_data = {**data, **definition.data, PENDING: note.text()}
    changed_data = {name: value for name, value in new_data.items() if value is not None}
    reads.set_data(tx, row.id, group.id, version + 1, changed_data, metadata)
    events.append(tx, [event])
    message = f"Start resizing the group {ctx.physical_name}"
    facts = {**details, "capacity": before, "message": message}
    notice = ScalingNotice(services.new_id(), now, row.id, Status.IN_PROGRESS, facts)
    put_scalings(tx, [notice])
    accept.send(tx, row.id, DataChanged(group.id), now)
    return True


def _at_rest(parent: StackRow, group: Record) -> bool:
    """Return whether no running operation of the stack is going to change the group."""
    if group.status is not Status.COMPLETE or group.action in (Action.DELETE, Action.SUSPEND):
        return False
    return parent.status is not Status.IN_PROGRESS or group.traversal == parent.traversal
