"""Create a cluster: check the request, then store the cluster, its node groups and a task.

Source: docs/spec/clusters.md, 4.1.
"""

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy.exc import IntegrityError

from hearth.clusters.drivers import master_count_problem
from hearth.clusters.label_table import label_warnings
from hearth.clusters.labels import label_problems, number
from hearth.clusters.merging import merged
from hearth.clusters.names import generated_name
from hearth.clusters.objects import (
    DEFAULT_MASTER,
    DEFAULT_WORKER,
    MASTER,
    WORKER,
    Cluster,
    ClusterTemplate,
    NodeGroup,
)
from hearth.clusters.problems import UnknownTemplate, bad_request, forbidden, not_found
from hearth.clusters.requests import ClusterRequest
from hearth.clusters.states import CREATE_IN_PROGRESS
from hearth.clusters.task_content import CreateCluster
from hearth.model.problem import Rejected
from hearth.service.caller import Caller
from hearth.service.clusters import notify
from hearth.service.clusters.cloud_checks import check_cluster
from hearth.service.clusters.drivers import driver_of
from hearth.service.clusters.find import template_for_clusters
from hearth.service.clusters.identity import NodeIdentity
from hearth.service.clusters.tasks import hand_over
from hearth.service.services import Services
from hearth.store.clusters import clusters, find
from hearth.store.database import Tx

COPIED = (
    "docker_volume_size",
    "master_flavor_id",
    "flavor_id",
    "fixed_network",
    "fixed_subnet",
    "floating_ip_enabled",
    "master_lb_enabled",
)
"""Fields that a cluster copies from its template if the request does not contain them."""


class Draft(Struct, frozen=True):
    """The objects that a create request stores: the template, the cluster, and its two default
    groups.
    """

    template: ClusterTemplate
    cluster: Cluster
    groups: tuple[NodeGroup, NodeGroup]  # masters and workers


async def create_cluster(services: Services, caller: Caller, request: ClusterRequest) -> Cluster:
    """Begin to create a cluster and return it, in CREATE_IN_PROGRESS.

    Raises Rejected, CloudFault.
    """
    await room(services, caller)
    draft = await _checked(services, caller, request)
    now = services.clock.now()
    limit = services.clusters.max_clusters_per_project

    def transaction(tx: Tx) -> Cluster:
        if not find.hold_template(tx, draft.template.uuid):  # deleted meanwhile
            raise not_found("cluster template", draft.template.name)
        inserted = clusters.create(tx, draft.cluster, draft.groups, limit)
        if inserted is None:
            raise _no_room(clusters.quota_of(tx, caller.project_id, limit))
        content = CreateCluster()
        hand_over(tx, caller, draft.cluster.uuid, content, now)
        body: dict[str, Any] = {"template": draft.template.uuid, "by": caller.user_id}
        if warnings := label_warnings(draft.cluster.labels):
            body["warnings"] = warnings
        clusters.put_event(tx, draft.cluster.uuid, "cluster.create", body, now)
        notify.accepted(tx, draft.cluster.uuid, content, now)
        return inserted[0]

    try:
        created = await services.store.run_once(transaction)
    except IntegrityError:  # the first two clusters of a project at the same moment
        created = await services.store.run_once(transaction)
    services.bus.tell()
    return created


async def _checked(services: Services, caller: Caller, request: ClusterRequest) -> Draft:
    """Return the objects to store for a create request, after all checks. Raises Rejected,
    CloudFault.
    """
    template = await template_of(services, caller, request)
    draft = draft_of(services, caller, template, request)
    for check in CHECKS.values():
        check(services, caller, draft)
    await check_cluster(services, caller, template, draft.cluster)
    return draft


async def template_of(
    services: Services, caller: Caller, request: ClusterRequest
) -> ClusterTemplate:
    """Return the template of a create request. Raises Rejected."""
    ident = request.cluster_template_id
    template = await template_for_clusters(services, caller, ident)
    if template is None:
        raise not_found("cluster template", ident, UnknownTemplate)
    return template


