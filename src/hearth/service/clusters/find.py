"""Find clusters, templates, node groups and federations by UUID or name."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup
from hearth.clusters.problems import bad_request, conflict, forbidden, not_found
from hearth.service.caller import Caller
from hearth.service.clusters.access import scope
from hearth.service.services import Services
from hearth.store.clusters import find
from hearth.store.clusters.tables import node_group
from hearth.store.database import Tx

T = TypeVar("T")


async def find_cluster(
    services: Services, caller: Caller, ident: str, everywhere: str | None = None
) -> Cluster:
    """Return the cluster of the caller's project with this UUID or name.

    `everywhere` is the policy rule that lets administrators find clusters of all projects; None
    limits administrators to their project, too. Raises Rejected if there is no such cluster, or if
    several have the name.
    """
    project = await scope(services, caller, everywhere)
    visible = find.in_project(Cluster, project)
    return await _only(
        services, "cluster", ident, lambda tx: find.by_ident(tx, Cluster, ident, *visible)
    )


async def find_template(
    services: Services, caller: Caller, ident: str, everywhere: str | None = None
) -> ClusterTemplate:
    """Return the template with this UUID or name: one of the caller's project, or a public one.

    A public template that is hidden is in no list of other projects, but clients of its clusters
    read it. `everywhere` is the policy rule that lets administrators find templates of all
    projects; None limits administrators to these, too. Raises Rejected if there is no such
    template, or if several have the name.
    """
    project = await scope(services, caller, everywhere)
    return await _only(
        services,
        "cluster template",
        ident,
        lambda tx: find.readable_templates(tx, ident, project),
    )


async def template_for_clusters(
    services: Services, caller: Caller, ident: str
) -> ClusterTemplate | None:
    """Return the template with which a cluster is created or upgraded, by its UUID or name; None if
    there is no such template.

    Administrators find the templates of all projects, and only they may use a hidden template.
    Raises Rejected.
    """
    admin = services.cluster_policy.is_admin(caller)
    project = None if admin else caller.project_id
    matches = await services.store.read(lambda tx: find.readable_templates(tx, ident, project))
    if not matches:
        return None
    template = _single("cluster template", ident, matches)
    if template.hidden and not admin:
        raise forbidden(
            f"Cluster template {ident} is hidden. Only administrators can create clusters from it.",
        )
    return template


async def cluster_to_sign_for(services: Services, caller: Caller, ident: str) -> Cluster:
    """Return the cluster for which a certificate is requested. Raises Rejected, with status 400 if
    there is no such cluster.
    """
    visible = find.in_project(Cluster, caller.project_id)
    matches = await services.store.read(lambda tx: find.by_ident(tx, Cluster, ident, *visible))
    if not matches:
        raise bad_request(f"No cluster {ident}. Check its name or id.")
    return _single("cluster", ident, matches)


async def find_group(services: Services, cluster: Cluster, ident: str) -> NodeGroup:
    """Return the node group of a cluster with this UUID or name.

    Raises Rejected if there is none.
    """
    inside = node_group.c.cluster_id == cluster.uuid
    return await _only(
        services,
        "node group",
        ident,
        lambda tx: find.by_ident(tx, NodeGroup, ident, inside),
    )


async def find_federation(services: Services, caller: Caller, ident: str) -> Federation:
    """Return the federation of the caller's project with this UUID or name.

    Raises Rejected if there is none, or if several have the name.
    """
    visible = find.in_project(Federation, caller.project_id)
    return await _only(
        services,
        "federation",
        ident,
        lambda tx: find.by_ident(tx, Federation, ident, *visible),
    )


async def _only(services: Services, noun: str, ident: str, look: Callable[[Tx], Sequence[T]]) -> T:
    matches = await services.store.read(look)
    if not matches:
        raise not_found(noun, ident)
    return _single(noun, ident, matches)


def _single(noun: str, ident: str, matches: Sequence[T]) -> T:
    if len(matches) > 1:
        raise conflict(f"Several objects have the name {ident}. Use the id of the {noun}.")
    return matches[0]
