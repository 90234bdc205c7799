"""Store notifications about requests for clusters, both accepted and refused ones.

Nothing is stored unless notifications are enabled. `kind` is the kind of the task.
"""

from hearth.clusters.notifications import (
    CREATE,
    DELETE,
    FAILURE,
    PENDING,
    SUCCESS,
    UPDATE,
    Notification,
    of_certificate,
    of_cluster,
    of_group,
)
from hearth.clusters.objects import Cluster
from hearth.service.caller import Caller
from hearth.service.clusters import tasks
from hearth.service.services import Services
from hearth.store import outbox
from hearth.store.clusters import clusters
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

GROUP_ACTIONS = {tasks.GROUP_CREATE: CREATE, tasks.GROUP_DELETE: DELETE}
CLUSTER_ACTIONS = {tasks.CREATE: CREATE, tasks.DELETE: DELETE}
"""The action in notifications, by the kind of the task; for all other kinds it is UPDATE."""


def initiator_of(caller: Caller) -> dict[str, str | None]:
    """Return the user who requests an operation, in the form of `Cluster.initiator`."""
    return {
        "user_id": caller.user_id,
        "project_id": caller.project_id,
        "domain_id": caller.user_domain_id,
    }


def accepted(
    tx: Tx, cluster_id: str, kind: str, now: float, *, group_id: str | None = None
) -> None:
    """Store a notification that a task was accepted.

    `group_id` is the UUID of the node group that the task creates or deletes, if any.
    """
    if not tx.notifies:
        return
    full = clusters.load(tx, cluster_id)
    assert full is not None, "its row was just written"
    clusters.notify(tx, full.version, _pending(full, kind, group_id), now)


def _pending(full: FullCluster, kind: str, group_id: str | None) -> list[Notification]:
    cluster, groups = full.cluster, full.groups
    notifications = [of_cluster(CLUSTER_ACTIONS.get(kind, UPDATE), PENDING, cluster, groups)]
    if kind in GROUP_ACTIONS:
        group = next(candidate for candidate in groups if candidate.uuid == group_id)
        notifications.append(of_group(GROUP_ACTIONS[kind], PENDING, group, cluster))
    if kind == tasks.ROTATE_CA:
        notifications.append(of_certificate(UPDATE, PENDING, cluster, cluster.initiator))
    return notifications


async def refused(services: Services, caller: Caller, cluster: Cluster, kind: str) -> None:
    """Store a notification that an operation was refused because of the cluster's state."""
    if not services.store.notifies:
        return
    ident, now = services.new_id(), services.clock.now()

    def transaction(tx: Tx) -> None:
        full = clusters.load(tx, cluster.uuid)
        if full is not None:
            attempted = clusters.at(full.cluster, initiator=initiator_of(caller))
            action = CLUSTER_ACTIONS.get(kind, UPDATE)
            failure = of_cluster(action, FAILURE, attempted, full.groups)
            outbox.put_cluster(tx, ident, failure, now)

    await services.store.run(transaction)


async def signed(services: Services, caller: Caller, cluster: Cluster, **facts: object) -> None:
    """Store a notification that a certificate was signed; `facts` are added to it."""
    if not services.store.notifies:
        return
    ident, now = services.new_id(), services.clock.now()
    about = of_certificate(CREATE, SUCCESS, cluster, initiator_of(caller), **facts)
    await services.store.run(lambda tx: outbox.put_cluster(tx, ident, about, now))


def rotated(tx: Tx, full: FullCluster, outcome: str, now: float) -> None:
    """Store a notification that a certificate rotation has ended with this outcome."""
    cluster = full.cluster
    notification = of_certificate(UPDATE, outcome, cluster, cluster.initiator)
    clusters.notify(tx, full.version, [notification], now)
