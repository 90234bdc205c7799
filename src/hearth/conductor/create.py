"""The steps of a task that creates a cluster: credential of the nodes, certificates, stack.

Source: docs/spec/clusters.md, 4.2.
"""

import secrets

from msgspec.structs import replace

from hearth.clusters.names import STACK_BITS, stack_name
from hearth.clusters.objects import Cluster
from hearth.clusters.task_content import CreateGroup
from hearth.conductor import stacks
from hearth.conductor.facts import facts_of, has_key_pair, request_of
from hearth.conductor.work import Changed, Work
from hearth.service.clusters import certificates
from hearth.service.clusters.identity import NodeIdentity
from hearth.store.clusters import clusters
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx


async def identity(work: Work) -> None:
    """Create the identity that the nodes use to log in to the cloud."""
    identity_id = await NodeIdentity(work.services).create(work.cluster, work.caller)
    await work.commit("keys", lambda full: (_with(full, identity_id=identity_id), ()))


async def keys(work: Work) -> None:
    """Create the certificate authorities of the cluster and the service's client certificate.

    A cluster without TLS needs none.
    """
    if work.full.template.tls_disabled:
        await work.commit("stack")
        return
    with_keys = await certificates.make_all(work.services, work.cluster)
    refs = {name: getattr(with_keys, name) for name in certificates.KINDS}
    await work.commit("stack", lambda full: (_with(full, **refs), ()))


async def stack(work: Work) -> None:
    """Request the stack of the cluster; store its id in the same transaction."""
    request = request_of(work, await facts_of(work))
    name = stack_name(work.cluster.name, secrets.randbits(STACK_BITS))

    def change(current: FullCluster, stack_id: str) -> Changed:
        groups = [replace(group, stack_id=stack_id) for group in current.defaults]
        return _with(current, stack_id=stack_id), groups

    await stacks.create(work, name, request, change)


async def group_stack(work: Work) -> None:
    """Request the stack of an additional node group; store its id in the same transaction.

    Its nodes get no key pair if the caller has none with the name that the cluster uses. If the
    group no longer exists, only end the task.
    """
    full = work.full
    group = work.existing_group(work.content(CreateGroup).group)
    if group is None:
        await work.commit(None)
        return
    facts = await facts_of(work, group)
    has_key = await has_key_pair(work)
    request = request_of(work, replace(facts, keypair=has_key), group)
    name = stack_name(full.cluster.name, secrets.randbits(STACK_BITS), group.name)

    def change(current: FullCluster, stack_id: str) -> Changed:
        changed_groups = [
            replace(g, stack_id=stack_id) for g in current.groups if g.uuid == group.uuid
        ]
        return current.cluster, changed_groups

    def note(tx: Tx) -> None:
        body = {"group": group.name, "key_pair": full.cluster.keypair, "by": work.caller.user_id}
        now = work.services.clock.now()
        clusters.put_event(tx, full.cluster.uuid, "nodegroup.without_key_pair", body, now)

    await stacks.create(work, name, request, change, None if has_key else note)


def _with(full: FullCluster, **values: str | None) -> Cluster:
    return clusters.at(full.cluster, **values)
