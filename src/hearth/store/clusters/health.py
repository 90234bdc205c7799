"""The schedule of the health checks of clusters, and their results."""

import sqlalchemy as sa
from msgspec.structs import replace

from hearth.clusters.objects import Cluster
from hearth.store.clusters import clusters, rows
from hearth.store.clusters.tables import cluster
from hearth.store.database import Tx
from hearth.store.prepared import NOW

_DUE = sa.and_(
    cluster.c.api_address.is_not(None),
    cluster.c.status.is_not(None),
    sa.or_(cluster.c.health_at.is_(None), cluster.c.health_at <= NOW),
)


def due(tx: Tx, limit: int) -> list[str]:
    """Return the UUIDs of at most `limit` clusters whose health check is due, by due time.

    Only clusters with an API address are checked.
    """
    query = sa.select(cluster.c.uuid).where(_DUE).order_by(cluster.c.health_at).limit(limit)
    return [row.uuid for row in tx.rows(query)]


def take(tx: Tx, uuid: str, every_s: float) -> Cluster | None:
    """Return a cluster whose health check is due, and schedule the next check in `every_s` seconds.

    Return None if another conductor has already done so, or if the cluster no longer exists.
    """
    condition = sa.and_(cluster.c.uuid == uuid, _DUE)
    if tx.execute(cluster.update().where(condition).values(health_at=NOW + every_s)).rowcount != 1:
        return None
    row = tx.first(sa.select(cluster).where(cluster.c.uuid == uuid))
    return rows.object_of(tx, Cluster, row)


def store(tx: Tx, uuid: str, status: str, reason: dict[str, str], now: float) -> None:
    """Store the health of a cluster if it has changed and the cluster still exists."""
    before = clusters.load(tx, uuid, lock=True)
    if before is None:
        return
    current = before.cluster
    if (current.health_status, dict(current.health_status_reason)) != (status, reason):
        after = replace(current, health_status=status, health_status_reason=reason)
        clusters.save(tx, before, after, now=now)
