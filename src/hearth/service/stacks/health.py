"""Health marks of resources: users and monitoring services mark them as healthy or unhealthy."""

import asyncio

from hearth.engine.core.record import Record
from hearth.model.problem import HTTPBadRequest, rejection
from hearth.service.reading.resources import find_resource
from hearth.service.services import Services
from hearth.store import health, reads
from hearth.store.rows import StackRow

SEEN_WITHIN_S = 5.0
LOOK_S = 0.02
REASON = "state changed by resource_mark_unhealthy api"


async def mark(services: Services, row: StackRow, name: str, *, healthy: bool, reason: str) -> None:
    """Mark a resource, given by its name or physical id, as healthy or unhealthy. Raises Rejected.

    If `reason` is empty, a default text is stored. If an engine owns the stack, wait for a limited
    time until the engine has stored the mark, so that the next request shows the new state.
    """
    record = await _find(services, row, name)
    now, event_id, text = services.clock.now(), services.new_id(), reason or REASON
    done = await services.store.run_once(
        lambda tx: health.mark(
            tx, row.id, record.id, healthy=healthy, reason=text, now=now, event_id=event_id
        )
    )
    services.bus.tell()
    ends = now + SEEN_WITHIN_S
    while not done and services.clock.now() < ends:
        await asyncio.sleep(LOOK_S)
        done = not await services.store.read(lambda tx: health.unread(tx, row.id))


async def _find(services: Services, row: StackRow, name: str) -> Record:
    records = await services.store.read(lambda tx: reads.records(tx, row.id))
    chosen = reads.in_charge(records)
    matches = [r for r in chosen.values() if name in (r.name, r.physical_id)]
    if len(matches) > 1:
        message = f"{name} is the name or physical id of several resources of stack {row.name}"
        raise rejection(HTTPBadRequest, message)
    return matches[0] if matches else await find_resource(services, row, name)
