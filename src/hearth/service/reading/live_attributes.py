"""Attributes of resources that are read from the cloud when somebody looks at them.

As in Heat, the fields of the object itself are attributes, too.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence, Set
from functools import partial
from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import Immediate, NestedType
from hearth.resources.shown import shown_attribute
from hearth.service.caller import Caller
from hearth.service.context import RecordData, context_of, context_with
from hearth.service.reading.real_objects import UNREADABLE
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.rows import StackRow

log = logging.getLogger(__name__)

LIVE_S = 5.0  # for an attribute, and for the objects of a whole list
WHOLE = "show"  # the attribute that is the whole object


async def attributes_of(
    services: Services, caller: Caller, row: StackRow, record: Record, names: Set[str]
) -> dict[str, Any]:
    """Return the fields of the object of a resource, the attributes that are never cached, and
    those in `names`, read with the caller's token.

    An attribute that cannot be read is null. A field takes precedence over an attribute of the same
    name.
    """
    rtype = readable(services, record)
    if rtype is None:
        return {}
    ctx = await context_of(services, caller, row, record, rtype)
    fields = await _fields(rtype, ctx)
    attribute_names = [
        name
        for name, attribute in rtype.attributes.items()
        if not attribute.cached and name != WHOLE
    ]
    attribute_names += sorted(names & rtype.attributes.keys())
    values = {
        name: await _attribute(rtype, ctx, name)
        for name in dict.fromkeys(attribute_names)
        if name not in fields
    }
    return {**values, **fields}


async def fields_of(
    services: Services, caller: Caller, resources: Sequence[tuple[StackRow, Collection[Record]]]
) -> dict[str, dict[str, Any]]:
    """Return the fields of the objects of many resources, by record id, read with the caller's
    token.

    Concurrent reads of a collection share one list call. What is not read in time is left out.
    """
    stack_ids = [row.id for row, _ in resources]
    data_by_id = await services.store.read(partial(reads.all_data_of, ids=stack_ids))
    cloud = services.cloud(caller)
    tasks = {}
    for row, records in resources:
        for record in records:
            if (rtype := readable(services, record)) is not None:
                data, metadata = data_by_id.get(record.id, ({}, {}))
                record_data = RecordData(data, metadata, row.user_project_id)
                ctx = context_with(services, row, record, rtype, cloud, record_data)
                tasks[record.id] = asyncio.create_task(_fields(rtype, ctx))
    try:
        if tasks:
            await asyncio.wait(tasks.values(), timeout=LIVE_S)
    finally:
        for task in tasks.values():
            task.cancel()
    return {
        record_id: task.result()
        for record_id, task in tasks.items()
        if task.done() and not task.cancelled()
    }


def readable(services: Services, record: Record) -> ResourceType | None:
    """Return the type of a record whose attributes can be read from the cloud, otherwise None.

    The object may be incomplete, because its create continues or has failed.
    """
    rtype = services.programs.type_of(record)
    created = record.held.reference is not None
    begun = created or (not record.new and record.physical_id is not None)
    if rtype is None or isinstance(rtype, NestedType | Immediate) or not begun:
        return None
    return rtype


async def _fields(rtype: ResourceType, ctx: ResourceContext) -> dict[str, Any]:
    """Return the fields of the object; empty if the type does not show it, or it cannot be read."""
    body = await _attribute(rtype, ctx, WHOLE) if WHOLE in rtype.attributes else None
    return dict(body) if isinstance(body, Mapping) else {}


async def _attribute(rtype: ResourceType, ctx: ResourceContext, name: str) -> Any:
    try:
        async with asyncio.timeout(LIVE_S):
            return await shown_attribute(rtype, ctx, name)
    except (CloudFault, TimeoutError, *UNREADABLE) as problem:
        log.info("attribute %s of %s cannot be read: %s", name, ctx.name, problem)
        return None
