"""The resources of a stack and of its nested stacks."""

import logging
from collections.abc import Mapping, Sequence, Set
from typing import Any

import msgspec
from msgspec import Struct, field

from hearth.engine.core.record import Record
from hearth.model.problem import Rejected, rejection
from hearth.model.state import Action, Hook, Status
from hearth.resources.capabilities import NestedType
from hearth.resources.heat.access_policy import ALLOWED, AccessPolicy
from hearth.resources.heat.template_resource import TemplateResource
from hearth.resources.iam.user import User, admits
from hearth.service.caller import Caller
from hearth.service.problems import Forbidden, ResourceNotAvailable, ResourceNotFound
from hearth.service.reading.live_attributes import attributes_of, fields_of
from hearth.service.reading.redact import (
    EVERYTHING,
    Sight,
    masks_given,
    seen_attributes,
    seen_metadata,
    sight_of,
)
from hearth.service.reading.waiting import Waiting, waiting
from hearth.service.services import Services
from hearth.store import hooks, reads
from hearth.store.database import Tx
from hearth.store.reads import FlightRow
from hearth.store.rows import StackRow, record_of
from hearth.template import Program
from hearth.template.evaluated import METADATA
from hearth.template.hidden import longest_first
from hearth.template.parameters import MASK

log = logging.getLogger(__name__)

QUEUED_S = 2.0  # calls that wait for a slot for a shorter time are not shown


class ResourceView(Struct, frozen=True):
    """A resource as an API response shows it, with its stack and its nested stack.

    `required_by` are the names of the resources that require it. `parent_resource` is the name of
    the stack's resource in the parent stack. `attributes` is None if they were not read, and
    `waiting` is None if the resource does not wait.
    """

    stack: StackRow
    record: Record
    required_by: Sequence[str] = ()
    nested: StackRow | None = None
    parent_resource: str | None = None
    description: str = ""
    attributes: Mapping[str, Any] | None = field(default=None)
    waiting: Waiting | None = None


class ResourceRows(Struct, frozen=True):
    """The rows about the resources of a stack, and of nested stacks.

    `records` are those of each stack. `below` are the nested stacks, also those one level deeper.
    `above` is the name of the stack's resource in the parent stack. `fingerprint` is the one of the
    rows of the stack and of its records if they alone determine the list, otherwise None.
    """

    records: Sequence[tuple[StackRow, Sequence[Record]]]
    below: Sequence[StackRow]
    flights: Mapping[str, FlightRow]
    above: str | None
    fingerprint: int | None


def rows_of(tx: Tx, row: StackRow, depth: int = 0) -> ResourceRows:
    """Read the rows about the resources of a stack and of `depth` levels of nested stacks."""
    below = reads.children(tx, row, max(depth, 1))
    stacks = [row, *(stack for stack in below if stack.depth <= row.depth + depth)]
    busy = [stack.id for stack in stacks if stack.status is Status.IN_PROGRESS]
    own_rows = reads.rows_of_records(tx, row.id)
    own_records = [record_of(tx, record_row) for record_row in own_rows]
    alone = row.parent_id is None and not below
    rests = Status.IN_PROGRESS not in {row.status, *(record.status for record in own_records)}
    return ResourceRows(
        records=[
            (row, own_records),
            *((stack, reads.records(tx, stack.id)) for stack in stacks[1:]),
        ],
        below=below,
        flights=reads.flights(tx, busy),
        above=None if row.parent_record is None else reads.name_of(tx, row.parent_record),
        fingerprint=reads.fingerprint(row, own_rows) if alone and rests else None,
    )


async def resources(
    services: Services, caller: Caller, row: StackRow, rows: ResourceRows, *, detail: bool = False
) -> list[ResourceView]:
    """Return the resources of a stack and of nested stacks, whose `rows` were read, in one list.

    If `detail` is true, they have their recorded attributes and the fields of their objects, as far
    as the caller may see them.
    """
    chosen_of = [(stack, reads.in_charge(records)) for stack, records in rows.records]
    fields: Mapping[str, Mapping[str, Any]] = {}
    if detail:
        fields = await fields_of(
            services, caller, [(stack, chosen.values()) for stack, chosen in chosen_of]
        )
    by_id = {stack.id: stack for stack in (row, *rows.below)}
    names = {} if rows.above is None else {row.id: rows.above}
    names |= {
        r.physical_id: r.name for _, records in rows.records for r in records if r.physical_id
    }
    result = []
    sight = sight_of(services, caller)
    for (stack, chosen), (_, records) in zip(chosen_of, rows.records, strict=True):
        users = _required_by(records)
        program = await _program(services, stack) if records else None
        all_masked = detail and await masks_all(services, sight, stack)
        now = services.clock.now()
        waited_at = await _waited_at(services, stack, chosen, program)
        calls = services.clouds.pool.queue.of_stack(stack.id, QUEUED_S)
        queued = {name: call.bound.in_flight for name, call in calls.items()}
        waits = waiting(
            stack, list(chosen.values()), program, rows.flights, by_id, waited_at, queued, now
        )
        result += [
            ResourceView(
                stack,
                record,
                sorted(users.get(record.id, ())),
                by_id.get(record.physical_id or "") if _nests(services, record) else None,
                names.get(stack.id) if stack.parent_id else None,
                attributes=_detailed(services, record, fields, sight, all_masked=all_masked)
                if detail
                else None,
                waiting=waits.get(record.id),
            )
            for record in chosen.values()
        ]
    return result


