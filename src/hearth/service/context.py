"""The context that a resource type gets outside of operations, for attributes and signals."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hearth.cloud.contract import Cloud
from hearth.engine.core.naming import physical_name
from hearth.engine.core.record import Record
from hearth.engine.deployments import StackDeployments
from hearth.engine.endpoints import stack_facts
from hearth.resources.base import ResourceContext, ResourceType
from hearth.resources.capabilities import ReportsResults
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import claim, reads
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

    async def metadata_of(reference: str) -> Mapping[str, Any]:
        return await services.store.read(lambda tx: _metadata_of(tx, row, reference))

    now = services.clock.now()
    deployments = None
    if isinstance(rtype, ReportsResults):
        deployments = StackDeployments(
            services.store, services.clouds, services.clock, services.new_id, row, record
        )
    return ResourceContext(
        record_id=record.id,
        name=record.name,
        type_name=record.type,
        stack=stack_facts(row, services.endpoints),
        action=record.action,
        physical_id=record.physical_id,
        physical_name=physical_name(row.name, record.name, record.id, rtype.physical_name_limit),
        key=record.id,
        properties=record.held.properties,
        cloud=cloud,
        before=record.held.properties,
        data=record_data.data,
        metadata=record_data.metadata,
        now=now,
        started_at=now,
        account_secret=lambda: services.store.sealer.fingerprint(["account", row.project_id]),
        secret=lambda: services.store.sealer.fingerprint(["secret", record.id]),
        kind=rtype,
        new_id=services.new_id,
        users=services.clouds.users(row, lambda project_id: None),
        read_metadata=metadata_of,
        deployments=deployments,
    )


def _metadata_of(tx: Tx, row: StackRow, reference: str) -> Any:
    for record in reads.records(tx, row.id):
        if reference in (record.held.reference, record.physical_id):
            return claim.metadata(tx, record.id)
    return {}
