"""Upgrade a cluster to another template. Nodes are replaced in batches, masters first.

Source: docs/spec/clusters.md, section 7 and section 12, item 4.
"""

from collections.abc import Sequence

from hearth.clusters.follow import begun, changeable, never_created
from hearth.clusters.objects import Cluster, ClusterTemplate, NodeGroup
from hearth.clusters.problems import bad_request, conflict, not_found
from hearth.clusters.requests import UpgradeRequest
from hearth.clusters.states import FAILED, SETTLED, UPDATE_FAILED, UPDATE_IN_PROGRESS
from hearth.clusters.task_content import UpgradeCluster
from hearth.clusters.versions import skew_problem, tag_problem
from hearth.service.caller import Caller
from hearth.service.clusters.accept import Changed, begin, demand_state
from hearth.service.clusters.cloud_checks import kubernetes_version
from hearth.service.clusters.drivers import driver_of
from hearth.service.clusters.find import template_for_clusters
from hearth.service.services import Services
from hearth.store.clusters.clusters import FullCluster
from hearth.store.database import Tx

ALLOWED = SETTLED | {UPDATE_FAILED}
"""The states in which an upgrade may begin. An upgrade that stopped at a failed node is resumed by
the same request.
"""


async def upgrade_cluster(
    services: Services,
    caller: Caller,
    cluster: Cluster,
    request: UpgradeRequest,
) -> Cluster:
    """Begin to upgrade a cluster to a template; return the cluster in UPDATE_IN_PROGRESS.

    Raises CloudFault, and Rejected if the template does not exist, or if the driver, the version of
    Kubernetes or the state of the cluster does not allow the upgrade.
    """
    template = await template_for_clusters(services, caller, request.cluster_template)
    if template is None:
        raise not_found("cluster template", request.cluster_template)
    tag = template.labels.get("kube_tag") or None
    of_image = await kubernetes_version(services, caller, template)
    if problem := tag_problem(tag, template.image_id, of_image):
        raise bad_request(problem)
    new_version = of_image or tag

    def change(full: FullCluster, tx: Tx) -> tuple[Changed, UpgradeCluster]:
        demand_state(full.cluster, ALLOWED, "Upgrade")
        _check_driver(services, full, template)
        if problem := skew_problem(full.cluster.coe_version, new_version):
            raise bad_request(problem)
        groups: Sequence[NodeGroup] = list(filter(changeable, full.groups))
        if request.nodegroup is not None:
            groups = _one_group(full, request.nodegroup, template)
        content = UpgradeCluster(
            template=template.uuid,
            batch=request.max_batch_size,
            groups=tuple(group.uuid for group in groups),
            image=template.image_id,
            version=new_version,
            kube_tag=tag,
        )
        after, changed_groups = begun(full.cluster, groups, UPDATE_IN_PROGRESS)
        return (after, changed_groups), content

    return await begin(services, caller, cluster, UpgradeCluster, change)


def _check_driver(services: Services, full: FullCluster, template: ClusterTemplate) -> None:
    driver = driver_of(services, full.template)
    if not driver.upgrade:
        raise bad_request(f"Upgrade is not supported. The driver is {driver.name}.")
    if driver_of(services, template) != driver:
        raise bad_request(
            f"Template {template.name} has another driver. The cluster has {driver.name}."
        )


def _one_group(full: FullCluster, ident: str, template: ClusterTemplate) -> list[NodeGroup]:
    for group in full.groups:
        if ident in (group.uuid, group.name):
            if group.stack_id is None and group.status in FAILED:
                raise conflict(never_created(group))
            if not group.is_default and template.uuid != full.cluster.cluster_template_id:
                raise conflict(
                    f"Group {group.name} can only be upgraded to the template of its cluster. "
                    "Upgrade the cluster first."
                )
            return full.defaults if group.is_default else [group]
    raise not_found("node group", ident)
