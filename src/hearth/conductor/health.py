"""Checks the health of clusters through their Kubernetes API.

Source: docs/spec/clusters.md, section 8.
"""

import asyncio
import logging
from datetime import UTC, datetime
from urllib.parse import urlencode

from hearth.clusters.health import (
    UNKNOWN,
    Health,
    judged,
    next_page,
    nodes_ready,
    reachable,
    reports_itself,
    unreachable,
)
from hearth.clusters.objects import Cluster
from hearth.clusters.states import DELETE_COMPLETE
from hearth.conductor.kubernetes import LIMIT_S, SILENT, KubernetesApi, kubernetes_api
from hearth.model.json_text import parse_json
from hearth.service.services import Services
from hearth.store.clusters import health as cluster_health

log = logging.getLogger(__name__)

AT_ONCE = 8
FOUND_MAX = 100  # clusters of one look
MISSES_MAX = 3
PAGE = 250  # nodes of one answer
PAGES_MAX = 40  # of a list; Kubernetes supports half as many nodes


class HealthCheck:
    """Checks the health of each cluster every `ClusterConfig.health_polling_interval_s` seconds."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._misses: dict[str, int] = {}

    async def round(self) -> None:
        """Check all clusters whose next check is due. Do nothing if the interval is negative."""
        every_s = self._services.clusters.health_polling_interval_s
        if every_s < 0:
            return
        store = self._services.store
        due = await store.read(lambda tx: cluster_health.due(tx, FOUND_MAX))
        await asyncio.gather(*(self._check(uuid, every_s) for uuid in due))

    async def _check(self, uuid: str, every_s: float) -> None:
        """Check one cluster and store its health, unless the cluster reports its health itself."""
        async with self._slots:
            store = self._services.store
            cluster = await store.run(lambda tx: cluster_health.take(tx, uuid, every_s))
            if cluster is None or cluster.status == DELETE_COMPLETE or reports_itself(cluster):
                self._misses.pop(uuid, None)
                return
            health = unreachable() if not reachable(cluster) else await self._examined(cluster)
            if health is not None:
                status, reason = health
                now = self._services.clock.now()
                await store.run(lambda tx: cluster_health.store(tx, uuid, status, reason, now))

    async def _examined(self, cluster: Cluster) -> Health | None:
        """Return the health of a cluster.

        If the API does not answer, return None, so that the stored health stays the same; after the
        third such check in a row, return UNKNOWN.
        """
        try:
            async with asyncio.timeout(LIMIT_S):
                health = await self._answered(cluster)
        except SILENT as error:
            misses = self._misses[cluster.uuid] = self._misses.get(cluster.uuid, 0) + 1
            if misses < MISSES_MAX:
                return None
            message = str(error) or f"no answer within {LIMIT_S:.0f} s"
            moment = datetime.fromtimestamp(self._services.clock.now(), UTC)
            return UNKNOWN, {
                "api": message[:255],
                "updated_at": moment.isoformat(timespec="seconds"),
            }
        self._misses.pop(cluster.uuid, None)
        return health

    async def _answered(self, cluster: Cluster) -> Health:
        """Return the health that follows from the responses of the API. Raises an exception in
        SILENT.
        """
        async with kubernetes_api(self._services, cluster) as api:
            healthz = await api.text("/healthz")
            ready = await _nodes_ready(api)
        return judged(healthz, ready)


async def _nodes_ready(api: KubernetesApi) -> dict[str, str]:
    """Return whether each node is ready, from a list that is read page by page.

    An API that ignores the size of a page returns one page, which has a limit, too.
    """
    readiness: dict[str, str] = {}
    query = {"limit": str(PAGE)}
    for _ in range(PAGES_MAX):
        page = parse_json(await api.text(f"/api/v1/nodes?{urlencode(query)}"))
        readiness |= nodes_ready(page)
        query["continue"] = next_page(page)
        if not query["continue"]:
            break
    return readiness
