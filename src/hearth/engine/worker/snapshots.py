"""Giving up a snapshot: what its resources left in the cloud goes, then its row."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hearth.cloud.fault import CloudFault, NoAnswer
from hearth.engine.core.record import Record
from hearth.engine.worker.live import live as live_of
from hearth.model.state import Action, Status
from hearth.store.snapshots import Snapshot

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)

TRIES = 6
PAUSE_S = 2.0


async def drop(work: "StackWork", snapshot: Snapshot) -> str | None:
    """Delete a snapshot; why that failed, or None."""
    entries = list(_entries((snapshot.body or {}).get("resources", {})))
    calls = [_drop_one(work, name, entry) for name, entry in entries]
    failures = [why for why in await asyncio.gather(*calls) if why is not None]
    if failures:
        work.sure.snapshots.append((snapshot.id, Status.FAILED, failures[0]))
        work.wake()
        return failures[0]
    work.sure.snapshots.append((snapshot.id, None, ""))
    work.wake()
    return None


def _entries(resources: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All resources of a document, those of nested stacks among them."""
    for name, entry in resources.items():
        yield name, entry
        yield from _entries(entry.get("resources", {}))


async def _drop_one(work: "StackWork", name: str, entry: Mapping[str, Any]) -> str | None:
    kind = work.tools.programs.kind_named(entry.get("kind", entry["type"]))
    if kind is None:
        return None
    sketch = Record(
        work.tools.new_id(), name, entry["type"], 0, 0.0, physical_id=entry["resource_id"]
    )
    live = live_of(work, sketch, kind, Action.DELETE, properties={})
    live.data = entry["resource_data"]
    for attempt in range(1, TRIES + 1):
        try:
            await kind.drop_snapshot(live)
            return None
        except CloudFault as fault:
            passing = fault.passing or fault.conflict or isinstance(fault, NoAnswer)
            if not passing or attempt == TRIES:
                return f"{fault.type}: resources.{name}: {fault.message}"
            await asyncio.sleep(fault.retry_after or PAUSE_S * attempt)
    raise AssertionError("unreachable")
