"""The events of a cluster."""

from typing import Any

from hearth.clusters.objects import Cluster
from hearth.service.services import Services
from hearth.store.clusters import clusters


async def cluster_events(services: Services, cluster: Cluster) -> list[dict[str, Any]]:
    """Return the last events of a cluster, the newest first, as `store.clusters.events_of` does."""
    return await services.store.read(lambda tx: clusters.events_of(tx, cluster.uuid))
