"""Outputs, evaluated when they are asked for.

From recorded attributes; those that are typed as never to be cached are read live with the caller's
token, within a bound, else the last recorded value is taken.
"""

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.model.unknown import nulled
from hearth.service.caller import Caller
from hearth.service.house import House
from hearth.service.live import live_of
from hearth.service.world import StoredWorld
from hearth.store import reads
from hearth.store.rows import StackRow
from hearth.template import Program
from hearth.template.budget import spending

log = logging.getLogger(__name__)

LIVE_S = 5.0


@dataclass(frozen=True)
class OutputValue:
    """An output: its value, or why there is none."""

    key: str
    description: str
    value: Any = None
    error: str | None = None


async def outputs(
    house: House, caller: Caller, row: StackRow, only: str | None = None
) -> list[OutputValue]:
    """All outputs of a stack, or the one named."""
    revision, program = await house.program(row)
    wanted = [o for name, o in program.outputs.items() if only in (None, name)]
    if not wanted:
        return []
    found = await house.store.read(lambda tx: reads.records(tx, row.id))
    records = reads.in_charge(found)
    fresh = await _fresh(house, caller, row, program, records.values())
    nested = {name for name, record in records.items() if _is_nested(house, record)}
    world = StoredWorld(records, fresh, revision.facade, nested)
    values = []
    with spending():
        for output in wanted:
            value, error = output.evaluate(world)
            values.append(OutputValue(output.name, output.description, nulled(value), error))
    return values


def _is_nested(house: House, record: Record) -> bool:
    kind = house.programs.type_of(record)
    return kind is not None and kind.nested


async def _fresh(
    house: House, caller: Caller, row: StackRow, program: Program, records: Iterable[Record]
) -> dict[tuple[str, str], Any]:
    """Values of attributes that are never cached, as they are now."""
    asked: dict[tuple[str, str], Record] = {}
    for record in records:
        kind = house.programs.type_of(record)
        if kind is None or kind.nested or kind.pure or record.held.reference is None:
            continue
        for read in program.reads.get(record.name, ()):
            declared = kind.attributes.get(read[0])
            if declared is not None and not declared.cached:
                asked[record.name, read[0]] = record
    if not asked:
        return {}
    calls = [_one(house, caller, row, record, name) for (_, name), record in asked.items()]
    answers = await asyncio.gather(*calls)
    return {key: value for key, known, value in answers if known}


async def _one(
    house: House, caller: Caller, row: StackRow, record: Record, name: str
) -> tuple[tuple[str, str], bool, Any]:
    key = (record.name, name)
    kind = house.programs.type_of(record)
    assert kind is not None
    try:
        async with asyncio.timeout(LIVE_S):
            live = await live_of(house, caller, row, record, kind)
            return key, True, await kind.attribute(live, name)
    except (CloudFault, TimeoutError, LookupError, NotImplementedError) as problem:
        log.info("attribute %s of %s: %s", name, record.name, problem)
        return key, False, None
