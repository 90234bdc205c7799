"""Search for orphans: objects that may exist because the response to a create call was lost.

During an operation each node searches for its own orphans. Afterwards the stack is scheduled for a
few more searches, because the cloud may still carry out such a call.
"""

import asyncio
import logging
from collections.abc import Sequence

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.engine.worker.known.context import context_of
from hearth.engine.worker.known.owned import OwnedStack
from hearth.model.state import Action
from hearth.resources.actions import is_complete
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import MakesObject
from hearth.store.claim import Orphan

log = logging.getLogger(__name__)

AGAIN_S = 10.0  # between two searches after an orphan was found
TYPE_BACK_S = 600.0  # how long to wait for a missing type to be installed again
LOOKS = (0.25, 0.5, 1.0)  # times of the searches, as fractions of the total time


def of(owned: OwnedStack, record_id: str) -> list[Orphan]:
    """Return the possible orphans of a record."""
    return [orphan for orphan in owned.memory.orphans if orphan.resource_id == record_id]


async def search(owned: OwnedStack, rtype: MakesObject, ctx: ResourceContext) -> Sequence[str]:
    """Return the physical ids of the objects that have a record's key, except those that another
    record of the stack has: two records with equal properties can share a natural key.

    There is none if a required property has no value, and a search would read that value.
    """
    if not is_complete(rtype, ctx.properties):
        return ()
    physical_ids = await rtype.orphans(ctx)
    records = (record for record in owned.memory.records.values() if record.id != ctx.record_id)
    recorded_ids = {record.physical_id for record in records}
    return [physical_id for physical_id in physical_ids if physical_id not in recorded_ids]


async def sweep(owned: OwnedStack, rtype: ResourceType, ctx: ResourceContext) -> bool:
    """Delete the objects that `search` finds; return whether there were any.

    A delete may fail or take time, so call this again until it returns False.
    """
    if not isinstance(rtype, MakesObject):
        return False
    physical_ids = await search(owned, rtype, ctx)
    for physical_id in physical_ids:
        log.warning("resource %s: deleting %s, an orphan with its key", ctx.name, physical_id)
        await rtype.delete_orphan(ctx, physical_id)
    return bool(physical_ids)


async def watch(owned: OwnedStack) -> None:
    """Search once for all possible orphans, and delete those that exist.

    Orphans of records that a node works on are left out, and all of them while a node creates an
    object. The search for an orphan ends when its time is over.
    """
    for orphan in list(owned.memory.orphans):
        if orphan.resource_id in owned.busy or _creates(owned):
            continue
        rtype = owned.tools.programs.rtype_named(orphan.resource_type)
        try:
            if rtype is not None and await sweep(owned, rtype, _context(owned, orphan, rtype)):
                continue
        except CloudFault as fault:
            log.warning("stack %s: the search for orphans failed: %s", owned.memory.stack_id, fault)
            continue
        if rtype is not None and rest_s(owned, orphan, owned.tools.orphan_watch_s) <= 0:
            owned.memory.forget_orphan(orphan)
        elif rtype is None and rest_s(owned, orphan, TYPE_BACK_S) <= 0:
            description = f"{orphan.resource_type} {orphan.facts['name']}"
            log.warning(
                "stack %s: a %s may remain in the cloud: its type is no longer available",
                owned.memory.stack_id,
                description,
            )
            owned.memory.forget_orphan(orphan)
    owned.host.wake()


def rest_s(owned: OwnedStack, orphan: Orphan, watched_s: float) -> float:
    """Return the remaining seconds until the search for an orphan has lasted `watched_s`
    seconds.
    """
    clock = owned.tools.clock
    remaining = orphan.since + watched_s - clock.now()
    if orphan.lost_at is None:
        return remaining
    return max(remaining, orphan.lost_at + watched_s - clock.monotonic())


async def outwait(owned: OwnedStack) -> None:
    """Search repeatedly until no orphan can appear any more."""
    watched_s = owned.tools.orphan_watch_s
    while owned.memory.orphans:
        await watch(owned)
        if owned.memory.orphans:
            remaining = min(rest_s(owned, orphan, watched_s) for orphan in owned.memory.orphans)
            await asyncio.sleep(remaining if 0 < remaining < AGAIN_S else AGAIN_S)


def next_look(owned: OwnedStack) -> float | None:
    """Return the time of the next search for orphans; None if there is nothing to search for."""
    now, watched_s = owned.tools.clock.now(), owned.tools.orphan_watch_s
    looks = [
        next((at for share in LOOKS if (at := s.since + share * watched_s) > now), now + AGAIN_S)
        for s in owned.memory.orphans
    ]
    return min(looks, default=None)


def _creates(owned: OwnedStack) -> bool:
    """Return whether a node creates an object whose id is not recorded yet."""
    records = owned.memory.records.values()
    return any(record.physical_id is None and record.id in owned.busy for record in records)


def _context(owned: OwnedStack, orphan: Orphan, rtype: ResourceType) -> ResourceContext:
    facts = orphan.facts
    record = owned.memory.records.get(orphan.resource_id)
    if record is None:
        record = Record(orphan.resource_id, facts["name"], rtype.name, 0, 0.0)
    return context_of(owned, record, rtype, Action.DELETE, properties=facts["properties"])
