"""The list of software deployments in a server's metadata, which agents in the server read.

Only changes of deployments write the list, and they lock the stack. So of two concurrent changes,
the second one sees the result of the first. Source: docs/spec/software-config.md, 4 and 9.
"""

from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from hearth.model.state import Action
from hearth.store import reads
from hearth.store.database import Tx
from hearth.store.software_deployments import configs_of
from hearth.store.tables import resource, resource_data, stack

DEPLOYMENTS = "deployments"


class ServerResource(Struct, frozen=True):
    """The ids of a resource that represents a server, and of its stack."""

    stack_id: str
    resource_id: str


def push(tx: Tx, project_id: str, server_id: str) -> list[ServerResource]:
    """Write the list of a server's deployments into the metadata of the resources that represent
    it.

    `server_id` is the server's id in Nova. Resources in all stacks of the project count. Return
    them; the list is empty if no resource represents the server.
    """
    servers = _standing_for(tx, project_id, server_id)
    if not servers:
        return []
    ids = sorted({server.stack_id for server in servers})
    tx.rows(sa.select(stack.c.id).where(stack.c.id.in_(ids)).order_by(stack.c.id).with_for_update())
    documents = [config.document() for config in configs_of(tx, project_id, server_id)]
    for server in servers:
        _write(tx, server, documents)
    return servers


def _standing_for(tx: Tx, project_id: str, server_id: str) -> list[ServerResource]:
    query = (
        sa.select(resource.c.id, resource.c.stack_id)
        .join(stack, stack.c.id == resource.c.stack_id)
        .where(
            resource.c.physical_id == server_id,
            resource.c.action != Action.DELETE.value,
            stack.c.project_id == project_id,
            stack.c.deleted_at.is_(None),
        )
        .order_by(resource.c.stack_id, resource.c.id)
    )
    return [ServerResource(row.stack_id, row.id) for row in tx.rows(query)]


def type_of(tx: Tx, project_id: str, server_id: str) -> str | None:
    """Return the type of a resource of the project that represents a server, as templates name it.

    A resource represents a server if its physical id is the id of the server and its delete has not
    begun. Of several resources, the one with the smallest stack id and resource id counts. Return
    None if there is none.
    """
    servers = _standing_for(tx, project_id, server_id)
    if not servers:
        return None
    query = sa.select(resource.c.type).where(resource.c.id == servers[0].resource_id)
    name: str | None = tx.value(query)
    return name


def _write(tx: Tx, server: ServerResource, documents: list[dict[str, Any]]) -> None:
    condition = resource_data.c.resource_id == server.resource_id
    tx.rows(sa.select(resource_data.c.version).where(condition).with_for_update())
    version, data, metadata = reads.data_of(tx, server.resource_id)
    before = metadata if isinstance(metadata, dict) else {}
    after = {**before, DEPLOYMENTS: documents}
    written = reads.set_data(tx, server.stack_id, server.resource_id, version, data, after)
    assert written, "the row is locked"


def kept(before: Any, after: Any) -> Any:
    """Return the metadata `after` with the list of deployments in `before`, if there is one.

    An engine writes metadata, but must not overwrite the list.
    """
    if isinstance(before, dict) and isinstance(after, dict) and DEPLOYMENTS in before:
        return {**after, DEPLOYMENTS: before[DEPLOYMENTS]}
    return after
