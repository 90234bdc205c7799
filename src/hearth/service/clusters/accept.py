"""Begin an operation of an existing cluster: check its state and store the task in one
transaction.
"""

from collections.abc import Callable, Sequence

from hearth.clusters.conditions import restarted
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.problems import ClusterProblem, WrongState, not_found
from hearth.clusters.task_content import C, details, kind_of
from hearth.service.caller import Caller
from hearth.service.clusters import notify
from hearth.service.clusters.tasks import hand_over
from hearth.service.services import Services
from hearth.store.clusters import clusters
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

Changed = tuple[Cluster, Sequence[NodeGroup]]


async def begin(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    content_type: type[C],
    change: Callable[[FullCluster, Tx], tuple[Changed, C]],
) -> Cluster:
    """Begin an operation on a cluster: store the changed cluster and a task for the conductors.

    `change` gets the locked cluster and the transaction. It returns the changed cluster with its
    changed groups, and the content of the task, which is a `content_type`. Return the cluster after
    the change. Raises Rejected if the cluster no longer exists or if `change` does.
    """
    now, kind = services.clock.now(), kind_of(content_type)

    def transaction(tx: Tx) -> Cluster:
        full = locked(tx, cluster)
        (after, groups), content = change(full, tx)
        after = clusters.at(restarted(after), updated_at=now, initiator=notify.initiator_of(caller))
        clusters.save(tx, full, after, groups, now=now)
        hand_over(tx, caller, cluster.uuid, content, now)
        body = {"by": caller.user_id, **details(content)}
        clusters.put_event(tx, cluster.uuid, f"cluster.{kind}", body, now)
        notify.accepted(tx, cluster.uuid, content, now)
        return after

    try:
        after = await services.store.run_once(transaction)
    except WrongState:
        await notify.refused(services, caller, cluster, kind)
        raise
    services.bus.tell()
    return after


def locked(tx: Tx, cluster: Cluster) -> FullCluster:
    """Return the cluster with its row locked. Raises Rejected if it was deleted in the meantime."""
    full = clusters.load(tx, cluster.uuid, lock=True)
    if full is None:
        raise not_found("cluster", cluster.name)
    return full


def demand_state(cluster: Cluster, states: frozenset[str], operation: str) -> None:
    """Raise WrongState unless the cluster is in one of these `states`.

    `operation` names the operation in the message.
    """
    if cluster.status not in states:
        message = (
            f"{operation} is not supported in this state. Cluster {cluster.name} is in "
            f"{cluster.status}."
        )
        raise WrongState([ClusterProblem(None, 400, message)])
