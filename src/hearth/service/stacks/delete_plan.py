"""The plan of a delete: what happens to each resource of a stack and of its nested stacks."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from hearth.engine.core.plan import Plan, Target, plan
from hearth.engine.core.record import Record
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow


async def plan_delete(services: Services, row: StackRow) -> Plan:
    """Return the plan of a delete of a stack."""
    stacks, records = await services.store.read(lambda tx: _read_tree(tx, row))
    return _planned(services, row, stacks, records)


async def plans_of_removed(services: Services, ids: Iterable[str]) -> dict[str, Plan]:
    """Return the plan of the delete of each nested stack with one of these ids, by id."""

    def look(tx: Tx) -> dict[str, StackRow]:
        pairs = ((stack_id, reads.stack_by_physical_id(tx, stack_id)) for stack_id in ids)
        return {
            stack_id: row for stack_id, row in pairs if row is not None and row.deleted_at is None
        }

    rows = await services.store.read(look)
    return {stack_id: await plan_delete(services, row) for stack_id, row in rows.items()}


def _read_tree(tx: Tx, row: StackRow) -> tuple[dict[str, StackRow], dict[str, list[Record]]]:
    """Return the nested stacks by id, and the records of all stacks by the id of the stack."""
    below = {stack.id: stack for stack in reads.children(tx, row)}
    return below, reads.records_of(tx, [row.id, *below])


def _planned(
    services: Services,
    row: StackRow,
    stacks: Mapping[str, StackRow],
    records: Mapping[str, Sequence[Record]],
) -> Plan:
    own_records = sorted(records[row.id], key=lambda record: record.name)
    target = Target(row.revision, row.revision)
    own_plan = plan(
        own_records,
        None,
        target,
        new_id=services.new_id,
        now=services.clock.now(),
        holds_data=services.programs.holds_data,
    )
    below = {
        record.id: _planned(services, nested, stacks, records)
        for record in own_records
        if (nested := stacks.get(record.physical_id or ""))
        and record.held.deletion_policy != "Retain"
    }
    entries = [
        structs.replace(entry, inner=below.get(entry.record_id), reasons=())
        for entry in own_plan.entries
    ]
    return structs.replace(own_plan, entries=tuple(entries))
