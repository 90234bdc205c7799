"""Giving up a snapshot: what its resources left in the cloud goes, then its row."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core.record import Record
from hearth.engine.worker.live import live as live_of
from hearth.model.state import Action, Status
from hearth.resources.base import Live, ResourceType
from hearth.store import claim
from hearth.store.database import Tx
from hearth.store.document import document
from hearth.store.snapshots import Snapshot

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)

TRIES = 6
PAUSE_S = 2.0


async def drop(work: "StackWork", snapshot: Snapshot) -> str | None:
    """Delete a snapshot; why that failed, or None."""
    failure = await drop_all(work, (snapshot.body or {}).get("resources", {}))
    if failure is not None:
        failure = work.operation.masked(failure)
        work.sure.snapshots.append((snapshot.id, Status.FAILED, failure))
    else:
        work.sure.snapshots.append((snapshot.id, None, ""))
    work.wake()
    return failure


async def drop_all(work: "StackWork", resources: Mapping[str, Any]) -> str | None:
    """Delete what the resources of a document left; why that failed, or None."""
    calls = [_drop_one(work, name, entry) for name, entry in _entries(resources)]
    failures = [why for why in await asyncio.gather(*calls) if why is not None]
    return failures[0] if failures else None


async def drop_taken(work: "StackWork", child_id: str) -> str | None:
    """Delete what a nested stack has taken for a snapshot that nobody asks for any more; why
    that failed, or None."""
    return await drop_all(work, await taken_by(work, child_id))


async def taken(work: "StackWork", record: Record, data: Mapping[str, str]) -> dict[str, Any]:
    """What a resource has left in the cloud for a snapshot, as a document has it."""
    entry: dict[str, Any] = {
        "type": record.type,
        "kind": record.held.kind,
        "resource_id": record.physical_id,
        "resource_data": dict(data),
    }
    kind = work.tools.programs.type_of(record)
    if kind is not None and kind.nested and record.physical_id is not None:
        entry["resources"] = await taken_by(work, record.physical_id)
    return entry


async def taken_by(work: "StackWork", child_id: str) -> dict[str, Any]:
    """The resources of a nested stack with what they have taken for a snapshot."""

    def look(tx: Tx) -> dict[str, Any]:
        row = claim.row(tx, child_id)
        return document(tx, row, taken=True)["resources"] if row is not None else {}

    return await work.tools.store.read(look)


def _entries(resources: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All resources of a document, those of nested stacks among them."""
    for name, entry in resources.items():
        yield name, entry
        yield from _entries(entry.get("resources", {}))


async def _drop_one(work: "StackWork", name: str, entry: Mapping[str, Any]) -> str | None:
    kind = work.tools.programs.kind_named(entry.get("kind", entry["type"]))
    if kind is None and (not entry.get("resource_data") or _untouched(entry)):
        return None
    if kind is None:
        return f"EntityNotFound: resources.{name}: the type {entry['type']} is not known any more"
    sketch = Record(
        work.tools.new_id(), name, entry["type"], 0, 0.0, physical_id=entry["resource_id"]
    )
    live = live_of(work, sketch, kind, Action.DELETE, properties={})
    live.data = entry["resource_data"]
    return await drop_one(kind, live)


def _untouched(entry: Mapping[str, Any]) -> bool:
    """Whether a snapshot did not get as far as that resource."""
    return bool(entry.get("action", Action.SNAPSHOT) != Action.SNAPSHOT)


async def drop_one(kind: ResourceType, live: Live) -> str | None:
    """Delete what one resource left of a snapshot; why that failed, or None."""
    for attempt in range(1, TRIES + 1):
        try:
            await kind.drop_snapshot(live)
            return None
        except CloudFault as fault:
            passing = fault.passing or fault.conflict or isinstance(fault, NoAnswer)
            if not passing or attempt == TRIES:
                return f"{fault.type}: resources.{live.name}: {fault.message}"
            await asyncio.sleep(fault.retry_after or PAUSE_S * attempt)
    raise AssertionError("unreachable")
