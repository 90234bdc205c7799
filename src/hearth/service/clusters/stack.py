"""The request for the stack of a new cluster, and the facts that the request needs.

Source: docs/spec/clusters.md, 4.3.
"""

from hearth.clusters.definition import ClusterFacts, ClusterStack
from hearth.clusters.objects import MASTER, WORKER, Cluster, ClusterTemplate
from hearth.service.caller import Caller
from hearth.service.clusters.cloud_checks import kubernetes_version
from hearth.service.clusters.node_url import credential_url
from hearth.service.services import Services
from hearth.service.stacks.request import StackRequest


async def facts_of_cluster(
    services: Services, caller: Caller, template: ClusterTemplate, cluster: Cluster
) -> ClusterFacts:
    """Return the facts for the stack of a cluster: addresses, region, and the Kubernetes version.

    Raises Rejected, CloudFault.
    """
    return ClusterFacts(
        auth_url=services.endpoints.identity,
        magnum_url=services.clusters.url,
        region=services.endpoints.region or "",
        kube_version=await kubernetes_version(services, caller, template) or "",
        credential_url=credential_url(services, cluster, WORKER),
        master_credential_url=credential_url(services, cluster, MASTER),
    )


def requested(cluster_stack: ClusterStack) -> StackRequest:
    """Convert the stack of a cluster to a request to the stack service."""
    return StackRequest(
        template=cluster_stack.template,
        files=cluster_stack.files,
        environment_files=cluster_stack.environment_files,
        parameters=cluster_stack.parameters,
        timeout_mins=cluster_stack.timeout_mins,
        disable_rollback=True,
        tags=cluster_stack.tags,
    )
