"""Lists of the cluster service, page by page."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup, Quota
from hearth.clusters.problems import ClusterProblem
from hearth.model.problem import rejection
from hearth.service.services import Services
from hearth.store.clusters import clusters
from hearth.store.clusters.find import in_project, usable_templates
from hearth.store.clusters.pages import NoMarker, Page, page
from hearth.store.clusters.quotas import Size, sizes
from hearth.store.clusters.rows import object_of
from hearth.store.clusters.tables import cluster_template, node_group
from hearth.store.database import Tx
from hearth.store.prepared import Listed

R = TypeVar("R")
T = TypeVar("T", Cluster, ClusterTemplate, Federation, NodeGroup, Quota)
Groups = Mapping[str, Sequence[NodeGroup]]
"""The node groups of each cluster, by the UUID of the cluster."""

_TEMPLATES = Listed(lambda ids: sa.select(cluster_template).where(cluster_template.c.uuid.in_(ids)))


async def list_sizes(
    services: Services, project_id: str | None, paging: Page
) -> tuple[Sequence[Cluster], Mapping[str, Size]]:
    """Return a page of clusters with the numbers of their nodes.

    If `project_id` is None, the clusters of all projects are listed. Raises Rejected if the marker
    does not exist.
    """

    def look(tx: Tx) -> tuple[Sequence[Cluster], Mapping[str, Size]]:
        listing = page(tx, Cluster, paging, *in_project(Cluster, project_id))
        return listing, sizes(tx, [cluster.uuid for cluster in listing])

    return await _marked(services, paging, look)


async def list_clusters(
    services: Services, project_id: str | None, paging: Page
) -> tuple[Sequence[Cluster], Groups, Mapping[str, ClusterTemplate]]:
    """Return a page of clusters with their node groups and templates.

    If `project_id` is None, the clusters of all projects are listed. Raises Rejected if the marker
    does not exist.
    """

    def look(tx: Tx) -> tuple[Sequence[Cluster], Groups, Mapping[str, ClusterTemplate]]:
        listing = page(tx, Cluster, paging, *in_project(Cluster, project_id))
        groups = clusters.groups_of(tx, [cluster.uuid for cluster in listing])
        return listing, groups, _templates(tx, {cluster.cluster_template_id for cluster in listing})

    return await _marked(services, paging, look)


async def with_groups(
    services: Services, cluster: Cluster
) -> tuple[Sequence[NodeGroup], ClusterTemplate]:
    """Return the node groups and the template of a cluster."""

    def look(tx: Tx) -> tuple[Sequence[NodeGroup], ClusterTemplate]:
        groups = clusters.groups_of(tx, [cluster.uuid])[cluster.uuid]
        return groups, _templates(tx, {cluster.cluster_template_id})[cluster.cluster_template_id]

    return await services.store.read(look)


async def list_templates(
    services: Services, project_id: str | None, paging: Page
) -> Sequence[ClusterTemplate]:
    """Return a page of the templates that a project may use; None stands for the templates of all
    projects.

    Raises Rejected if the marker does not exist.
    """
    return await _page(services, ClusterTemplate, paging, *usable_templates(project_id))


async def list_groups(
    services: Services, cluster: Cluster, paging: Page, role: str | None
) -> Sequence[NodeGroup]:
    """Return a page of the node groups of a cluster; if `role` is given, only of those with it.

    Raises Rejected if the marker does not exist.
    """
    visible = [node_group.c.cluster_id == cluster.uuid]
    if role is not None:
        visible.append(node_group.c.role == role)
    return await _page(services, NodeGroup, paging, *visible)


async def list_quotas(services: Services, project_id: str | None, paging: Page) -> Sequence[Quota]:
    """Return a page of the quotas of a project, or of all projects if `project_id` is None.

    Raises Rejected if the marker does not exist.
    """
    return await _page(services, Quota, paging, *in_project(Quota, project_id))


async def list_federations(
    services: Services, project_id: str, paging: Page
) -> Sequence[Federation]:
    """Return a page of the federations of a project.

    Raises Rejected if the marker does not exist.
    """
    return await _page(services, Federation, paging, *in_project(Federation, project_id))


async def _page(
    services: Services, kind: type[T], paging: Page, *visible: sa.ColumnElement[bool]
) -> Sequence[T]:
    return await _marked(services, paging, lambda tx: page(tx, kind, paging, *visible))


async def _marked(services: Services, paging: Page, look: Callable[[Tx], R]) -> R:
    try:
        return await services.store.read(look)
    except NoMarker:
        message = (
            f"No object {paging.marker} in this list. Use the id of a listed object as marker."
        )
        raise rejection(ClusterProblem, 404, message) from None


def _templates(tx: Tx, uuids: set[str]) -> dict[str, ClusterTemplate]:
    rows = tx.listed(_TEMPLATES, sorted(uuids)) if uuids else []
    return {row.uuid: object_of(tx, ClusterTemplate, row) for row in rows}
