"""Handlers of the routes for clusters."""

from typing import Any

from msgspec import convert
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import pages, patch, view
from hearth.api.clusters.bodies import CLUSTER, HEALTH, RESIZE, UPGRADE
from hearth.api.clusters.context import (
    argument,
    body,
    caller_of,
    demand_nodes,
    document,
    services_of,
    version_of,
)
from hearth.api.clusters.types import Field, text_map, word
from hearth.clusters.objects import Cluster
from hearth.clusters.problems import bad_request
from hearth.clusters.requests import (
    ClusterChanges,
    ClusterRequest,
    ResizeRequest,
    UpgradeRequest,
)
from hearth.service.clusters import fence
from hearth.service.clusters.access import demand, scope
from hearth.service.clusters.certificates import kubeconfig
from hearth.service.clusters.change import change_cluster
from hearth.service.clusters.create import create_cluster
from hearth.service.clusters.delete import delete_cluster
from hearth.service.clusters.events import cluster_events
from hearth.service.clusters.find import find_cluster
from hearth.service.clusters.lists import list_clusters, list_sizes, with_groups
from hearth.service.clusters.preview import preview_cluster
from hearth.service.clusters.resize import resize_cluster
from hearth.service.clusters.upgrade import upgrade_cluster

UPGRADE_SINCE = (1, 8)
HEALTH_FIELDS = ("health_status", "health_status_reason")
CHANGEABLE = ("node_count", *HEALTH_FIELDS)
RULES = patch.PatchRules(
    {
        **CLUSTER,
        "health_status": Field("health_status", word(*HEALTH)),
        "health_status_reason": Field("health_status_reason", text_map, default={}),
    },
    internal=patch.ALWAYS_INTERNAL
    | {
        "api_address",
        "node_addresses",
        "master_addresses",
        "stack_id",
        "cluster_id",
        "ca_cert_ref",
        "magnum_cert_ref",
        "etcd_ca_cert_ref",
        "front_proxy_ca_cert_ref",
    },
    mandatory={"cluster_template_id", "name"},
)


async def index(request: Request) -> Response:
    """List the clusters of the project. Administrators list those of all projects."""
    services = services_of(request)
    project = await _project(request, "cluster:get_all", "cluster:get_all_all_projects")
    page = pages.requested_page(request, Cluster)
    clusters, sizes = await list_sizes(services, project, page)
    bodies = [view.cluster_short(request, cluster, sizes[cluster.uuid]) for cluster in clusters]
    return pages.answer(request, "clusters", bodies, page, clusters[-1].uuid if clusters else None)


async def detail(request: Request) -> Response:
    """List clusters as `GET /clusters` does, with all their attributes."""
    services = services_of(request)
    project = await _project(request, "cluster:detail", "cluster:detail_all_projects")
    page = pages.requested_page(request, Cluster)
    clusters, groups, templates = await list_clusters(services, project, page)
    bodies = [
        view.cluster(
            request, cluster, groups[cluster.uuid], templates.get(cluster.cluster_template_id)
        )
        for cluster in clusters
    ]
    return pages.answer(request, "clusters", bodies, page, clusters[-1].uuid if clusters else None)


async def _project(request: Request, rule: str, everywhere: str) -> str | None:
    """Return the project whose clusters are listed; None for all projects. Raises Rejected.

    The caller needs the policy rule `rule`. An administrator also needs the rule `everywhere`, and
    lists the clusters of all projects.
    """
    services, caller = services_of(request), caller_of(request)
    await demand(services, caller, rule)
    return await scope(services, caller, everywhere)


async def show(request: Request) -> Response:
    """Show a cluster."""
    cluster = await _find(request, "cluster:get", "cluster:get_one_all_projects")
    groups, template = await with_groups(services_of(request), cluster)
    return JSONResponse(view.cluster(request, cluster, groups, template, faults=True))


async def create(request: Request) -> Response:
    """Create a cluster. With `dry_run`, only carry out all checks and return what would be created:
    the cluster, its groups, and a preview of its stack.
    """
    services, caller = services_of(request), caller_of(request)
    description = await body(request, CLUSTER, ClusterRequest)
    demand_nodes(request, description.node_count)
    await demand(services, caller, "cluster:create")
    if argument(request, "dry_run"):
        preview = await preview_cluster(services, caller, description)
        return JSONResponse(await view.preview(request, preview))
    return _accepted(await create_cluster(services, caller, description))


