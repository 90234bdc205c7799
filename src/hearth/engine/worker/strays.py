"""Strays: what a call may have made whose answer never came.

While an operation runs its flights look after their own; later the stack comes due for a few more
looks, as long as a call may still be on its way.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.engine.worker.live import live as live_of
from hearth.model.state import Action
from hearth.resources.base import Live, ResourceType
from hearth.store.claim import Stray

if TYPE_CHECKING:
    from hearth.engine.worker.work import StackWork

log = logging.getLogger(__name__)

AGAIN_S = 10.0  # until it is looked whether what turned up has gone
TYPE_BACK_S = 600.0  # how long a type that this engine does not know may come back
LOOKS = (0.25, 0.5, 1.0)  # when it is looked, as shares of the time a stray is watched


def of(work: "StackWork", record_id: str) -> list[Stray]:
    """What may still turn up under one record's key."""
    return [stray for stray in work.strays if stray.resource_id == record_id]


async def sweep(kind: ResourceType, live: Live) -> bool:
    """Delete what stands under a record's key beside the recorded thing; whether there was any.

    A delete may fail, or take its time: it is over when nothing is found any more.
    """
    turned_up = await kind.strays(live)
    for found in turned_up:
        log.warning("%s: %s turned up under its key and is deleted", live.name, found)
        await kind.drop_stray(live, found)
    return bool(turned_up)


async def watch(work: "StackWork") -> None:
    """One look at all strays of a stack that nothing else is done to."""
    for stray in list(work.strays):
        if stray.resource_id in work.flights:
            continue
        kind = work.tools.programs.kind_named(stray.resource_type)
        try:
            if kind is not None and await sweep(kind, _live(work, stray, kind)):
                continue
        except CloudFault as fault:
            log.warning("stack %s: a stray could not be looked for: %s", work.stack_id, fault)
            continue
        if kind is not None and rest_s(work, stray, work.tools.stray_watch_s) <= 0:
            forget(work, stray)
        elif kind is None and rest_s(work, stray, TYPE_BACK_S) <= 0:
            what = f"{stray.resource_type} {stray.facts['name']}"
            log.warning("stack %s: a %s may be left: its type is gone", work.stack_id, what)
            forget(work, stray)
    work.wake()


def rest_s(work: "StackWork", stray: Stray, watched_s: float) -> float:
    """Seconds until a stray has been watched for so long, whatever the wall clock does."""
    clock = work.tools.clock
    rest = stray.since + watched_s - clock.now()
    return rest if stray.heard is None else max(rest, stray.heard + watched_s - clock.monotonic())


def forget(work: "StackWork", stray: Stray) -> None:
    """Nothing can turn up any more."""
    if stray in work.strays:
        work.strays.remove(stray)
        work.sure.strays_gone.append(stray.id)


async def outwait(work: "StackWork") -> None:
    """Watch all strays until nothing can turn up any more."""
    while work.strays:
        await watch(work)
        if work.strays:
            rest = min(rest_s(work, stray, work.tools.stray_watch_s) for stray in work.strays)
            await asyncio.sleep(rest if 0 < rest < AGAIN_S else AGAIN_S)


def next_look(work: "StackWork") -> float | None:
    """When the next look is due; None without strays."""
    now, watched_s = work.tools.clock.now(), work.tools.stray_watch_s
    looks = [
        next((at for share in LOOKS if (at := s.since + share * watched_s) > now), now + AGAIN_S)
        for s in work.strays
    ]
    return min(looks, default=None)


def _live(work: "StackWork", stray: Stray, kind: ResourceType) -> Live:
    facts = stray.facts
    record = work.records.get(stray.resource_id)
    if record is None:
        record = Record(stray.resource_id, facts["name"], kind.name, 0, 0.0)
    return live_of(work, record, kind, Action.DELETE, properties=facts["properties"])
