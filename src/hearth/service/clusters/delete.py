"""Delete a cluster. A delete is accepted in every state and stops other operations of the
cluster.
"""

from hearth.clusters.follow import begun
from hearth.clusters.objects import Cluster
from hearth.clusters.states import DELETE_IN_PROGRESS
from hearth.clusters.task_content import DeleteCluster
from hearth.service.caller import Caller
from hearth.service.clusters.accept import Changed, begin
from hearth.service.services import Services
from hearth.store.clusters import tasks
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx


async def delete_cluster(
    services: Services, caller: Caller, cluster: Cluster, *, force: bool = False
) -> None:
    """Begin the delete of a cluster.

    If `force` is true, objects that users added to the cluster do not prevent the delete. They are
    detached, stay in the cloud, and are reported.
    """

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, DeleteCluster]:
        tasks.drop_of_cluster(tx, cluster.uuid)
        changed = begun(full.cluster, full.groups, DELETE_IN_PROGRESS)
        return changed, DeleteCluster(force=force)

    await begin(services, caller, cluster, DeleteCluster, change)
