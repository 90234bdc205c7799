"""Deletion of a snapshot: first the objects that its resources created in the cloud, then its
row.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core.record import Record
from hearth.engine.worker.known.context import context_of
from hearth.engine.worker.known.owned import OwnedStack
from hearth.model.state import Action, Status
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import NestedType, Snapshots
from hearth.store import claim
from hearth.store.database import Tx
from hearth.store.document import document
from hearth.store.snapshots import Snapshot

log = logging.getLogger(__name__)

TRIES = 6
PAUSE_S = 2.0


async def drop(owned: OwnedStack, snapshot: Snapshot) -> str | None:
    """Delete a snapshot with its objects; return the reason if that failed, else None."""
    failure = await drop_all(owned, (snapshot.body or {}).get("resources", {}))
    if failure is not None:
        failure = owned.aim.masked(failure)
        owned.memory.always.snapshots.append((snapshot.id, Status.FAILED, failure))
    else:
        owned.memory.always.snapshots.append((snapshot.id, None, ""))
    owned.host.wake()
    return failure


async def drop_all(owned: OwnedStack, resources: Mapping[str, Any]) -> str | None:
    """Delete the objects that resources created for a snapshot; return the first failure, or None.

    `resources` is the part of the snapshot's document that describes them.
    """
    calls = [_drop_one(owned, name, entry) for name, entry in _entries(resources)]
    failures = [failure for failure in await asyncio.gather(*calls) if failure is not None]
    return failures[0] if failures else None


async def drop_taken(owned: OwnedStack, child_id: str) -> str | None:
    """Delete the objects that a nested stack created for a failed snapshot of its parent stack.

    Return the first failure, or None.
    """
    return await drop_all(owned, await taken_by(owned, child_id))


async def taken(owned: OwnedStack, record: Record, data: Mapping[str, str]) -> dict[str, Any]:
    """Describe the objects that a resource created for a snapshot, as an entry of a snapshot
    document.

    `data` is the private data of the resource; it has the ids of the objects.
    """
    entry: dict[str, Any] = {
        "type": record.type,
        "kind": record.held.kind,
        "resource_id": record.physical_id,
        "resource_data": dict(data),
    }
    rtype = owned.tools.programs.type_of(record)
    if isinstance(rtype, NestedType) and record.physical_id is not None:
        entry["resources"] = await taken_by(owned, record.physical_id)
    return entry


async def taken_by(owned: OwnedStack, child_id: str) -> dict[str, Any]:
    """Describe the objects that the resources of a nested stack created for a snapshot, by name."""

    def look(tx: Tx) -> dict[str, Any]:
        row = claim.row(tx, child_id)
        return document(tx, row, in_snapshot=True)["resources"] if row is not None else {}

    return await owned.tools.store.read(look)


def _entries(resources: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the entry of each resource of a document, including those of nested
    stacks.
    """
    for name, entry in resources.items():
        yield name, entry
        yield from _entries(entry.get("resources", {}))


async def _drop_one(owned: OwnedStack, name: str, entry: Mapping[str, Any]) -> str | None:
    rtype = owned.tools.programs.rtype_named(entry.get("kind", entry["type"]))
    if rtype is None and (not entry.get("resource_data") or _untouched(entry)):
        return None
    if rtype is None:
        return f"EntityNotFound: resources.{name}: the type {entry['type']} is no longer available"
    sketch = Record(
        owned.tools.new_id(), name, entry["type"], 0, 0.0, physical_id=entry["resource_id"]
    )
    ctx = context_of(owned, sketch, rtype, Action.DELETE, properties={})
    ctx.data = entry["resource_data"]
    return await drop_one(rtype, ctx)


def _untouched(entry: Mapping[str, Any]) -> bool:
    """Return whether the snapshot ended before it reached the resource of this entry."""
    return bool(entry.get("action", Action.SNAPSHOT) != Action.SNAPSHOT)


async def drop_one(rtype: ResourceType, ctx: ResourceContext) -> str | None:
    """Delete the objects that one resource created for a snapshot; return the failure, or None."""
    if not isinstance(rtype, Snapshots):
        return None
    for attempt in range(1, TRIES + 1):
        try:
            await rtype.drop_snapshot(ctx)
            return None
        except CloudFault as fault:
            passing = fault.passing or fault.conflict or isinstance(fault, NoAnswer)
            if not passing or attempt == TRIES:
                return f"{fault.type}: resources.{ctx.name}: {fault.message}"
            await asyncio.sleep(fault.retry_after or PAUSE_S * attempt)
    raise AssertionError("unreachable")