async def _program(services: Services, row: StackRow) -> Program | None:
    """Return the program of a stack in progress; None if it is not in progress or does not
    compile.
    """
    if row.status is not Status.IN_PROGRESS:
        return None
    try:
        return (await services.program(row))[1]
    except Rejected:
        return None


async def _waited_at(
    services: Services, row: StackRow, chosen: Mapping[str, Record], program: Program | None
) -> Mapping[str, Hook]:
    """Return the hooks at which resources wait, by record id."""
    if program is None:
        return {}
    environment = program.module.environment
    ids = [record.id for name, record in chosen.items() if environment.hooks(name)]
    if not ids:
        return {}
    return await services.store.read(lambda tx: hooks.waited_at(tx, ids, row.traversal))


def _nests(services: Services, record: Record) -> bool:
    rtype = services.programs.type_of(record)
    return isinstance(rtype, NestedType)


def _required_by(records: Sequence[Record]) -> dict[str, set[str]]:
    users: dict[str, set[str]] = {}
    for record in records:
        for provider in record.requires:
            users.setdefault(provider, set()).add(record.name)
    return users


async def masks_all(services: Services, sight: Sight, row: StackRow) -> bool:
    """Return whether the parent of a nested stack passes values to it that somebody with this sight
    may not see.
    """
    if row.parent_id is None or sight == EVERYTHING:
        return False
    revision = await services.store.read(lambda tx: reads.revision_of(tx, row))
    return await masks_given(services, sight, row, revision)


def _detailed(
    services: Services,
    record: Record,
    fields: Mapping[str, Mapping[str, Any]],
    sight: Sight,
    *,
    all_masked: bool,
) -> Mapping[str, Any]:
    attributes = {**_recorded(services, record), **fields.get(record.id, {})}
    rtype = services.programs.type_of(record)
    return seen_attributes(sight, record, rtype, attributes, all_masked=all_masked)


def recorded_attributes(services: Services, record: Record, sight: Sight) -> Mapping[str, Any]:
    """Return the recorded attributes of a resource, as somebody with this sight sees them."""
    rtype = services.programs.type_of(record)
    return seen_attributes(sight, record, rtype, _recorded(services, record))


def _recorded(services: Services, record: Record) -> Mapping[str, Any]:
    rtype = services.programs.type_of(record)
    recorded = record.held.attributes
    if isinstance(rtype, TemplateResource):  # its attributes are the outputs of the nested stack
        return {n: value for n, value in recorded.items() if not n.startswith("resource.")}
    declared = rtype.attributes if rtype is not None else {}
    return {name: recorded.get(name) for name in declared if name != "show"}


async def find_resource(services: Services, row: StackRow, name: str) -> Record:
    """Return the record in charge of a resource; if there is none, its newest record.

    Raises Rejected if there is no record: with ResourceNotAvailable if the template has the
    resource, else with ResourceNotFound.
    """
    return await _demand_record(services, row, name, None)


async def find_resource_for(services: Services, caller: Caller, row: StackRow, name: str) -> Record:
    """Return the record that the caller means by the name of a resource, see `reads.record_for`.

    Raises Rejected if there is no record, or if the caller is a stack domain user that may not read
    the resource.
    """
    record = await _demand_record(services, row, name, caller.guest_id)
    await guest_may(services, caller, row, record)
    return record


async def _demand_record(
    services: Services, row: StackRow, name: str, guest_id: str | None
) -> Record:
    record = await services.store.read(lambda tx: reads.record_for(tx, row.id, name, guest_id))
    if record is None:
        if row.deleted_at is None and row.action is not Action.DELETE:
            _, program = await services.program(row)
            if name in program.resources:
                raise rejection(ResourceNotAvailable, name)
        raise rejection(ResourceNotFound, name, row.name)
    return record


def rows_about(rows: ResourceRows, record: Record) -> ResourceRows:
    """Return the rows of a stack without the other records that have the name of `record`."""
    return msgspec.structs.replace(
        rows,
        records=[
            (
                row,
                [
                    candidate
                    for candidate in records
                    if candidate.name != record.name or candidate.id == record.id
                ],
            )
            for row, records in rows.records
        ],
    )


