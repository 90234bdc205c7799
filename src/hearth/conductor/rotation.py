"""The steps of tasks that replace a cluster's certificates or the credential of its nodes.

Certificates are replaced in two updates of the stack, while the nodes work. After the first, all
nodes trust the old and the new authorities; after the second, all nodes have certificates of the
new ones. Then the old ones are deleted. Source: docs/spec/clusters.md, section 10.
"""

from collections.abc import Collection, Sequence

from hearth.clusters.definition import MASTER_URL, NODE_URL, rotation_parameters
from hearth.clusters.notifications import SUCCESS
from hearth.clusters.objects import MASTER, WORKER, Cluster, NodeGroup
from hearth.clusters.task_content import RotateCa, RotateCredential
from hearth.conductor import stacks
from hearth.conductor.stacks import StackUpdate
from hearth.conductor.waiting import failure_reason, settled
from hearth.conductor.work import NextStep, Work
from hearth.service.clusters import certificates, notify
from hearth.service.clusters import rotation as rotations
from hearth.service.clusters.identity import NodeIdentity
from hearth.service.clusters.node_url import FORMER, credential_url
from hearth.store.clusters import clusters, tasks
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

TRUSTED, ISSUED = "trust", "issue"


async def begin(work: Work) -> None:
    """Create new key pairs, and update the stacks so that all nodes trust the old and new
    authorities.
    """
    await rotations.begin(work.services, work.cluster)
    await _deploy_again(work, TRUSTED, "trusted")


async def trusted(work: Work) -> None:
    """When all nodes trust both authorities, sign with the new ones and renew the nodes'
    certificates.

    The nodes are updated through their stacks.
    """
    if await _all_settled(work, "trusted"):
        await rotations.issue(work.services, work.cluster)
        await _deploy_again(work, ISSUED, "issued")


async def issued(work: Work) -> None:
    """When all nodes have new certificates, delete the old key pairs and end the task."""
    if not await _all_settled(work, "issued"):
        return

    def save(tx: Tx, after: Cluster) -> None:
        tasks.check(tx, work.task)
        refs = {name: getattr(after, name) for name in certificates.KINDS}
        now = work.services.clock.now()
        clusters.changed(tx, after.uuid, lambda full: clusters.at(full.cluster, **refs), now)

    await rotations.finish(work.services, work.cluster, save)
    now = work.services.clock.now()
    await work.commit(None, also=lambda tx: notify.rotated(tx, work.full, SUCCESS, now))


async def identity(work: Work) -> None:
    """Create a new credential for the nodes; the old one stays valid.

    Masters can prove to be masters only if the templates of all stacks pass them their own URL.
    """
    stack_parameters = [await _parameters(work, group) for group in _one_per_stack(work)]
    roles = all(MASTER_URL in parameters for parameters in stack_parameters)
    identity_id = await NodeIdentity(work.services).rotate(work.cluster, work.caller, roles=roles)

    def change(full: FullCluster) -> tuple[Cluster, Sequence[NodeGroup]]:
        return clusters.at(full.cluster, identity_id=identity_id), ()

    await work.commit("stack", change)


async def stack(work: Work) -> None:
    """Update the stacks so that all nodes fetch the new credential."""
    await _deploy_again(work, f"credential {work.task.id}", "done")


async def done(work: Work) -> None:
    """When all nodes have the new credential, delete the old one and end the task."""
    if await _all_settled(work, "done"):
        await NodeIdentity(work.services).drop_former(work.cluster, work.caller)
        await work.commit(None)


async def _deploy_again(work: Work, phase: str, step: str) -> None:
    """Update the stack of each group so that its nodes run their deployments again.

    `phase` is part of the parameter that causes this; `step` is the next step of the task.
    """
    groups = _one_per_stack(work)
    updated = set(_content(work).progress.updated_for(phase))
    remaining = [group for group in groups if group.stack_id not in updated]
    for number, group in enumerate(remaining, 1):
        updated.add(str(group.stack_id))
        last = number == len(remaining)
        current_step = work.task.step or "begin"
        parameters = rotation_parameters(f"{work.task.id}-{phase}") | await _urls(work, group)
        content = _content(work).with_updated(phase, sorted(updated))
        next_step = NextStep(step=step if last else current_step, content=content)
        if not await stacks.update(work, group, StackUpdate(parameters=parameters), next_step):
            return
    if not remaining:
        await work.commit(step)


def _content(work: Work) -> RotateCa | RotateCredential:
    """Return the content of the task, which must be a rotation."""
    if isinstance(work.task.content, RotateCa):
        return work.task.content
    return work.content(RotateCredential)


async def _urls(work: Work, group: NodeGroup) -> dict[str, str]:
    """Return the stack parameters with the URLs for the nodes of a group's stack.

    All nodes of a stack of an earlier version share one URL.
    """
    urls = {NODE_URL: WORKER, MASTER_URL: MASTER}
    if MASTER_URL not in await _parameters(work, group):
        urls = {NODE_URL: FORMER}
    elif not group.is_default:
        del urls[MASTER_URL]  # it has no masters
    credential_urls = {
        name: credential_url(work.services, work.cluster, role) for name, role in urls.items()
    }
    return {name: url for name, url in credential_urls.items() if url}


async def _parameters(work: Work, group: NodeGroup) -> Collection[str]:
    """Return the names of the parameters in the template of a group's stack."""
    _, program = await work.services.program(await stacks.row_of(work, group))
    return program.parameters.keys()


async def _all_settled(work: Work, step: str) -> bool:
    """Return whether the stacks of all groups have completed their update.

    While a stack is in progress, the task repeats `step` later. If a stack has failed, the
    old certificates are kept and the rotation fails.
    """
    for group in _one_per_stack(work):
        succeeded = await settled(work, group, step)
        if succeeded is None:
            return False
        if not succeeded:
            message = await failure_reason(work, group)
            await rotations.abandon(work.services, work.cluster)
            await work.fail(f"The rotation stopped at node group {group.name}: {message}")
            return False
    return True


def _one_per_stack(work: Work) -> list[NodeGroup]:
    """Return one group for each stack of the cluster."""
    by_stack = {group.stack_id: group for group in work.full.groups if group.stack_id}
    return list(by_stack.values())
