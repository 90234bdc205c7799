"""Store notifications about requests for clusters, both accepted and refused ones.

Nothing is stored unless notifications are enabled.
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
from hearth.clusters.task_content import (
    CreateCluster,
    CreateGroup,
    DeleteCluster,
    DeleteGroup,
    RotateCa,
    TaskContent,
    kind_of,
)
from hearth.service.caller import Caller
from hearth.service.services import Services
from hearth.store import outbox
from hearth.store.clusters import clusters
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

CLUSTER_ACTIONS = {kind_of(CreateCluster): CREATE, kind_of(DeleteCluster): DELETE}
"""The action in notifications, by the kind of the task; for all other kinds it is UPDATE."""


def initiator_of(caller: Caller) -> dict[str, str | None]:
    """Return the user who requests an operation, in the form of `Cluster.initiator`."""
    return {
        "user_id": caller.user_id,
        "project_id": caller.project_id,
        "domain_id": caller.user_domain_id,
    }


def accepted(tx: Tx, cluster_id: str, content: TaskContent, now: float) -> None:
    """Store a notification that a task was accepted."""
    if not tx.notifies:
        return
    full = clusters.load(tx, cluster_id)
    assert full is not None, "its row was just written"
    clusters.notify(tx, full.version, _pending(full, content), now)


def _pending(full: FullCluster, content: TaskContent) -> list[Notification]:
    cluster, groups = full.cluster, full.groups
    action = CLUSTER_ACTIONS.get(kind_of(type(content)), UPDATE)
    notifications = [of_cluster(action, PENDING, cluster, groups)]
    if isinstance(content, CreateGroup | DeleteGroup):
        group = next(candidate for candidate in groups if candidate.uuid == content.group)
        action = CREATE if isinstance(content, CreateGroup) else DELETE
        notifications.append(of_group(action, PENDING, group, cluster))
    if isinstance(content, RotateCa):
        notifications.append(of_certificate(UPDATE, PENDING, cluster, cluster.initiator))
    return notifications


async def refused(services: Services, caller: Caller, cluster: Cluster, kind: str) -> None:
    """Store a notification that an operation was refused because of the cluster's state.

    `kind` is the kind of its task.
    """
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
