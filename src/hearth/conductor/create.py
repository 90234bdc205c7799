"""The steps of a task that creates a cluster: credential of the nodes, certificates, stack.

Source: spec/clusters.md, 4.2.
"""

import secrets

from msgspec.structs import replace

from hearth.clusters.definition import stack_request
from hearth.clusters.names import STACK_BITS, stack_name
from hearth.clusters.objects import Cluster
from hearth.conductor import stacks
from hearth.conductor.facts import facts_of
from hearth.conductor.work import Changed, Work
from hearth.service.clusters import certificates
from hearth.service.clusters.identity import NodeIdentity
from hearth.store import clusters
from hearth.store.clusters import Whole


async def identity(work: Work) -> None:
    """Create the identity that the nodes use to log in to the cloud."""
    identity_id = await NodeIdentity(work.services).create(work.cluster, work.caller)
    await work.commit("keys", lambda found: (_with(found, identity_id=identity_id), ()))


async def keys(work: Work) -> None:
    """Create the certificate authorities of the cluster and the service's client certificate.

    A cluster without TLS needs none.
    """
    if work.whole.template.tls_disabled:
        await work.commit("stack")
        return
    made = await certificates.make_all(work.services, work.cluster)
    refs = {name: getattr(made, name) for name in certificates.KINDS}
    await work.commit("stack", lambda found: (_with(found, **refs), ()))


async def stack(work: Work) -> None:
    """Request the stack of the cluster; store its id in the same transaction."""
    whole = work.whole
    asked = stack_request(
        whole.template, whole.cluster, whole.groups,
        files=work.files, config=work.services.clusters, facts=await facts_of(work),
    )  # fmt: skip
    name = stack_name(whole.cluster.name, secrets.randbits(STACK_BITS))

    def taken(found: Whole, stack_id: str) -> Changed:
        groups = [replace(group, stack_id=stack_id) for group in found.defaults]
        return _with(found, stack_id=stack_id), groups

    await stacks.create(work, name, asked, taken)


async def group_stack(work: Work) -> None:
    """Request the stack of an additional node group; store its id in the same transaction.

    If the group no longer exists, only end the task.
    """
    whole, group = work.whole, work.existing_group()
    if group is None:
        await work.commit(None)
        return
    asked = stack_request(
        whole.template, whole.cluster, whole.groups, group,
        files=work.files, config=work.services.clusters, facts=await facts_of(work, group),
    )  # fmt: skip
    name = stack_name(whole.cluster.name, secrets.randbits(STACK_BITS), group.name)

    def taken(found: Whole, stack_id: str) -> Changed:
        mine = [replace(g, stack_id=stack_id) for g in found.groups if g.uuid == group.uuid]
        return found.cluster, mine

    await stacks.create(work, name, asked, taken)


def _with(found: Whole, **values: str | None) -> Cluster:
    return clusters.at(found.cluster, **values)
