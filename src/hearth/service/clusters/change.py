"""Change a cluster by PATCH: the number of its nodes, or the health that its software reports."""

from msgspec import UNSET
from msgspec.structs import replace

from hearth.clusters.health import bounded
from hearth.clusters.objects import Cluster
from hearth.clusters.requests import ClusterChanges, ResizeRequest, set_fields
from hearth.clusters.states import SETTLED
from hearth.service.caller import Caller
from hearth.service.clusters.accept import demand_state, locked
from hearth.service.clusters.resize import resize_cluster
from hearth.service.services import Services
from hearth.store.clusters import clusters
from hearth.store.database import Tx


async def change_cluster(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    changes: ClusterChanges,
    *,
    rollback: bool = False,
) -> Cluster:
    """Change the fields of a cluster, and return the cluster. Raises Rejected.

    `node_count` is the number of nodes of the default worker group; it begins a resize with
    `rollback`. A change of other fields does not change the stack.
    """
    if changes.health_status_reason is not UNSET:
        changes = replace(changes, health_status_reason=bounded(changes.health_status_reason))
    if values := set_fields(replace(changes, node_count=UNSET)):
        now = services.clock.now()

        def transaction(tx: Tx) -> Cluster:
            full = locked(tx, cluster)
            demand_state(full.cluster, SETTLED, "Update")
            after = clusters.at(full.cluster, **values, updated_at=now)
            clusters.save(tx, full, after, now=now)
            return after

        cluster = await services.store.run_once(transaction)
    if changes.node_count is UNSET:
        return cluster
    request = ResizeRequest(changes.node_count, rollback=rollback)
    return await resize_cluster(services, caller, cluster, request, states=SETTLED)
