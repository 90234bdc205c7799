"""Federations: groups of clusters, which can only be stored.

No driver implements federations, so each one is created in CREATE_FAILED. Source:
docs/spec/clusters.md, 2.8.
"""

from collections.abc import Mapping
from uuid import UUID

from msgspec.structs import replace

from hearth.clusters.names import generated_name
from hearth.clusters.objects import Cluster, Federation
from hearth.clusters.problems import bad_request, conflict, not_found
from hearth.clusters.requests import FederationRequest
from hearth.clusters.states import CREATE_FAILED
from hearth.service.caller import Caller
from hearth.service.clusters.find import find_cluster
from hearth.service.services import Services
from hearth.store.clusters import find, rows
from hearth.store.database import Tx

DNS_ZONE = "dns-zone"
REASON = "Federations are not implemented. The description is kept, but nothing is created."


async def create_federation(
    services: Services, caller: Caller, request: FederationRequest
) -> Federation:
    """Store a federation and return it, in CREATE_FAILED.

    Raises Rejected if the property `dns-zone` is missing, or if a cluster does not exist.
    """
    if DNS_ZONE not in request.properties:
        raise bad_request(f"Property {DNS_ZONE} is mandatory. Add it to properties.")
    host = await find_cluster(services, caller, request.hostcluster_id)
    members = [
        (await find_cluster(services, caller, ident)).uuid
        for ident in dict.fromkeys(request.member_ids)
    ]
    uuid = services.new_id()
    new = Federation(
        uuid=uuid,
        name=request.name or generated_name(UUID(uuid).int, "federation"),
        project_id=caller.project_id,
        hostcluster_id=host.uuid,
        member_ids=members,
        properties=request.properties,
        status=CREATE_FAILED,
        status_reason=REASON,
        created_at=services.clock.now(),
    )
    return await services.store.run_once(lambda tx: rows.insert(tx, new))


async def change_federation(
    services: Services,
    federation: Federation,
    *,
    joined: Cluster | None = None,
    leaving: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> Federation:
    """Change a federation and return it.

    The cluster `joined` is added, the member with the UUID `leaving` is removed, and `properties`
    replace the present ones; None means no change. Raises Rejected if `joined` is already a member,
    if `leaving` is none, or if the federation no longer exists.
    """
    now = services.clock.now()

    def transaction(tx: Tx) -> Federation:
        current = _locked(tx, federation)
        members = list(current.member_ids)
        if joined is not None:
            if joined.uuid in members:
                raise conflict(
                    f"Cluster {joined.uuid} is already a member. It cannot be added again."
                )
            members.append(joined.uuid)
        if leaving is not None:
            if leaving not in members:
                raise not_found("member", leaving)
            members.remove(leaving)
        after = replace(
            current,
            member_ids=members,
            properties=current.properties if properties is None else properties,
            updated_at=now,
        )
        rows.update(tx, after)
        return after

    return await services.store.run_once(transaction)


async def delete_federation(services: Services, federation: Federation) -> None:
    """Delete a federation; its clusters stay. Raises Rejected if it no longer exists."""
    await services.store.run_once(lambda tx: rows.delete(tx, _locked(tx, federation)))


def _locked(tx: Tx, federation: Federation) -> Federation:
    matches = find.by_ident(tx, Federation, federation.uuid, lock=True)
    if not matches:
        raise not_found("federation", federation.name)
    return matches[0]
