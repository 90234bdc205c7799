"""The steps of a task that upgrades a cluster: first the masters one by one, then the workers.

One update of the stack replaces the masters. Workers are replaced in batches: new workers are
created, and when Kubernetes reports them as ready, as many old ones are drained and removed. The
upgrade stops at the first failure; a repeated request continues it. Source: docs/spec/clusters.md,
section 12, item 4.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import structs, to_builtins
from msgspec.structs import replace

from hearth.clusters.definition import ClusterStack, upgrade_parameters
from hearth.clusters.health import reachable
from hearth.clusters.objects import ClusterTemplate, Labels, NodeGroup
from hearth.clusters.task_content import UpgradeCluster
from hearth.clusters.upgrading import Booted, WorkerStack, booted_by, in_stack, next_parameters
from hearth.conductor import stacks
from hearth.conductor.drain import drained, not_ready
from hearth.conductor.facts import facts_of, request_of
from hearth.conductor.kubernetes import SILENT, KubernetesApi, KubernetesError, kubernetes_api
from hearth.conductor.stacks import StackUpdate
from hearth.conductor.waiting import failure_reason, settled
from hearth.conductor.work import Changed, NextStep, Work
from hearth.service.clusters.members import members_of
from hearth.store.clusters import clusters
from hearth.store.clusters.clusters import FullCluster

LOOK_AGAIN_S = 1.0
LIMIT_S = 900.0
"""Maximum time in seconds for new workers to become ready, and for pods to leave old workers."""


async def masters(work: Work) -> None:
    """Update the masters. Existing workers stay unchanged, but new ones get the new image and
    version.
    """
    group = _default(work)
    content = work.content(UpgradeCluster).with_answers(await _answers(work))
    if group is None:
        await work.commit("workers", content=content)
        return
    cluster_stack, booted = await _target(work, group)
    worker_stack = await _workers(work, group)
    parameters = {
        "worker_generations": to_builtins(worker_stack.pinned(booted)),
        "number_of_minions": work.full.defaults[-1].node_count + worker_stack.temporary,
        "temporary_minions": worker_stack.temporary,
        "minions_to_remove": [],
    }
    stack_update = StackUpdate(parameters=parameters, cluster_stack=cluster_stack)
    next_step = NextStep(step="masters_done", content=content)
    await stacks.update(work, group, stack_update, next_step)


async def masters_done(work: Work) -> None:
    """When the update of the masters is complete, continue with the workers."""
    if await _succeeded(work, _default(work), "masters_done"):
        await work.commit("workers")


async def workers(work: Work) -> None:
    """Start the next batch: remove the workers that were drained, and create new ones.

    When no old workers are left, the update only removes drained ones. When all groups are done,
    end the task.
    """
    group = _next(work)
    if group is None:
        await work.commit(None, lambda full: _followed(work, full))
        return
    content = work.content(UpgradeCluster)
    cluster_stack, booted = await _target(work, group)
    worker_stack, drained_indexes = await _workers(work, group), content.progress.drained
    old = [index for index in worker_stack.old(booted) if index not in drained_indexes]
    batch = old[: content.batch]
    count = content.progress.count
    if count is None:  # a resize that is asked for meanwhile is carried out afterwards
        count = group.node_count
    parameters = next_parameters(
        worker_stack.pinned(booted),
        count=count,
        extra=len(batch),
        to_remove=drained_indexes,
        workers=len(worker_stack.indexes),
    )
    stack_update = StackUpdate(parameters=parameters, cluster_stack=cluster_stack)
    next_step = NextStep(step="workers_done", content=content.with_batch(count, batch))
    await stacks.update(work, group, stack_update, next_step)


async def workers_done(work: Work) -> None:
    """When the stack's update is complete, continue with the batch or with the next group."""
    group = _next(work)
    if not await _succeeded(work, group, "workers_done"):
        return
    content = work.content(UpgradeCluster)
    if content.progress.batch:
        await work.commit("ready", content=content.waiting(work.services.clock.now()))
        return
    done = content.with_group_done(None if group is None else group.uuid)
    await work.commit("workers", content=done)


async def ready(work: Work) -> None:
    """Wait until the new workers are ready in Kubernetes.

    If Kubernetes cannot be reached from here, do not wait.
    """
    group = _next(work)
    content = work.content(UpgradeCluster)
    if group is None or not content.progress.answers:
        await work.commit("drain")
        return
    _, booted = await _target(work, group)
    worker_stack = await _workers(work, group)
    old = worker_stack.old(booted)
    names = await _names(work, group, [index for index in worker_stack.indexes if index not in old])

    async def objection(api: KubernetesApi) -> str:
        unready = await not_ready(api, names)
        return f"New nodes are not ready: {', '.join(unready)}." if unready else ""

    if await _agrees(work, group, "ready", objection):
        await work.commit("drain", content=content.waiting(work.services.clock.now()))


async def drain(work: Work) -> None:
    """Drain the old workers of the batch, and delete their node objects in Kubernetes.

    If Kubernetes cannot be reached, record an event and continue without draining.
    """
    group, content = _next(work), work.content(UpgradeCluster)
    after = content.with_drained()
    if group is None:
        await work.commit("workers", content=after)
        return
    names = await _names(work, group, content.progress.batch)
    if not content.progress.answers:
        now, uuid = work.services.clock.now(), work.cluster.uuid
        body = {"group": group.name, "nodes": names, "reason": "Kubernetes cannot be reached."}
        await work.commit(
            "workers",
            content=after,
            also=lambda tx: clusters.put_event(tx, uuid, "nodegroup.not_drained", body, now),
        )
        return

    async def objection(api: KubernetesApi) -> str:
        pods = await drained(api, names)
        if pods:
            return f"Pods are still running on old nodes: {', '.join(pods[:10])}."
        for name in names:
            await api.forget(name)
        return ""

    if await _agrees(work, group, "drain", objection):
        await work.commit("workers", content=after)


