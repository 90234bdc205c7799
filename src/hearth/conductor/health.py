"""Examine the health of clusters: ask their Kubernetes API with the client certificate of the
service.

Everything that a cluster answers is hostile: time and bytes are limited.
Source: spec/clusters.md, section 8.
"""

import asyncio
import json
import logging
import os
import ssl
import tempfile
from datetime import UTC, datetime
from typing import Any

import aiohttp

from hearth.cloud.fault import CloudFault
from hearth.clusters.health import UNKNOWN, Health, judged, reachable, reports_itself, unreachable
from hearth.clusters.objects import Cluster
from hearth.clusters.states import DELETE_COMPLETE
from hearth.model.problem import Rejected
from hearth.service.clusters.certificates import service_client, trusted
from hearth.service.services import Services
from hearth.store import cluster_health

log = logging.getLogger(__name__)

AT_ONCE = 8
FOUND_MAX = 100  # clusters of one look
LIMIT_S = 10.0
BYTES_MAX = 16 * 1024 * 1024  # a node with all its labels has some kilobytes
MISSES_MAX = 3


class HealthCheck:
    """Examines each cluster every `ClusterConfig.health_every_s` seconds."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._misses: dict[str, int] = {}

    async def round(self) -> None:
        """Examine the clusters that are due."""
        every_s = self._services.clusters.health_every_s
        if every_s < 0:
            return
        store = self._services.store
        due = await store.read(lambda tx: cluster_health.due(tx, FOUND_MAX))
        await asyncio.gather(*(self._one(uuid, every_s) for uuid in due))

    async def _one(self, uuid: str, every_s: float) -> None:
        async with self._slots:
            store = self._services.store
            found = await store.run(lambda tx: cluster_health.take(tx, uuid, every_s))
            if found is None or found.status == DELETE_COMPLETE or reports_itself(found):
                return
            health = unreachable() if not reachable(found) else await self._asked(found)
            if health is not None:
                status, reason = health
                now = self._services.clock.now()
                await store.run(lambda tx: cluster_health.store(tx, uuid, status, reason, now))

    async def _asked(self, cluster: Cluster) -> Health | None:
        """Return the health; UNKNOWN after several attempts without an answer, None before."""
        try:
            async with asyncio.timeout(LIMIT_S):
                health = await self._answered(cluster)
        except (
            aiohttp.ClientError,
            OSError,
            TimeoutError,
            CloudFault,
            Rejected,
            ValueError,
        ) as why:
            misses = self._misses[cluster.uuid] = self._misses.get(cluster.uuid, 0) + 1
            if misses < MISSES_MAX:
                return None
            words = str(why) or f"no answer within {LIMIT_S:.0f} s"
            moment = datetime.fromtimestamp(self._services.clock.now(), UTC)
            return UNKNOWN, {"api": words[:255], "updated_at": moment.isoformat(timespec="seconds")}
        self._misses.pop(cluster.uuid, None)
        return health

    async def _answered(self, cluster: Cluster) -> Health:
        """Return the health that the API answers. Raises what asking it can raise."""
        assert cluster.api_address is not None
        context = None
        if cluster.api_address.startswith("https://"):
            client = await service_client(self._services, cluster)
            ca = await trusted(self._services, cluster)
            context = _context(ca, client.certificate, client.private_key)
        connector = aiohttp.TCPConnector(ssl=context if context is not None else True)
        async with aiohttp.ClientSession(connector=connector) as session:
            api = await _text(session, f"{cluster.api_address}/healthz")
            nodes = await _text(session, f"{cluster.api_address}/api/v1/nodes")
        return judged(api, json.loads(nodes))


async def _text(session: aiohttp.ClientSession, url: str) -> str:
    """Return the body of an answer. Raises ValueError for one that is too long."""
    async with session.get(url, allow_redirects=False) as answer:
        body: Any = await answer.content.read(BYTES_MAX + 1)
        while len(body) <= BYTES_MAX and (more := await answer.content.read(BYTES_MAX)):
            body += more
        if len(body) > BYTES_MAX:
            raise ValueError(f"{url}: the answer is longer than {BYTES_MAX} bytes")
        return str(body.decode("utf-8", "replace"))


def _context(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """Return a context that trusts only the cluster's authority, and shows the certificate.

    The standard library loads client certificates from files only, so a private one exists for a
    moment.
    """
    context = ssl.create_default_context(cadata=ca)
    context.check_hostname = False  # addresses change, and the authority belongs to this cluster
    handle, name = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "w") as file:
            file.write(certificate + key)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)
    return context
