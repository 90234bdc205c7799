"""The contexts that resource types get for the resources of an owned stack."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from hearth.cloud.fault import CloudFault, NotFound
from hearth.engine.context import file_text, reading_others, referred, resource_context
from hearth.engine.core.decide import was_made
from hearth.engine.core.record import Record
from hearth.engine.worker.failure import ResourceFailure
from hearth.engine.worker.known.owned import OwnedStack
from hearth.model.state import Action
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import AnyAttribute, CollectsSignals, NestedType
from hearth.resources.shown import known_attributes, shown_attribute
from hearth.store import claim, reads
from hearth.store.reads import demand_metadata

log = logging.getLogger(__name__)


def context_of(
    owned: OwnedStack,
    record: Record,
    rtype: ResourceType,
    action: Action,
    *,
    properties: Mapping[str, Any],
    before: Mapping[str, Any] | None = None,
    changes: frozenset[str] = frozenset(),
    started_at: float | None = None,
    update_policy: Mapping[str, Any] | None = None,
    template_metadata: Mapping[str, Any] | None = None,
) -> ResourceContext:
    """Return the context of a record for one action. If `started_at` is None, the action begins
    now.

    `before` are the properties before the action, and `changes` the names of those that change.
    `template_metadata` is the metadata in the template if it has changed, otherwise None.
    """
    tools, memory = owned.tools, owned.memory
    return resource_context(
        tools,
        memory.stack,
        record,
        rtype,
        owned.access.cloud(),
        action,
        properties=properties,
        facts=owned.access.facts(),
        started_at=started_at,
        before=before or {},
        attempted=record.held.attempted or {},
        changed=changes,
        data=dict(memory.data.get(record.id, {})),
        metadata=memory.metadata.get(record.id, {}),
        template_metadata=template_metadata,
        created=was_made(record),
        update_policy=update_policy or {},
        users=owned.access.users(),
        read_metadata=lambda reference: _metadata(owned, reference),
        read_path=lambda: tools.store.read(partial(reads.path, row=memory.stack)),
        fetch=lambda url: file_text(owned.aim.revision.files, tools.fetch, url),
        **reading_others(
            memory.stack,
            lambda: memory.records.values(),
            lambda record_id: memory.data.get(record_id, {}),
        ),
    )


async def attributes_of(
    owned: OwnedStack,
    record: Record,
    rtype: ResourceType,
    ctx: ResourceContext,
    current: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the attributes to record for a resource.

    They are the attributes that the type computes from the last response body, and the further
    attributes that the template reads. `current` are attributes that need not be read again. An
    attribute that the object does not have is None; for a nested stack or a deployment it is left
    out. An attribute that the service does not show now is left out too, so that the next update
    reads it again.
    """
    attributes = {**(current or {}), **known_attributes(rtype, ctx)}
    for name in owned.aim.reads(record.name, rtype):
        if name not in attributes:
            try:
                attributes[name] = await shown_attribute(rtype, ctx, name)
            except (CloudFault, ResourceFailure, LookupError, TypeError) as problem:
                message = "attribute %s of resource %s cannot be read: %s"
                log.info(message, name, record.name, problem)
                unread = isinstance(problem, CloudFault) and not isinstance(problem, NotFound)
                # reading an attribute that a nested stack or a deployment does not have is an error
                if not (unread or isinstance(rtype, NestedType | AnyAttribute)):
                    attributes[name] = None
    return attributes


async def _metadata(owned: OwnedStack, reference: str) -> Mapping[str, Any]:
    """Return the current metadata of the resource with this reference id or physical id.

    It is read from the cloud or the database, because servers can change it. If there is no such
    resource, it is empty.
    """
    record = referred(owned.memory.records.values(), reference)
    if record is None:
        return {}
    if (collected := await _collected(owned, record)) is not None:
        return collected
    query = partial(claim.metadata, resource_id=record.id)
    metadata: Mapping[str, Any] = await owned.tools.store.read(query)
    owned.memory.metadata[record.id] = metadata
    return metadata


async def _collected(owned: OwnedStack, record: Record) -> Mapping[str, Any] | None:
    """Fetch the signals of a resource from the cloud, and return the metadata with them.

    Return None if the type has no signals in the cloud, or if there are no new signals.
    """
    rtype = owned.tools.programs.type_of(record)
    if not isinstance(rtype, CollectsSignals):
        return None
    ctx = context_of(owned, record, rtype, record.action, properties=record.held.properties)
    done = await rtype.collect(ctx)
    if done is None or done.metadata is None:
        return None
    demand_metadata(done.metadata)
    owned.memory.note_metadata(record.id, done.metadata)
    if done.data:
        owned.memory.note_data(record.id, done.data)
    for reason in (*done.earlier, done.reason):
        if reason is not None:
            owned.memory.event(record, record.status, reason, action="SIGNAL")
    owned.host.wake()
    return done.metadata
