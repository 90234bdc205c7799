"""One resource with its metadata. Each server polls it every 30 seconds.

It must therefore be cheap: one transaction of at most four statements, no cloud call, no program.
"""

from collections.abc import Mapping
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
    """A resource with its metadata and its description in the template."""

    stack: StackRow
    record: Record
    metadata: Any
    description: str


async def describe_resource(
    services: Services, caller: Caller, identity: str, name: str
) -> Described:
    """Return the resource of a stack in the caller's project. Raises Rejected.

    A stack domain user may read only the resource for which it was created.
    """

    def look(tx: Tx) -> tuple[StackRow | None, Record | None, dict[str, str], Any]:
        row = reads.find_stack(tx, caller.project_id, identity)
        if row is None:
            return None, None, {}, None
        record = reads.record_in_charge(tx, row.id, name)
        if record is None:
            return row, None, {}, None
        _, data, metadata = reads.data_of(tx, record.id)
        return row, record, data, metadata

    row, record, data, metadata = await services.store.read(look)
    if row is None:
        raise Rejected([EntityNotFound(None, "Stack", identity)])
    if record is None:
        record = await find_resource(services, row, name)  # raises
    await guest_may(services, caller, row, record, data)
    return Described(row, record, metadata, await services.description(row, name))


async def secret_of_guest(
    services: Services, caller: Caller, params: Mapping[str, str], access: str
) -> str | None:
    """Return the secret of an access key if the key belongs to the resource in a request; else
    None.

    `params` are the parameters of DescribeStackResource.
    """

    def look(tx: Tx) -> dict[str, str]:
        row = reads.find_stack(tx, caller.project_id, params.get("StackName", ""))
        name = params.get("LogicalResourceId", "")
        found = row and reads.record_in_charge(tx, row.id, name)
        return reads.data_of(tx, found.id)[1] if found else {}

    data = await services.store.read(look)
    own = data.get("user_id") == caller.user_id and data.get("access_key") == access
    return data.get("secret_key") if own else None