async def show_resource(
    services: Services,
    caller: Caller,
    row: StackRow,
    name: str,
    with_attributes: Set[str],
    rows: ResourceRows,
) -> ResourceView:
    """Return a resource with its attributes. `rows` are those of the stack. Raises Rejected.

    The fields of its object, attributes that are never cached, and those named in
    `with_attributes` are read from the cloud with the caller's token. If that fails, the fields are
    missing, and these attributes are null. The others have their recorded values. An attribute in
    `with_attributes` that the resource does not have is null, too.
    """
    listed_views = await resources(services, caller, row, rows)
    summary = next((view for view in listed_views if view.record.name == name), None)
    if summary is None:
        await find_resource(services, row, name)  # says why there is none
        raise rejection(ResourceNotFound, name, row.name)  # it came meanwhile
    record = summary.record
    attributes = dict(_recorded(services, record))
    attributes.update(dict.fromkeys(with_attributes - attributes.keys()))
    attributes.update(await attributes_of(services, caller, row, record, with_attributes))
    _, program = await services.program(row)
    definition = program.resources.get(name)
    sight = sight_of(services, caller)
    description = definition.description if definition is not None else ""
    return ResourceView(
        row,
        record,
        summary.required_by,
        summary.nested,
        summary.parent_resource,
        description,
        seen_attributes(
            sight,
            record,
            services.programs.type_of(record),
            attributes,
            all_masked=await masks_all(services, sight, row),
        ),
        summary.waiting,
    )


async def metadata(services: Services, caller: Caller, row: StackRow, name: str) -> Any:
    """Return the metadata of a resource.

    Servers poll it, so this is one read of the database. Raises Rejected if there is no such
    resource, or if the caller is a stack domain user that may not read it.
    """

    def look(tx: Tx) -> tuple[Record | None, dict[str, str], Any]:
        record = reads.record_for(tx, row.id, name, caller.guest_id)
        return (record, {}, {}) if record is None else (record, *reads.data_of(tx, record.id)[1:])

    record, data, raw_metadata = await services.store.read(look)
    if record is None:
        record = await find_resource(services, row, name)  # raises
    await guest_may(services, caller, row, record, data)
    return await metadata_for(services, caller, row, record, raw_metadata)


async def metadata_for(
    services: Services, caller: Caller, row: StackRow, record: Record, metadata: Any
) -> Any:
    """Return the metadata of a resource of a stack as the caller sees it."""
    sight = sight_of(services, caller)
    hidden: Sequence[str] = ()
    if not sight.hidden:
        try:
            revision, program = await services.program(row)
        except Rejected:  # the hidden values are unknown
            return seen_metadata(sight, MASK, ())
        hidden = longest_first((*program.scope.hidden, *revision.facade.get("hidden", ())))
    guarded = METADATA in record.held.guarded or await masks_all(services, sight, row)
    return seen_metadata(sight, metadata, hidden, guarded=guarded)


async def guest_may(
    services: Services,
    caller: Caller,
    row: StackRow,
    record: Record,
    data: Mapping[str, str] | None = None,
) -> None:
    """Raise Rejected with Forbidden if the caller is a stack domain user that may not read the
    resource.

    Such a user may read the resource for which it was created. A user that is itself a resource of
    the template may read the resources that its policies allow. `data` is the resource's private
    data, if the caller of this function has read it.
    """
    if not caller.guest:
        return
    private_data = data or (await services.store.read(lambda tx: reads.data_of(tx, record.id)))[1]
    in_project = caller.project_id == row.user_project_id
    is_own = private_data.get("user_id") == caller.user_id
    if in_project and (is_own or await _admitted(services, caller, row, record)):
        return
    message = f"You are not authorized to use the resource {record.name}."
    raise rejection(Forbidden, message)


async def _admitted(services: Services, caller: Caller, row: StackRow, record: Record) -> bool:
    """Return whether the caller is a user defined in the template that may read the resource."""

    def look(tx: Tx) -> tuple[list[Record], list[Record]]:
        records = reads.records(tx, row.id)
        candidates = [
            *records,
            *reads.in_charge(records).values(),
        ]  # these decide about their names
        users = [user for user in records if isinstance(services.programs.type_of(user), User)]
        own_users = [
            u for u in users if reads.data_of(tx, u.id)[1].get("user_id") == caller.user_id
        ]
        return candidates, own_users

    candidates, own_users = await services.store.read(look)
    policies: dict[Any, Sequence[Any]] = {}
    for candidate in candidates:
        if isinstance(services.programs.type_of(candidate), AccessPolicy):
            resource_names = candidate.held.properties.get(ALLOWED) or []
            policies |= dict.fromkeys(
                (candidate.name, candidate.physical_id, candidate.held.reference), resource_names
            )
    return any(admits(user.held.properties, record.name, policies) for user in own_users)
