"""The context that a resource type gets outside of operations, for attributes and signals."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Cloud
from hearth.engine.context import referred_metadata, resource_context
from hearth.engine.core.record import Record
from hearth.resources.base import ResourceContext, ResourceType
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import reads
from hearth.store.credentials import StackCredential
from hearth.store.database import Tx
from hearth.store.rows import StackRow


class RecordData(Struct, frozen=True):
    """What is stored beside a record: private data, metadata, and the stack's domain project."""

    data: Mapping[str, str]
    metadata: Any
    user_project_id: str | None


async def context_of(
    services: Services,
    caller: Caller,
    row: StackRow,
    record: Record,
    rtype: ResourceType,
    *,
    as_stack: bool = False,
) -> ResourceContext:
    """Return the context of a record, for use by its resource type.

    Its cloud uses the caller's token; if `as_stack` is true, it uses the stack's credential.
    """

    def look(tx: Tx) -> tuple[StackCredential | None, RecordData]:
        _, data, metadata = reads.data_of(tx, record.id)
        credential = reads.credential_of(tx, row) if as_stack else None
        # a caller that sees a user of the stack's project may see the project, too
        project_id = row.user_project_id or reads.user_project(tx, row.id)
        return credential, RecordData(data, metadata, project_id)

    credential, record_data = await services.store.read(look)
    cloud = services.clouds.of(row, credential) if as_stack else services.cloud(caller)
    return context_with(services, row, record, rtype, cloud, record_data)


def context_with(
    services: Services,
    row: StackRow,
    record: Record,
    rtype: ResourceType,
    cloud: Cloud,
    record_data: RecordData,
) -> ResourceContext:
    """Return the context of a record with these stored values and this cloud."""
    row = row.having(user_project_id=record_data.user_project_id)

    return resource_context(
        services,
        row,
        record,
        rtype,
        cloud,
        record.action,
        properties=record.held.properties,
        before=record.held.properties,
        data=record_data.data,
        metadata=record_data.metadata,
        users=services.clouds.users(row, lambda project_id: None),
        read_metadata=lambda reference: services.store.read(
            lambda tx: referred_metadata(tx, reads.records(tx, row.id), reference)
        ),
    )