def draft_of(
    services: Services, caller: Caller, template: ClusterTemplate, request: ClusterRequest
) -> Draft:
    """Return the objects to store for a create request, without checking them."""
    cluster = _cluster(services, caller, template, request)
    return Draft(template, cluster, _groups(services, template, cluster, request))


def _check_driver(services: Services, _caller: Caller, draft: Draft) -> None:
    driver_of(services, draft.template)


def _check_master_count(_services: Services, _caller: Caller, draft: Draft) -> None:
    if problem := master_count_problem(draft.groups[0].node_count):
        raise bad_request(problem)


def _check_balancer(_services: Services, _caller: Caller, draft: Draft) -> None:
    masters = draft.groups[0].node_count
    if masters > 1 and not draft.cluster.master_lb_enabled:
        raise bad_request(
            f"master_count {masters} needs a load balancer. Set master_lb_enabled to true."
        )


def _check_labels(services: Services, _caller: Caller, draft: Draft) -> None:
    problems = label_problems(
        draft.cluster.labels, services.clusters, volume_driver=draft.template.volume_driver
    )
    if problems:
        raise bad_request(" ".join(problems))


def _check_credential(services: Services, caller: Caller, _draft: Draft) -> None:
    NodeIdentity(services).check(caller)


CHECKS: Mapping[str, Callable[[Services, Caller, Draft], None]] = {
    "driver": _check_driver,
    "master_count": _check_master_count,
    "master_lb_enabled": _check_balancer,
    "labels": _check_labels,
    "credential": _check_credential,
}
"""The checks of a create request that need no cloud, in their order, by name. Each raises
Rejected.
"""


def _cluster(
    services: Services, caller: Caller, template: ClusterTemplate, request: ClusterRequest
) -> Cluster:
    copied = {
        name: getattr(template if getattr(request, name) is None else request, name)
        for name in COPIED
    }
    number_of_name = secrets.randbelow(1 << 30)
    return Cluster(
        uuid=services.new_id(),
        name=request.name or generated_name(number_of_name, "cluster"),
        project_id=caller.project_id,
        user_id=caller.user_id,
        cluster_template_id=template.uuid,
        keypair=request.keypair or template.keypair_id,
        labels=merged(template.labels, request.labels, merge=request.merge_labels),
        create_timeout=request.create_timeout,
        discovery_url=request.discovery_url,
        status=CREATE_IN_PROGRESS,
        created_at=services.clock.now(),
        initiator=notify.initiator_of(caller),
        **copied,
    )


def _groups(
    services: Services, template: ClusterTemplate, cluster: Cluster, request: ClusterRequest
) -> tuple[NodeGroup, NodeGroup]:
    master = NodeGroup(
        uuid=services.new_id(),
        name=DEFAULT_MASTER,
        cluster_id=cluster.uuid,
        project_id=cluster.project_id,
        labels=dict(cluster.labels),
        flavor_id=cluster.master_flavor_id,
        image_id=template.image_id,
        docker_volume_size=cluster.docker_volume_size,
        node_count=request.master_count,
        role=MASTER,
        min_node_count=1,
        is_default=True,
        status=CREATE_IN_PROGRESS,
        created_at=cluster.created_at,
    )
    worker = replace(
        master,
        uuid=services.new_id(),
        name=DEFAULT_WORKER,
        flavor_id=cluster.flavor_id,
        node_count=request.node_count,
        role=WORKER,
        labels=dict(cluster.labels),
        min_node_count=number(cluster.labels, "min_node_count", 0),
    )
    return master, worker


async def room(services: Services, caller: Caller) -> None:
    """Raise Rejected if the caller's project has used up its quota of clusters.

    This check comes before all others.
    """
    default = services.clusters.max_clusters_per_project

    def look(tx: Tx) -> tuple[int, int]:
        return clusters.count(tx, caller.project_id), clusters.quota_of(
            tx, caller.project_id, default
        )

    count, limit = await services.store.read(look)
    if count >= limit:
        raise _no_room(limit)


def _no_room(limit: int) -> Rejected:
    message = f"The quota of {limit} clusters is used up. Delete a cluster or raise the quota."
    return forbidden(message)
