"""The contexts that resource types get for the resources of an owned stack."""

import json
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from hearth.cloud.fault import CloudFault, NotFound
from hearth.engine.core.decide import never_made
from hearth.engine.core.naming import name_by_reference, physical_name
from hearth.engine.core.record import Record
from hearth.engine.deployments import StackDeployments
from hearth.engine.worker.failure import ResourceFailure
from hearth.engine.worker.known.owned import OwnedStack
from hearth.model.state import Action
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import CollectsSignals, NestedType, ReportsResults
from hearth.resources.context import INHERITED
from hearth.resources.deployments import Deployments
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
    now = owned.tools.clock.now()
    return ResourceContext(
        record_id=record.id,
        name=record.name,
        type_name=record.type,
        stack=owned.access.facts(),
        action=action,
        physical_id=record.physical_id,
        physical_name=physical_name(
            owned.memory.stack.name, record.name, record.id, rtype.physical_name_limit
        ),
        key=record.id,
        properties=properties,
        cloud=owned.access.cloud(),
        before=before or {},
        attempted=record.held.attempted or {},
        changed=changes,
        data=dict(owned.memory.data.get(record.id, {})),
        metadata=owned.memory.metadata.get(record.id, {}),
        template_metadata=template_metadata,
        now=now,
        started_at=now if started_at is None else started_at,
        created=not never_made(record),
        account_secret=lambda: owned.tools.store.sealer.fingerprint(
            ["account", owned.memory.stack.project_id]
        ),
        secret=lambda: owned.tools.store.sealer.fingerprint(["secret", record.id]),
        update_policy=update_policy or {},
        kind=rtype,
        users=owned.access.users(),
        deployments=_deployments(owned, record, rtype),
        read_metadata=lambda reference: _metadata(owned, reference),
        read_properties=lambda reference: _properties(owned, reference),
        read_name=lambda reference: name_by_reference(
            owned.memory.stack.name, owned.memory.records.values(), reference
        ),
        read_path=lambda: owned.tools.store.read(partial(reads.path, row=owned.memory.stack)),
        new_id=owned.tools.new_id,
        fetch=partial(_fetched, owned),
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
    attributes = {**(current or {}), **rtype.known_attributes(ctx)}
    for name in owned.aim.reads(record.name, rtype):
        if name not in attributes:
            try:
                attributes[name] = await rtype.shown_attribute(ctx, name)
            except (CloudFault, ResourceFailure, LookupError, TypeError) as problem:
                message = "attribute %s of resource %s cannot be read: %s"
                log.info(message, name, record.name, problem)
                unread = isinstance(problem, CloudFault) and not isinstance(problem, NotFound)
                # reading an attribute that a nested stack or a deployment does not have is an error
                if not (unread or isinstance(rtype, NestedType) or rtype.accepts_any_attribute):
                    attributes[name] = None
    return attributes


def _deployments(owned: OwnedStack, record: Record, rtype: ResourceType) -> Deployments | None:
    if not isinstance(rtype, ReportsResults):
        return None
    tools, stack = owned.tools, owned.memory.stack
    return StackDeployments(tools.store, tools.clouds, tools.clock, tools.new_id, stack, record)


async def _fetched(owned: OwnedStack, url: str) -> str:
    """Return a file from the stack's revision if it has one with this URL, otherwise the text at
    the URL.
    """
    files = owned.aim.revision.files
    return files[url] if url in files else await owned.tools.fetch(url)


def _properties(owned: OwnedStack, reference: str) -> Mapping[str, Any] | None:
    """Return the stored properties of the resource with this reference id; None if there is
    none.
    """
    for record in owned.memory.records.values():
        if record.until is None and reference == record.held.reference:
            inherited = owned.memory.data.get(record.id, {}).get(INHERITED, "{}")
            recorded = {k: v for k, v in record.held.properties.items() if v is not None}
            return {**json.loads(inherited), **recorded}
    return None


async def _metadata(owned: OwnedStack, reference: str) -> Mapping[str, Any]:
    """Return the current metadata of the resource with this reference id or physical id.

    It is read from the cloud or the database, because servers can change it. If there is no such
    resource, it is empty.
    """
    for record in owned.memory.records.values():
        if reference in (record.held.reference, record.physical_id):
            if (collected := await _collected(owned, record)) is not None:
                return collected
            query = partial(claim.metadata, resource_id=record.id)
            metadata: Mapping[str, Any] = await owned.tools.store.read(query)
            owned.memory.metadata[record.id] = metadata
            return metadata
    return {}


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
