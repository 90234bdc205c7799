"""Update, delete and cancel."""

import logging

from hearth.engine.core.rules import Request, refusal
from hearth.model.problem import ImmutableParameterModified, Rejected
from hearth.model.state import Action
from hearth.service.caller import Caller
from hearth.service.credentials import requester
from hearth.service.foresight import Aim
from hearth.service.house import House
from hearth.service.revisions import stored_revision
from hearth.service.types_used import demand_types_of
from hearth.service.wanted import Wanted, checked, ignored_parameters, requested, revision_from
from hearth.service.world import StoredWorld
from hearth.store import accept, reads
from hearth.store.rows import StackRow
from hearth.template import Program

log = logging.getLogger(__name__)


async def update_stack(house: House, caller: Caller, row: StackRow, wanted: Wanted) -> StackRow:
    """The stack in UPDATE_IN_PROGRESS. A refused request changes nothing. Raises Rejected."""
    if problem := refusal(Request.UPDATE, row.name, row.action, row.status):
        raise Rejected([problem])
    aim = await aim_of(house, caller, row, wanted)
    if ignored := ignored_parameters(wanted, aim.revision):
        log.warning("stack %s: its template has no %s: ignored", row.id, ", ".join(ignored))
    tags = wanted.tags
    if tags is None and not wanted.existing:
        tags = ()
    operation = accept.Operation(
        Action.UPDATE,
        aim.revision,
        timeout_mins=wanted.timeout_mins,
        disable_rollback=wanted.disable_rollback,
        tags=tags,
        requester=requester(caller),
        by=caller.user_name,
        told=_told(house, wanted),
        copy_of=wanted.revision,
    )
    now = house.clock.now()
    after = await house.store.run_once(
        lambda tx: accept.operate(tx, row.id, operation, now, house.new_id)
    )
    house.bus.tell()
    return after


def _told(house: House, wanted: Wanted) -> str | None:
    """What an update is told; None keeps what the last one was told."""
    return accept.CONVERGE if house.limits.observe_on_update else wanted.told


async def aim_of(house: House, caller: Caller, row: StackRow, wanted: Wanted) -> Aim:
    """What an update would lead to, checked. Raises Rejected."""
    current, before = await house.program(row)
    if wanted.revision is None:
        revision = await requested(house, caller, wanted, current)
    else:
        source = await stored_revision(house, row, wanted.revision)
        revision = await house.compute.run(
            revision_from,
            *(wanted, source, current),
            project=caller.project_id,
            characters=source.characters,
        )
    records = await house.store.read(lambda tx: reads.records(tx, row.id))
    there = reads.in_charge(records)
    world = StoredWorld(there, kinds=house.programs.types_of(there))
    program = await checked(house, caller, row, revision, world=world)
    _immutable(before, program)
    asked = _told(house, wanted)
    told = row.told if asked is None else asked
    return Aim(row, revision, program, records, observe=told == accept.CONVERGE)


async def delete_stack(house: House, caller: Caller, row: StackRow) -> None:
    """Begin the delete, or join the one that runs."""
    await demand_types_of(house, caller, row)
    operation = accept.Operation(Action.DELETE, requester=requester(caller), by=caller.user_name)
    now = house.clock.now()
    await house.store.run_once(lambda tx: accept.operate(tx, row.id, operation, now, house.new_id))
    house.bus.tell()


async def cancel_update(house: House, row: StackRow, *, rollback: bool) -> None:
    """Stop what runs. Raises Rejected where nothing can be cancelled."""
    now = house.clock.now()
    await house.store.run_once(lambda tx: accept.cancel(tx, row.id, rollback, now))
    house.bus.tell()


def _immutable(before: Program, after: Program) -> None:
    changed = [
        name
        for name, parameter in after.parameters.items()
        if parameter.schema is not None
        and parameter.schema.immutable
        and name in before.parameters
        and before.parameters[name].value != parameter.value
    ]
    if changed:
        raise Rejected([ImmutableParameterModified(None, tuple(changed))])