async def _agrees(
    work: Work, group: NodeGroup, step: str, objection: Callable[[KubernetesApi], Awaitable[str]]
) -> bool:
    """Return whether Kubernetes answers and `objection` finds no reason to wait.

    `objection` returns the reason to wait, or an empty text. If there is a reason, `step` is
    repeated later; after LIMIT_S seconds the upgrade fails with that reason.
    """
    try:
        async with kubernetes_api(work.services, work.cluster) as api:
            reason = await objection(api)
    except (*SILENT, KubernetesError) as problem:
        reason = f"Kubernetes does not answer: {problem}"
    if not reason:
        return True
    if work.services.clock.now() - work.content(UpgradeCluster).progress.since > LIMIT_S:
        await work.fail(f"The upgrade of {group.name} stopped: {reason}")
    else:
        await work.commit(step, delay_s=LOOK_AGAIN_S)
    return False


async def _answers(work: Work) -> bool:
    """Return whether this process can reach the Kubernetes API of the cluster.

    If it cannot, nodes are replaced without being drained.
    """
    if not reachable(work.cluster) or work.cluster.api_address is None:
        return False
    try:
        async with kubernetes_api(work.services, work.cluster) as api:
            await api.text("/healthz")
    except SILENT:
        return False
    return True


def _default(work: Work) -> NodeGroup | None:
    """Return a default group that the upgrade includes, or None. Its stack contains the masters."""
    group_ids = set(work.content(UpgradeCluster).groups)
    return next((g for g in work.full.defaults if g.uuid in group_ids), None)


def _next(work: Work) -> NodeGroup | None:
    """Return the next group whose workers must be upgraded, or None.

    The masters' group is never returned, because they are upgraded with the default workers.
    """
    content = work.content(UpgradeCluster)
    group_ids, done = set(content.groups), set(content.progress.done)
    worker = work.full.defaults[-1]
    for group in (worker, *work.full.extras):
        if group.uuid in group_ids and group.uuid not in done:
            return group
    return None


async def _target(work: Work, group: NodeGroup) -> tuple[ClusterStack, Booted]:
    """Return the stack request for a group after the upgrade, and the image and version of its
    workers.
    """
    content = work.content(UpgradeCluster)
    template = await _template(work)
    extra = None if group.is_default else group
    facts = await facts_of(work, extra)
    request = request_of(work, facts, extra, template=template)
    facts = structs.replace(facts, kube_version=content.version or "")
    changes = upgrade_parameters(template, work.cluster, group, facts=facts)
    parameters = {**request.parameters, **changes}
    return structs.replace(request, parameters=parameters), booted_by(parameters)


async def _template(work: Work) -> ClusterTemplate:
    uuid = work.content(UpgradeCluster).template
    template = await work.services.store.read(lambda tx: clusters.template(tx, uuid))
    return template or work.full.template


async def _workers(work: Work, group: NodeGroup) -> WorkerStack:
    """Return the current workers of a group, from its stack."""
    row = await stacks.row_of(work, group)
    worker = work.full.defaults[-1] if group.is_default else group
    members = await members_of(work.services, work.cluster, worker.uuid)
    _, program = await work.services.program(row)
    parameters = {name: parameter.value for name, parameter in program.parameters.items()}
    return in_stack(
        parameters, [int(member.index) for member in members if member.index.isdecimal()]
    )


async def _names(work: Work, group: NodeGroup, indexes: Sequence[int]) -> list[str]:
    """Return the names of the nodes with these indexes, as the stack's template generates them."""
    row = await stacks.row_of(work, group)
    return [f"{row.name}-node-{index}" for index in indexes]


async def _succeeded(work: Work, group: NodeGroup | None, step: str) -> bool:
    """Return whether the update of the group's stack succeeded; true if there is no group.

    While the update is in progress, the task repeats `step` later. If the update has
    failed, the upgrade fails.
    """
    if group is None:
        return True
    succeeded = await settled(work, group, step)
    if succeeded is False:
        await work.fail(f"The upgrade of {group.name} stopped: {await failure_reason(work, group)}")
    return bool(succeeded)


def _followed(work: Work, full: FullCluster) -> Changed:
    """Return the upgraded groups with their new image, and the cluster with its new template.

    The cluster gets the new template only if a default group was upgraded.
    """
    content = work.content(UpgradeCluster)
    group_ids = set(content.groups)
    groups = [
        replace(group, image_id=content.image, labels=_tagged(group.labels, content))
        for group in full.groups
        if group.uuid in group_ids
    ]
    cluster = full.cluster
    if any(group.is_default for group in groups):
        cluster = clusters.at(
            cluster,
            cluster_template_id=content.template,
            labels=_tagged(cluster.labels, content),
            coe_version=content.version or cluster.coe_version,
        )
    return cluster, groups


def _tagged(labels: Labels, content: UpgradeCluster) -> Labels:
    """Return the labels with the version of Kubernetes after the upgrade.

    The label is set if it was set before or if the new template has it; it is removed if the
    version is unknown.
    """
    other_labels = {name: value for name, value in labels.items() if name != "kube_tag"}
    tag = content.kube_tag or (content.version if "kube_tag" in labels else None)
    return {**other_labels, "kube_tag": tag} if tag else other_labels
