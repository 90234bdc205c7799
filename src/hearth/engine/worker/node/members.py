"""The members of a group, and what the stack does when they change."""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.engine.worker.known.context import attributes_of, context_of
from hearth.engine.worker.known.owned import OwnedStack
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceContext
from hearth.resources.capabilities import BalancerType, NestedType
from hearth.resources.heat.scaling_group import PENDING, Scaled, pending
from hearth.store import claim
from hearth.store.messages import ChildEnded
from hearth.store.outbox import ScalingNotice

log = logging.getLogger(__name__)

TRIES = 30  # while a load balancer is busy
BUSY_PAUSE_S = 2.0


async def read_members(owned: OwnedStack, ctx: ResourceContext) -> None:
    """Read the current members of a group from the database and store them in the context."""
    child_id = ctx.physical_id
    if child_id is not None:
        ctx.members, ctx.definitions = await owned.tools.store.read(
            lambda tx: (claim.members(tx, child_id), claim.definitions(tx, child_id))
        )


async def balance(
    owned: OwnedStack, rtype: NestedType, ctx: ResourceContext, *, without: Collection[str] = ()
) -> None:
    """Set the healthy members of a group as the members of its load balancers.

    The members named in `without` are left out. Raises CloudFault.
    """
    balancers = rtype.balancers(ctx)
    well = [
        str(member["reference"])
        for name, member in sorted(ctx.members.items(), key=lambda item: item[1]["created_at"])
        if member["status"] != Status.FAILED and member["reference"] and name not in without
    ]
    for record in [
        candidate
        for candidate in owned.memory.records.values()
        if candidate.held.reference in balancers
    ]:
        balancer = owned.tools.programs.type_of(record)
        if isinstance(balancer, BalancerType):
            balancer_ctx = context_of(
                owned, record, balancer, Action.UPDATE, properties=record.held.properties
            )
            await _set_instances(balancer, balancer_ctx, well)


async def _set_instances(balancer: BalancerType, ctx: ResourceContext, well: Sequence[str]) -> None:
    for _ in range(TRIES):
        try:
            await balancer.set_instances(ctx, well)
        except CloudFault as fault:
            if not await balancer.busy(ctx, fault):
                raise
            await asyncio.sleep(fault.retry_after or BUSY_PAUSE_S)
        else:
            return
    await balancer.set_instances(ctx, well)


async def record_end(owned: OwnedStack, message: int, ended: ChildEnded) -> bool:
    """Record the end of a nested stack's operation that no node waits for, such as a scaling.

    `message` is the id of the message `ended`, which is then marked as read. Return whether an
    attribute of the resource changed; the parent of this stack may read it.
    """
    has_changed = False
    try:
        record = owned.memory.records.get(ended.record or "")
        if record is not None and record.physical_id == ended.child:
            has_changed = await _take_in(owned, record, ended)
    except (CloudFault, Rejected) as problem:
        log.warning(
            "stack %s: cannot record the end of nested stack %s: %s",
            owned.memory.stack_id,
            ended.child,
            problem,
        )
    owned.memory.always.handled.append(message)
    owned.host.wake()
    return has_changed


async def _take_in(owned: OwnedStack, record: Record, ended: ChildEnded) -> bool:
    rtype = owned.tools.programs.type_of(record)
    if not isinstance(rtype, NestedType) or record.leaving:
        return False
    await owned.aim.compiled()
    ctx = context_of(owned, record, rtype, record.action, properties=record.held.properties)
    current: Mapping[str, Any] = {}
    if rtype.regroups:
        await read_members(owned, ctx)
        await balance(owned, rtype, ctx)
    else:
        ctx.outputs, ctx.members = ended.outputs or {}, ended.members or {}
        current = record.held.attributes
    attributes = await attributes_of(owned, record, rtype, ctx, current)
    if owned.memory.records.get(record.id) is not record or record.id in owned.busy:
        return False  # a node has begun to work on it
    if rtype.scalable:
        if (note := pending(ctx.data)) is not None:
            owned.memory.always.scalings.append(_notice(owned, rtype, ctx, note, ended))
        metadata = rtype.after_scaling(ctx)
        owned.memory.note_data(record.id, {PENDING: None})
        if metadata is not None:
            owned.memory.note_metadata(record.id, metadata)
    guarded = tuple(sorted({*record.held.guarded_outputs, *ended.guarded}))
    hidden = tuple(sorted({*record.held.hidden_outputs, *ended.hidden}))
    after = record.held.having(
        attributes=attributes, guarded_outputs=guarded, hidden_outputs=hidden
    )
    if after == record.held:
        return False
    owned.memory.put(record.having(held=after), full=True)
    return True


def _notice(
    owned: OwnedStack, rtype: NestedType, ctx: ResourceContext, note: Scaled, ended: ChildEnded
) -> ScalingNotice:
    """Return the notification about the end of a scaling."""
    failed = ended.status is not Status.COMPLETE
    name = ctx.physical_name
    message = ended.reason if failed else f"End resizing the group {name}"
    facts = {**note.told, "capacity": len(ctx.definitions), "message": message}
    status = Status.FAILED if failed else Status.COMPLETE
    now, stack_id = owned.tools.clock.now(), owned.memory.stack_id
    return ScalingNotice(owned.tools.new_id(), now, stack_id, status, facts)
