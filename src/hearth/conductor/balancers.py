"""Deletes the load balancers that Kubernetes created for a cluster, because they use its network.

Source: docs/spec/clusters.md, section 7, "Delete"; tests/facts/magnum/consumers.json.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

from hearth.cloud.contract import Cloud
from hearth.cloud.fault import CloudFault, NoService, NotFound
from hearth.cloud.path import segment
from hearth.clusters.task_content import DeleteCluster
from hearth.conductor.work import Work

log = logging.getLogger(__name__)

SERVICE = "load-balancer"
BALANCERS = "/v2.0/lbaas/loadbalancers"
LOOK_AGAIN_S = 1.0


async def remove(work: Work) -> None:
    """Release the floating IPs of the load balancers, and request their deletion."""
    cloud = work.services.cloud(work.caller)
    for balancer in await _of_cluster(work, cloud):
        await _release(cloud, balancer)
        await _delete(cloud, balancer)
    content = work.content(DeleteCluster).waiting(work.services.clock.now())
    await work.commit("balancers_gone", content=content)


async def gone(work: Work) -> None:
    """Wait until the load balancers are deleted.

    The step is repeated each second. After `pre_delete_lb_timeout_s` seconds the delete of the
    cluster fails.
    """
    content = work.content(DeleteCluster)
    remaining = await _of_cluster(work, work.services.cloud(work.caller))
    if not remaining:
        await work.commit("detach" if content.force else "stacks")
        return
    waited = work.services.clock.now() - content.progress.since
    if waited > work.services.clusters.pre_delete_lb_timeout_s:
        names = ", ".join(str(balancer.get("name") or balancer["id"]) for balancer in remaining)
        await work.fail(f"Load balancers of the cluster were not deleted in time: {names}.")
        return
    await work.commit("balancers_gone", delay_s=LOOK_AGAIN_S)


async def _of_cluster(work: Work, cloud: Cloud) -> list[Mapping[str, Any]]:
    """Return the load balancers whose description contains the UUID of the cluster.

    The list is empty if the cloud has no load balancer service.
    """
    pattern = re.compile(rf"Kubernetes .+ from cluster {re.escape(work.cluster.uuid)}(?![\w-])")
    try:
        balancers = await cloud.listing(SERVICE, BALANCERS)
    except NoService:
        return []
    return [balancer for balancer in balancers if pattern.search(balancer.get("description") or "")]


async def _release(cloud: Cloud, balancer: Mapping[str, Any]) -> None:
    """Delete the floating IPs of a load balancer."""
    port = balancer.get("vip_port_id")
    if not port:
        return
    for address in await cloud.listing("network", f"/v2.0/floatingips?port_id={segment(port)}"):
        await _delete_object(cloud, "network", f"/v2.0/floatingips/{segment(address['id'])}")


async def _delete(cloud: Cloud, balancer: Mapping[str, Any]) -> None:
    if balancer.get("provisioning_status") != "PENDING_DELETE":
        path = f"{BALANCERS}/{segment(balancer['id'])}?cascade=true"
        await _delete_object(cloud, SERVICE, path)


async def _delete_object(cloud: Cloud, service: str, path: str) -> None:
    """Delete an object; a missing or busy object is not an error."""
    try:
        await cloud.request(service, "DELETE", path, idempotent=True)
    except CloudFault as fault:
        if not isinstance(fault, NotFound) and not fault.conflict:
            raise
        log.info("%s: %s", path, fault)
