"""Outputs of stacks, evaluated for each request from recorded attributes.

Attributes that are never cached are read from the cloud with the caller's token, within a time
limit. If that fails, the last recorded value is used.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault
from hearth.engine.core.record import Record
from hearth.model.unknown import nulled
from hearth.resources.capabilities import NestedType, ReportsResults
from hearth.resources.shown import shown_attribute
from hearth.resources.zones import asked_for, zone_names
from hearth.service.caller import Caller
from hearth.service.context import context_of
from hearth.service.reading.live_attributes import readable
from hearth.service.reading.real_objects import UNREADABLE
from hearth.service.reading.redact import EVERYTHING, Given, Sight, masks_given, sight_of
from hearth.service.reading.world import StoredWorld
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import Revision, StackRow, record_of
from hearth.template import Output, Program, World
from hearth.template.budget import spending
from hearth.template.parameters import MASK

log = logging.getLogger(__name__)

LIVE_S = 5.0


class OutputValue(Struct, frozen=True):
    """An output with its value, or with the error that prevents its evaluation."""

    key: str
    description: str
    value: Any = None
    error: str | None = None
    reason: str | None = None  # the reason without the place


class ReadAhead(Struct):
    """Reads the records of a stack in the transaction that finds it, if they are needed for its
    outputs and `with_outputs` is true.

    Both are known only if the program of the stack is in the cache. `records` is None if they were
    not read. `fingerprint` is the one of the rows if they alone determine what is shown of the
    stack, otherwise None.
    """

    services: Services
    with_outputs: bool = True
    records: list[Record] | None = None
    fingerprint: int | None = None

    def __call__(self, tx: Tx, row: StackRow) -> None:
        program = self.services.cached_program(row)
        if program is None or row.deleted_at is not None:
            return
        needs_records = self.with_outputs and program.outputs
        rows = reads.rows_of_records(tx, row.id) if needs_records else []
        self.fingerprint = reads.fingerprint(row, rows)
        if needs_records:
            self.records = [record_of(tx, record_row) for record_row in rows]


async def outputs(
    services: Services,
    caller: Caller,
    row: StackRow,
    only: str | None = None,
    ahead: ReadAhead | None = None,
) -> list[OutputValue]:
    """Return all outputs of a stack, or only the output named `only`.

    `ahead` has the records of the stack if the caller has read them; its fingerprint is removed if
    the outputs depend on more. The list is empty if there is no such output. Raises Rejected if the
    template of the stack does not compile.
    """
    revision, program = await services.program(row)
    selected = [o for name, o in program.outputs.items() if only in (None, name)]
    if not selected:
        return []
    all_records = None if ahead is None else ahead.records
    if all_records is None:
        all_records = await services.store.read(lambda tx: reads.records(tx, row.id))
    records = reads.in_charge(all_records)
    live = _live(services, program, records.values())
    fresh = await _fresh(services, caller, row, live)
    kinds = services.programs.types_of(records)
    nested = [name for name, kind in kinds.items() if isinstance(kind, NestedType)]
    broken = await _broken(services, caller, row, program, records, nested)
    in_zones = asked_for(revision.template)
    zones = await _zones(services.cloud(caller)) if in_zones else None
    sight = sight_of(services, caller)
    world = StoredWorld(
        records,
        fresh,
        revision.facade,
        kinds,
        broken,
        complete=True,
        zones=zones,
    )
    if await masks_given(services, sight, row, revision):
        return [
            OutputValue(output.name, output.description, MASK, None, None) for output in selected
        ]
    values = await services.compute.evaluated(
        lambda: _values(selected, world, sight), row.project_id
    )
    failed = any(
        value.error is not None for value in values
    )  # perhaps only because it took too long
    if ahead is not None and (live or nested or in_zones or failed):
        ahead.fingerprint = None
    return values


async def recorded_outputs(
    services: Services, row: StackRow, revision: Revision, records: Mapping[str, Record]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the outputs of a stack that have a value, and the values of its parameters, by name.

    `revision` is the revision of the stack, and `records` are the records in charge, by name. Only
    recorded attributes are used; no call is sent to the cloud. Hidden values are included. Raises
    Rejected if the template of the stack does not compile.
    """
    program = await services.programs.results_of(row, revision)
    kinds = services.programs.types_of(records)
    world = StoredWorld(records, {}, revision.facade, kinds, {}, complete=True)
    values = await services.compute.evaluated(
        lambda: _values(program.outputs.values(), world, EVERYTHING), row.project_id
    )
    output_values = {value.key: value.value for value in values if value.error is None}
    return output_values, {name: parameter.value for name, parameter in program.parameters.items()}


