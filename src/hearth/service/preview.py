"""Previews: what a create or an update would do. Nothing is stored."""

from typing import Any

from hearth.engine.core.decide import differing
from hearth.engine.core.plan import Foreseen, Target, plan
from hearth.engine.core.record import Record
from hearth.model.unknown import nulled
from hearth.service.caller import Caller
from hearth.service.create_stack import sketch
from hearth.service.house import House
from hearth.service.wanted import Wanted, check_name, checked, revision_of
from hearth.service.world import StoredWorld
from hearth.store import accept, reads
from hearth.store.rows import StackRow
from hearth.template import NOWHERE, Program, ResourceDefinition

GROUPS = ("added", "deleted", "replaced", "unchanged", "updated")


async def preview_create(
    house: House, caller: Caller, name: str, wanted: Wanted
) -> tuple[StackRow, Program, list[dict[str, Any]]]:
    """The stack as it would be: its row, its program, its resources. Raises Rejected."""
    check_name(name)
    revision = revision_of(wanted)
    new = accept.NewStack(
        id=house.new_id(),
        project_id=caller.project_id,
        name=name,
        revision=revision,
        timeout_mins=wanted.timeout_mins,
        disable_rollback=True if wanted.disable_rollback is None else wanted.disable_rollback,
        creator=caller.user_name,
        tags=wanted.tags or (),
    )
    row = sketch(new, house.clock.now())
    program = await checked(house, caller, row, revision)
    items = []
    for name_ in program.order:
        definition = program.resources[name_]
        evaluated = definition.check(NOWHERE)
        item = _item(row, name_, definition.type, definition)
        item["properties"] = nulled(evaluated.properties)
        item["metadata"] = nulled(evaluated.metadata)
        item["required_by"] = [n for n, needs in program.requires.items() if name_ in needs]
        items.append(item)
    return row, program, items


async def preview_update(
    house: House, caller: Caller, row: StackRow, wanted: Wanted
) -> dict[str, list[dict[str, Any]]]:
    """The resources by what would happen to them. Raises Rejected."""
    current, _ = await house.program(row)
    revision = revision_of(wanted, current)
    records = await house.store.read(lambda tx: reads.records(tx, row.id))
    chosen = reads.in_charge(records)
    world = StoredWorld(chosen)
    program = await checked(house, caller, row, revision, world=world)
    foreseen = plan(
        list(chosen.values()),
        program,
        Target(row.revision + 1, row.revision),
        new_id=house.new_id,
        now=house.clock.now(),
        examine=lambda record, definition, chosen: house.programs.kind_of(definition).nested,
    )
    by_id = {record.id: record for record in records}
    found: dict[str, list[dict[str, Any]]] = {group: [] for group in GROUPS}
    for entry in foreseen.entries:
        record = by_id.get(entry.record_id)
        definition = program.resources.get(entry.name)
        group = _group(entry.foreseen, record, definition, house, world)
        kind = definition.type if definition is not None else (record.type if record else "")
        found[group].append(_item(row, entry.name, kind, definition, record))
    return found


def _group(
    foreseen: Foreseen,
    record: Record | None,
    definition: ResourceDefinition | None,
    house: House,
    world: StoredWorld,
) -> str:
    match foreseen:
        case Foreseen.CREATE:
            return "added"
        case Foreseen.DELETE | Foreseen.RETAIN:
            return "deleted"
        case Foreseen.KEEP:
            return "unchanged"
    assert record is not None
    assert definition is not None
    kind = house.programs.kind_of(definition)
    if kind.nested:
        return "updated"
    if record.held.kind != kind.name or record.failed:
        return "replaced"
    after = nulled(definition.check(world).properties)
    changed = differing(record.held.written, after)
    if not changed:
        return "unchanged"
    fixed = [n for n in changed if n in kind.properties and not kind.properties[n].update_allowed]
    return "replaced" if fixed else "updated"


def _item(
    row: StackRow,
    name: str,
    kind: str,
    definition: ResourceDefinition | None,
    record: Record | None = None,
) -> dict[str, Any]:
    identity = {
        "tenant": row.project_id,
        "stack_name": row.name,
        "stack_id": row.id,
        "path": "",
    }
    return {
        "resource_name": name,
        "resource_type": kind,
        "resource_action": record.action.value if record else "INIT",
        "resource_status": record.status.value if record else "COMPLETE",
        "resource_status_reason": record.reason if record else "",
        "physical_resource_id": (record.physical_id or "") if record else "",
        "description": definition.description if definition is not None else "",
        "metadata": {},
        "attributes": {},
        "required_by": [],
        "creation_time": None,
        "updated_time": None,
        "stack_name": row.name,
        "resource_identity": {**identity, "path": f"/resources/{name}"},
        "stack_identity": identity,
    }
