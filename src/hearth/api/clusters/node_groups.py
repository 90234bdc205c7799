"""Handlers of the routes for node groups."""

from msgspec import convert
from starlette.requests import Request
from starlette.responses import Response

from hearth.api.answer import JSONResponse
from hearth.api.clusters import pages, patch, view
from hearth.api.clusters.bodies import NODE_GROUP
from hearth.api.clusters.context import (
    argument,
    body,
    caller_of,
    demand_nodes,
    document,
    services_of,
    version_of,
)
from hearth.api.clusters.types import field_of
from hearth.clusters.objects import Cluster, NodeGroup
from hearth.clusters.requests import GroupChanges, GroupRequest
from hearth.service.clusters.access import demand
from hearth.service.clusters.find import find_cluster, find_group
from hearth.service.clusters.lists import list_groups
from hearth.service.clusters.members import members_of
from hearth.service.clusters.node_groups import change_group, create_group, delete_group

CHANGEABLE = ("min_node_count", "max_node_count", "node_labels", "node_taints")
RULES = patch.PatchRules(
    NODE_GROUP,
    internal=patch.ALWAYS_INTERNAL
    | {"cluster_id", "stack_id", "node_addresses", "is_default", "status", "status_reason"},
    mandatory={"name", "role", "node_count"},
)


async def index(request: Request) -> Response:
    """List the node groups of a cluster; with `role`, those with this role."""
    rule = "nodegroup:get_all"
    cluster = await _cluster(request, rule, "nodegroup:get_all_all_projects")
    page = pages.requested_page(request, NodeGroup)
    groups = await list_groups(services_of(request), cluster, page, argument(request, "role"))
    bodies = [view.group_short(request, group) for group in groups]
    return pages.answer(request, "nodegroups", bodies, page, groups[-1].uuid if groups else None)


async def show(request: Request) -> Response:
    """Show a node group with its members."""
    cluster = await _cluster(request, "nodegroup:get", "nodegroup:get_one_all_projects")
    services = services_of(request)
    group = await find_group(services, cluster, request.path_params["group"])
    members = [
        {"index": member.index, "server_id": member.server_id, "status": member.status}
        for member in await members_of(services, cluster, group.uuid)
    ]
    return JSONResponse(view.group(request, group, cluster, members))


async def create(request: Request) -> Response:
    """Create a node group."""
    description = await body(request, NODE_GROUP, GroupRequest)
    demand_nodes(request, description.node_count)
    cluster = await _cluster(request, "nodegroup:create")
    group = await create_group(services_of(request), caller_of(request), cluster, description)
    return JSONResponse(view.group_accepted(request, group, cluster), status_code=202)


async def update(request: Request) -> Response:
    """Change the minimum or maximum number of nodes, the node labels or the node taints of a node
    group.
    """
    operations = patch.changes(await document(request), RULES)
    for operation in operations:
        if operation.attribute in NODE_GROUP:
            field_of(operation.attribute, NODE_GROUP, version_of(request))
    cluster = await _cluster(request, "nodegroup:update")
    services, caller = services_of(request), caller_of(request)
    group = await find_group(services, cluster, request.path_params["group"])
    before = {name: getattr(group, name, None) for name in RULES.fields}
    before["node_taints"] = list(group.node_taints)
    changes = patch.differing(before, patch.applied(before, operations, RULES))
    patch.only(changes, CHANGEABLE, "node group")
    if changes:
        group = await change_group(services, caller, cluster, group, convert(changes, GroupChanges))
    return JSONResponse(view.group(request, group, cluster), status_code=202)


async def delete(request: Request) -> Response:
    """Delete a node group. Default groups cannot be deleted."""
    cluster = await _cluster(request, "nodegroup:delete")
    services = services_of(request)
    group = await find_group(services, cluster, request.path_params["group"])
    await delete_group(services, caller_of(request), cluster, group)
    return Response(status_code=204)


async def _cluster(request: Request, rule: str, everywhere: str | None = None) -> Cluster:
    services, caller = services_of(request), caller_of(request)
    cluster = await find_cluster(services, caller, request.path_params["ident"], everywhere)
    await demand(services, caller, rule, cluster)
    return cluster