def _values(declared: Iterable[Output], world: World, sight: Sight) -> list[OutputValue]:
    """Return the values of outputs; those that somebody with this sight may not see are masked."""
    values = []
    with spending():
        for output in declared:
            value, error = output.evaluate(world)
            reason = output.reason(world) if error is not None else None
            if sight != EVERYTHING:
                hidden, guarded = output.reveals(world)
                if Given(hidden, guarded).masks(sight):
                    value = MASK
            output_value = OutputValue(
                output.name, output.description, nulled(value), error, reason
            )
            values.append(output_value)
    return values


async def _zones(cloud: Cloud) -> list[str] | None:
    try:
        async with asyncio.timeout(LIVE_S):
            return await zone_names(cloud)
    except (CloudFault, TimeoutError) as problem:
        log.info("the availability zones cannot be read: %s", problem)
        return None


async def _broken(
    services: Services,
    caller: Caller,
    row: StackRow,
    program: Program,
    records: Mapping[str, Record],
    nested: Collection[str],
) -> dict[tuple[str, str], str]:
    """Return why outputs of nested stacks have no value, by (resource, output).

    Only outputs with a value are recorded, so a nested stack is evaluated if one of its outputs is
    missing.
    """
    reasons: dict[tuple[str, str], str] = {}
    for name in nested:
        record = records[name]
        definition = program.resources.get(name)
        if definition is None or definition.child is None or record.physical_id is None:
            continue
        declared = definition.child.syntax.outputs
        read_names = {attribute for attribute, *_ in program.reads.get(name, ())}
        attributes = record.held.attributes
        lacking = {key for key in read_names if key in declared and attributes.get(key) is None}
        if not lacking:
            continue
        child_id = record.physical_id
        child = await services.store.read(partial(reads.stack_by_physical_id, physical_id=child_id))
        if child is None or child.parent_id != row.id:
            continue
        for output in await outputs(services, caller, child):
            if output.key in lacking and output.reason is not None:
                reasons[name, output.key] = output.reason
    return reasons


def _live(
    services: Services, program: Program, records: Iterable[Record]
) -> dict[tuple[str, str], Record]:
    """Return which attributes are read from the cloud, by (resource, attribute).

    These are the attributes that are never cached, and all attributes of a resource whose failed
    action has recorded none or old ones.
    """
    live: dict[tuple[str, str], Record] = {}
    for record in records:
        rtype = readable(services, record)
        if rtype is None:
            continue
        unmade = record.held.reference is None
        unrecorded = record.failed and (unmade or isinstance(rtype, ReportsResults))
        for attribute_path in program.reads.get(record.name, ()):
            declared = rtype.attributes.get(attribute_path[0])
            if unrecorded or (declared is not None and not declared.cached):
                live[record.name, attribute_path[0]] = record
    return live


async def _fresh(
    services: Services, caller: Caller, row: StackRow, live: Mapping[tuple[str, str], Record]
) -> dict[tuple[str, str], Any]:
    """Return the current values of attributes that are never cached, by (resource, attribute)."""
    if not live:
        return {}
    calls = [_value_of(services, caller, row, record, name) for (_, name), record in live.items()]
    answers = await asyncio.gather(*calls)
    return {key: value for key, is_known, value in answers if is_known}


async def _value_of(
    services: Services, caller: Caller, row: StackRow, record: Record, name: str
) -> tuple[tuple[str, str], bool, Any]:
    key = (record.name, name)
    rtype = services.programs.type_of(record)
    assert rtype is not None
    try:
        async with asyncio.timeout(LIVE_S):
            ctx = await context_of(services, caller, row, record, rtype)
            return key, True, await shown_attribute(rtype, ctx, name)
    except (CloudFault, TimeoutError, *UNREADABLE) as problem:
        log.info("attribute %s of resource %s cannot be read: %s", name, record.name, problem)
        return key, False, None
