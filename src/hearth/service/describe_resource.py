"""One resource with its metadata, as guests poll it every half minute for ever.

It has to be cheap: one transaction of four statements at most, no call to the cloud, no program.
"""

from dataclasses import dataclass
from typing import Any

from hearth.engine.core.record import Record
from hearth.model.problem import EntityNotFound, Rejected
from hearth.service.caller import Caller
from hearth.service.resources import find_resource, guest_may
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow


@dataclass(frozen=True)
class Described:
    """A resource, what guests are told by it, and what the template says of it."""

    stack: StackRow
    record: Record
    metadata: Any
    description: str


async def describe_resource(
    services: Services, caller: Caller, identity: str, name: str
) -> Described:
    """The resource of a stack of the caller's project. Raises Rejected.

    A user of a stack's own project reaches the resource that it was made for.
    """

    def look(tx: Tx) -> tuple[StackRow | None, Record | None, dict[str, str], Any]:
        row = reads.find_stack(tx, caller.project_id, identity)
        if row is None:
            return None, None, {}, None
        record = reads.in_charge(reads.records_named(tx, row.id, name)).get(name)
        if record is None:
            return row, None, {}, None
        _, data, metadata = reads.data_of(tx, record.id)
        return row, record, data, metadata

    row, record, data, metadata = await services.store.read(look)
    if row is None:
        raise Rejected([EntityNotFound(None, "Stack", identity)])
    if record is None:
        record = await find_resource(services, row, name)  # refuses, and says whether it is to come
    await guest_may(services, caller, row, record, data)
    return Described(row, record, metadata, await services.description(row, name))
