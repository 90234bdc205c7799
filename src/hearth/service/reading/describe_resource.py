"""Read one resource with its metadata; each server with cfn-style polling does so every 30 seconds.

Therefore it must be cheap: usually one transaction with a few statements, no cloud call, and the
program of the stack only if the description is not cached.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hearth.engine.core.record import Record
from hearth.model.problem import EntityNotFound, rejection
from hearth.service.caller import Caller
from hearth.service.reading.resources import find_resource, guest_may, metadata_for
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.rows import StackRow


class Described(Struct, frozen=True):
    """A resource of a stack with its metadata and with its description in the template."""

    stack: StackRow
    record: Record
    metadata: Any
    description: str


async def describe_resource(
    services: Services, caller: Caller, identity: str, name: str
) -> Described:
    """Return a resource of a stack in the caller's project. Raises Rejected.

    `identity` is the name or id of the stack. `guest_may` states what a stack domain user may read.
    """

    def look(tx: Tx) -> tuple[StackRow | None, Record | None, dict[str, str], Any]:
        row = reads.find_stack(tx, caller.project_id, identity)
        if row is None:
            return None, None, {}, None
        record = reads.record_for(tx, row.id, name, caller.guest_id)
        if record is None:
            return row, None, {}, None
        _, data, metadata = reads.data_of(tx, record.id)
        return row, record, data, metadata

    row, record, data, metadata = await services.store.read(look)
    if row is None:
        raise rejection(EntityNotFound, "Stack", identity)
    if record is None:
        record = await find_resource(services, row, name)  # raises
    await guest_may(services, caller, row, record, data)
    visible_metadata = await metadata_for(services, caller, row, record, metadata)
    return Described(row, record, visible_metadata, await services.description(row, name))


async def secret_of_guest(
    services: Services, caller: Caller, params: Mapping[str, str], access: str
) -> str | None:
    """Return the secret of the access key `access`, or None.

    It is None unless the key belongs to the caller and to the resource in the request. `params` are
    the parameters of DescribeStackResource.
    """

    def look(tx: Tx) -> dict[str, str]:
        row = reads.find_stack(tx, caller.project_id, params.get("StackName", ""))
        name = params.get("LogicalResourceId", "")
        record = row and reads.record_for(tx, row.id, name, caller.guest_id)
        return reads.data_of(tx, record.id)[1] if record else {}

    data = await services.store.read(look)
    is_own = data.get("user_id") == caller.user_id and data.get("access_key") == access
    return data.get("secret_key") if is_own else None
