"""Statistics: the numbers of clusters and nodes, and the list of conductors.

Source: docs/spec/clusters.md, 2.8.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hearth.service.caller import Caller
from hearth.service.clusters import fence
from hearth.service.clusters.quotas import demand_project
from hearth.service.services import Services
from hearth.store.clusters import quotas, tasks


async def stats(services: Services, caller: Caller, project_id: str | None) -> tuple[int, int]:
    """Return (number of clusters, number of nodes) of a project; masters count as nodes.

    If `project_id` is None, administrators get the numbers of the whole cloud, others those of
    their own project. Raises Rejected if the caller may not read them.
    """
    await demand_project(services, caller, "stats:get_all", project_id)
    if project_id is None and not services.cluster_policy.is_admin(caller):
        project_id = caller.project_id
    return await services.store.read(lambda tx: quotas.usage(tx, project_id))


async def conductors(services: Services, caller: Caller) -> Sequence[Mapping[str, Any]]:
    """Return the conductors as `store.clusters.tasks.conductors` does.

    Raises Rejected if the policy does not allow it.
    """
    await fence.demand(services, "magnum-service:get_all", caller)
    down_after_s = services.clusters.down_after_s
    return await services.store.read(lambda tx: tasks.conductors(tx, down_after_s))
