"""Change a cluster by PATCH: the number of its nodes, or the health that its software reports."""

from collections.abc import Mapping
from typing import Any

from hearth.clusters.health import bounded
from hearth.clusters.objects import Cluster
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
    changes: Mapping[str, Any],
    *,
    rollback: bool = False,
    version: tuple[int, int] = (1, 14),
) -> Cluster:
    """Change the health fields or the `node_count` of a cluster, and return the cluster.

    `node_count` is the number of nodes of the default worker group, and None means 1; it begins a
    resize with `rollback` and `version`. A change of health fields does not change the stack.
    Raises Rejected.
    """
    health = {name: value for name, value in changes.items() if name != "node_count"}
    if "health_status_reason" in health:
        health["health_status_reason"] = bounded(health["health_status_reason"] or {})
    if health:
        now = services.clock.now()

        def transaction(tx: Tx) -> Cluster:
            full = locked(tx, cluster)
            demand_state(full.cluster, SETTLED, "Update")
            after = clusters.at(full.cluster, **health, updated_at=now)
            clusters.save(tx, full, after, now=now)
            return after

        cluster = await services.store.run_once(transaction)
    if "node_count" not in changes:
        return cluster
    count = 1 if changes["node_count"] is None else changes["node_count"]
    return await resize_cluster(
        services,
        caller,
        cluster,
        count,
        (),
        None,
        version=version,
        rollback=rollback,
        states=SETTLED,
    )
