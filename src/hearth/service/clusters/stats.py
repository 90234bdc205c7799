"""Numbers of clusters and nodes, and the conductors. Source: spec/clusters.md, 2.8."""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.service.caller import Caller
from hearth.service.clusters import fence
from hearth.service.clusters.quotas import demand_project
from hearth.service.services import Services
from hearth.store import cluster_quotas, cluster_tasks


async def stats(services: Services, caller: Caller, project_id: str | None) -> tuple[int, int]:
    """Return the numbers of clusters and of nodes in a project. Raises Rejected.

    Without a project, administrators get those of the whole cloud, others those of their project.
    """
    await demand_project(services, caller, "stats:get_all", project_id)
    if project_id is None and not services.cluster_policy.is_admin(caller):
        project_id = caller.project_id
    return await services.store.read(lambda tx: cluster_quotas.usage(tx, project_id))


async def conductors(services: Services, caller: Caller) -> Sequence[Mapping[str, Any]]:
    """Return the conductors with their states. Raises Rejected."""
    await fence.demand(services, "magnum-service:get_all", caller)
    down_after_s = services.clusters.down_after_s
    return await services.store.read(lambda tx: cluster_tasks.conductors(tx, down_after_s))
