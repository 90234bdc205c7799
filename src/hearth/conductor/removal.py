"""The steps of tasks that delete a cluster or a group: stacks, certificates, identity, rows."""

from hearth.clusters.task_content import CleanUp, DeleteCluster, DeleteGroup
from hearth.conductor import blockers, stacks
from hearth.conductor.work import Work
from hearth.service.clusters import certificates
from hearth.service.clusters.identity import NodeIdentity
from hearth.store.clusters import clusters, tasks
from hearth.store.clusters.tasks import Task
from hearth.store.database import Tx

DETACH_S = 60.0
LOOK_AGAIN_S = 1.0


async def detach(work: Work) -> None:
    """Detach the objects that users added to the cluster.

    The step is repeated until no object prevents the delete, or for 60 seconds. Detached objects
    stay in the cloud; `status_reason` and an event list them.
    """
    now = work.services.clock.now()
    content = work.content(DeleteCluster)
    begun_at = content.progress.detaching_since
    since = now if begun_at is None else begun_at
    ids = [group.stack_id for group in work.full.groups if group.stack_id]
    owned = await work.services.store.read(lambda tx: blockers.created_objects(tx, ids))
    cloud = work.services.cloud(work.caller)
    blocking = await blockers.blockers(cloud, owned)
    if not blocking or now - since > DETACH_S:
        await work.commit("stacks")
        return
    done = [blocker for blocker in blocking if await blockers.detach(cloud, blocker)]
    texts = (blocker.text for blocker in done)
    detached = list(dict.fromkeys([*content.progress.detached, *texts]))
    reason = f"Detached from the cluster and left in the cloud: {', '.join(detached)}."

    def also(tx: Tx) -> None:
        if done:
            body = {"objects": [blocker.facts for blocker in done]}
            clusters.put_event(tx, work.cluster.uuid, "cluster.detached", body, now)

    await work.commit(
        "detach",
        (lambda full: (clusters.at(full.cluster, status_reason=reason), ())) if detached else None,
        content=content.detaching(since, detached),
        delay_s=LOOK_AGAIN_S,
        also=also,
    )


async def all_stacks(work: Work) -> None:
    """Request the delete of all stacks. The synchronisation notices when they are deleted.

    If the cluster has no stack, queue the task that deletes its certificates, identity and rows.
    """
    full = work.full
    ordered = [*full.extras, *full.defaults]
    if any(group.stack_id for group in ordered):
        await stacks.delete(work, [group.uuid for group in ordered], step=None)
        return
    now = work.services.clock.now()

    def also(tx: Tx) -> None:
        tasks.put(tx, Task(cluster_id=full.cluster.uuid, content=CleanUp()), now)

    await work.commit(None, also=also)


async def group_stack(work: Work) -> None:
    """Request the delete of an additional group's stack; without a stack, delete the group's row.

    If the group no longer exists, only end the task.
    """
    group = work.existing_group(work.content(DeleteGroup).group)
    if group is None:
        await work.commit(None)
    elif group.stack_id:
        await stacks.delete(work, [group.uuid], step=None)
    else:
        now = work.services.clock.now()
        await work.commit(None, also=lambda tx: clusters.drop_group(tx, work.full, group, now))


async def keys(work: Work) -> None:
    """Delete the stored key pairs of the cluster."""
    await certificates.drop_all(work.services, work.cluster)
    await work.commit("identity")


async def identity(work: Work) -> None:
    """Delete the identity that the nodes used to log in to the cloud."""
    caller = work.caller if work.caller.token else None
    await NodeIdentity(work.services).delete(work.cluster, caller)
    await work.commit("rows")


async def rows(work: Work) -> None:
    """Delete the database rows of the cluster and end the task."""
    now = work.services.clock.now()
    await work.commit(None, also=lambda tx: clusters.remove(tx, work.full, now))