async def update(request: Request) -> Response:
    """Change the number of worker nodes of a cluster, or its reported health. The name can be
    changed if the configuration allows it. With `rollback`, a failed change is rolled back.
    """
    services, caller = services_of(request), caller_of(request)
    operations = patch.changes(await document(request), RULES)
    ident = request.path_params["ident"]
    cluster = await find_cluster(services, caller, ident, "cluster:update_all_projects")
    groups, _ = await with_groups(services, cluster)
    workers = [group.node_count for group in groups if group.is_default and group.role == "worker"]
    before = {
        **{name: getattr(cluster, name, None) for name in RULES.fields},
        "node_count": sum(workers),
    }
    changes = patch.differing(before, patch.applied(before, operations, RULES))
    renamable = ("name",) if services.clusters.rename else ()
    patch.only(changes, (*CHANGEABLE, *renamable), "cluster")
    cluster_changes = convert(changes, ClusterChanges)
    demand_nodes(request, cluster_changes.node_count)
    await _demand_update(request, cluster, changes)
    if changes:
        rollback = argument(request, "rollback", False)
        await change_cluster(services, caller, cluster, cluster_changes, rollback=rollback)
    return _accepted(cluster)


async def _demand_update(request: Request, cluster: Cluster, changes: dict[str, Any]) -> None:
    """Raise Rejected if the caller may not make these changes; nodes may only report health.

    A node that changes only the health needs the rule for health. All other callers need this rule
    and the rule for updates, whatever they change.
    """
    services, caller = services_of(request), caller_of(request)
    if await fence.node_cluster(services, caller) is not None and changes.keys() <= set(
        HEALTH_FIELDS
    ):
        await demand(services, caller, "cluster:update_health_status", cluster)
        return
    await demand(services, caller, "cluster:update", cluster)
    await demand(services, caller, "cluster:update_health_status")


async def delete(request: Request) -> Response:
    """Delete a cluster. With `force`, objects that users added to it are detached and left in the
    cloud.
    """
    cluster = await _find(request, "cluster:delete", "cluster:delete_all_projects")
    force = argument(request, "force", False)
    await delete_cluster(services_of(request), caller_of(request), cluster, force=force)
    return Response(status_code=204)


async def resize(request: Request) -> Response:
    """Change the number of nodes of a group; by default, of the default group of workers. Nodes to
    remove can be named.
    """
    size = await body(request, RESIZE, ResizeRequest)
    demand_nodes(request, size.node_count)
    cluster = await _find(request, "cluster:resize")
    await resize_cluster(services_of(request), caller_of(request), cluster, size)
    return _accepted(cluster)


async def upgrade(request: Request) -> Response:
    """Upgrade a cluster or a group to another template."""
    if version_of(request) < UPGRADE_SINCE:
        raise bad_request("Upgrades are not possible in API version 1.7. Use version 1.8 or later.")
    target = await body(request, UPGRADE, UpgradeRequest)
    cluster = await _find(request, "cluster:upgrade", "cluster:upgrade_all_projects")
    await upgrade_cluster(services_of(request), caller_of(request), cluster, target)
    return _accepted(cluster)


async def events(request: Request) -> Response:
    """List the last events of a cluster, newest first."""
    cluster = await _find(request, "cluster:get", "cluster:get_one_all_projects")
    events = await cluster_events(services_of(request), cluster)
    return JSONResponse(
        {"events": [{**event, "time": view.time(event["time"])} for event in events]}
    )


async def config(request: Request) -> Response:
    """Return a kubeconfig with a new client certificate, which is valid for 12 hours."""
    services, caller = services_of(request), caller_of(request)
    cluster = await find_cluster(services, caller, request.path_params["ident"])
    text = await kubeconfig(services, caller, cluster)
    return JSONResponse({"cluster_uuid": cluster.uuid, "kubeconfig": text})


async def _find(request: Request, rule: str, everywhere: str | None = None) -> Cluster:
    """Return the cluster in the path, after a check of the policy rule `rule`. Raises Rejected.

    `everywhere` is the rule that an administrator needs, who finds clusters of all projects; if it
    is None, administrators find only those of their project.
    """
    services, caller = services_of(request), caller_of(request)
    cluster = await find_cluster(services, caller, request.path_params["ident"], everywhere)
    await demand(services, caller, rule, cluster)
    return cluster


def _accepted(cluster: Cluster) -> Response:
    return JSONResponse(view.accepted(cluster), status_code=202)
