"""Quotas of clusters, and the numbers of clusters and nodes."""

import sqlalchemy as sa

from hearth.clusters.objects import Quota
from hearth.store.cluster_rows import object_of
from hearth.store.cluster_tables import cluster, cluster_quota, node_group
from hearth.store.database import Tx


def find(tx: Tx, project_id: str, resource: str, *, lock: bool = False) -> Quota | None:
    """Return the stored quota of a project, or None; with `lock` its row is locked."""
    columns = cluster_quota.c
    query = sa.select(cluster_quota).where(
        columns.project_id == project_id, columns.resource == resource
    )
    row = tx.first(query.with_for_update() if lock else query)
    return None if row is None else object_of(tx, Quota, row)


def usage(tx: Tx, project_id: str | None) -> tuple[int, int]:
    """Return the numbers of clusters and of nodes in a project, or in all projects for None.

    Masters count as nodes.
    """
    clusters = sa.select(sa.func.count()).select_from(cluster)
    nodes = sa.select(sa.func.coalesce(sa.func.sum(node_group.c.node_count), 0))
    if project_id is not None:
        clusters = clusters.where(cluster.c.project_id == project_id)
        nodes = nodes.where(node_group.c.project_id == project_id)
    return int(tx.execute(clusters).scalar_one()), int(tx.execute(nodes).scalar_one())
