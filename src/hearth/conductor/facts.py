"""The stack request of a cluster, and the values that it needs from the cloud.

Source: docs/spec/clusters.md, 4.3 and 5.
"""

from msgspec.structs import replace

from hearth.clusters.definition import ClusterFacts, ClusterNetwork, ClusterStack, stack_request
from hearth.clusters.objects import ClusterTemplate, NodeGroup
from hearth.clusters.problems import conflict
from hearth.conductor.stacks import row_of
from hearth.conductor.work import Work
from hearth.model.problem import Rejected
from hearth.service.clusters.cloud_lookup import keypair
from hearth.service.clusters.stack import facts_of_cluster
from hearth.service.reading.outputs import outputs
from hearth.store import reads


async def facts_of(work: Work, group: NodeGroup | None = None) -> ClusterFacts:
    """Return the values for the stack of the cluster or, if `group` is given, of an additional
    group.

    Raises Rejected.
    """
    template, cluster = work.full.template, work.cluster
    facts = await facts_of_cluster(work.services, work.caller, template, cluster)
    return facts if group is None else replace(facts, existing=await _network(work))


def request_of(
    work: Work,
    facts: ClusterFacts,
    group: NodeGroup | None = None,
    *,
    template: ClusterTemplate | None = None,
) -> ClusterStack:
    """Return the stack of the cluster or, if `group` is given, of an additional group.

    `template` is the one after an upgrade; None stands for that of the cluster.
    """
    return stack_request(
        template or work.full.template,
        work.cluster,
        work.full.groups,
        group,
        files=work.files,
        config=work.services.clusters,
        facts=facts,
    )


async def has_key_pair(work: Work) -> bool:
    """Return whether the caller has the key pair of the cluster; true if the cluster has none.

    Raises CloudFault.
    """
    if work.cluster.keypair is None:
        return True
    try:
        await keypair(work.services.cloud(work.caller), work.cluster.keypair)
    except Rejected:
        return False
    return True


async def _network(work: Work) -> ClusterNetwork:
    """Return ids and addresses of the cluster's network, from the resources and outputs of its
    stack.

    The API address is the one that nodes can reach inside the network, if there is one. Raises
    Rejected if the stack does not have these values.
    """
    row = await row_of(work, work.full.defaults[0])
    records = reads.in_charge(await work.services.store.read(lambda tx: reads.records(tx, row.id)))
    values = {output.key: output.value for output in await outputs(work.services, work.caller, row)}
    network, group = records.get("network"), records.get("secgroup_kube_minion")
    switch = records.get("api_address_lb_switch")  # nodes need not reach the public address
    inside = None if switch is None else switch.held.attributes.get("private_ip")
    address = inside or values.get("api_address")
    if network is None or group is None or not group.physical_id or not address:
        message = "has no network, no security group or no API address yet"
        raise conflict(f"The stack of cluster {work.cluster.name} {message}.")
    attributes = network.held.attributes
    return ClusterNetwork(
        network_id=str(attributes["fixed_network"]),
        subnet_id=str(attributes["fixed_subnet"]),
        security_group_id=group.physical_id,
        api_address=str(address),
    )
