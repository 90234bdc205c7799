"""Quotas of projects, and the numbers of clusters and nodes."""

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from hearth.clusters.objects import MASTER, Quota
from hearth.store.clusters.rows import object_of
from hearth.store.clusters.tables import cluster, cluster_quota, node_group
from hearth.store.database import Tx
from hearth.store.prepared import Listed

_SIZES = Listed(
    lambda ids: sa.select(
        node_group.c.cluster_id, node_group.c.role, node_group.c.node_count
    ).where(node_group.c.cluster_id.in_(ids))
)


class Size(NamedTuple):
    """The numbers of master nodes and worker nodes of a cluster."""

    nodes: int = 0
    masters: int = 0

    def plus(self, role: str, count: int) -> "Size":
        """Return the size with `count` more nodes of this role."""
        nodes, masters = self
        return Size(nodes, masters + count) if role == MASTER else Size(nodes + count, masters)


def sizes(tx: Tx, cluster_ids: Sequence[str]) -> dict[str, Size]:
    """Return the sizes of clusters by UUID; encrypted columns are not read."""
    by_cluster = dict.fromkeys(cluster_ids, Size())
    for row in tx.listed(_SIZES, cluster_ids) if cluster_ids else ():
        by_cluster[row.cluster_id] = by_cluster[row.cluster_id].plus(row.role, row.node_count)
    return by_cluster


def find(tx: Tx, project_id: str, resource: str, *, lock: bool = False) -> Quota | None:
    """Return the stored quota of a project for a kind of resource, such as `Cluster`, or None.

    If `lock` is true, its row is locked.
    """
    columns = cluster_quota.c
    query = sa.select(cluster_quota).where(
        columns.project_id == project_id, columns.resource == resource
    )
    row = tx.first(query.with_for_update() if lock else query)
    return None if row is None else object_of(tx, Quota, row)


def usage(tx: Tx, project_id: str | None) -> tuple[int, int]:
    """Return (number of clusters, number of nodes) of a project, or of all projects if it is None.

    Masters count as nodes.
    """
    clusters = sa.select(sa.func.count()).select_from(cluster)
    nodes = sa.select(sa.func.coalesce(sa.func.sum(node_group.c.node_count), 0))
    if project_id is not None:
        clusters = clusters.where(cluster.c.project_id == project_id)
        nodes = nodes.where(node_group.c.project_id == project_id)
    return int(tx.execute(clusters).scalar_one()), int(tx.execute(nodes).scalar_one())
