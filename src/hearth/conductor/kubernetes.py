"""A client for the Kubernetes API of a cluster, which uses the service's client certificate.

A cluster belongs to a user and its responses are not trusted, so their size and the time of a call
are limited.
"""

import asyncio
import ipaddress
import json
import os
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp

from hearth.cloud.answers import BadAnswer, read_bounded
from hearth.cloud.fault import CloudFault
from hearth.cloud.guard import Guard
from hearth.cloud.guarded import guarded_connector
from hearth.clusters.objects import Cluster
from hearth.conductor.address import url_of
from hearth.conductor.api_url import reachable_url
from hearth.model.json_text import parse_json
from hearth.model.problem import Rejected
from hearth.service.clusters.certificates import service_client, trusted
from hearth.service.services import Services

LIMIT_S = 10.0
BYTES_MAX = 8 * 1024 * 1024  # a node with all its labels has some kilobytes
LOOPBACK = (ipaddress.ip_network("127.0.0.1"),)  # local ports of the embedded cloud
CONTAINERS_MAX = 200_000  # lists and maps of an answer; they take more memory than their text
SILENT = (aiohttp.ClientError, OSError, TimeoutError, CloudFault, Rejected, ValueError)
"""The exceptions of a call to an API that cannot be reached or whose response is invalid."""

_PATCH = "application/merge-patch+json"
Object = Mapping[str, Any]


class KubernetesError(Exception):
    """The API answered with an error status; the message contains the text of the response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KubernetesApi:
    """A client for the Kubernetes API with the calls that conductors need.

    A method raises one of the exceptions in SILENT, or KubernetesError.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url

    async def text(self, path: str) -> str:
        """Return the body of a GET response as text, even if the status is an error."""
        return (await self._call("GET", path))[1]

    async def node(self, name: str) -> Object | None:
        """Return the node with this name, or None if it does not exist."""
        try:
            return await self._object("GET", _node(name))
        except KubernetesError as refused:
            if refused.status == 404:
                return None
            raise

    async def cordon(self, name: str) -> None:
        """Cordon a node, so that no new pods start on it."""
        await self._object("PATCH", _node(name), {"spec": {"unschedulable": True}})

    async def pods(self, node: str) -> list[Object]:
        """Return all pods on a node."""
        query = urlencode({"fieldSelector": f"spec.nodeName={node}"})
        items = (await self._object("GET", f"/api/v1/pods?{query}")).get("items")
        return [pod for pod in items or () if isinstance(pod, dict)]

    async def evict(self, namespace: str, name: str) -> bool:
        """Request the eviction of a pod; return false if a disruption budget forbids it now."""
        meta = {"namespace": namespace, "name": name}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(name, safe='')}"
        try:
            await self._object("POST", f"{path}/eviction", body)
        except KubernetesError as refused:
            if refused.status == 429:
                return False
            if refused.status != 404:
                raise
        return True

    async def forget(self, name: str) -> None:
        """Delete the node object of a node whose server is removed; "not found" is success."""
        try:
            await self._object("DELETE", _node(name))
        except KubernetesError as refused:
            if refused.status != 404:
                raise

    async def _object(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """Send a request and return the JSON object of the response.

        Raises KubernetesError for an error status.
        """
        status, text = await self._call(method, path, body)
        answer = parse_json(text) if text else {}
        if not isinstance(answer, dict):
            raise ValueError(f"{method} {path}: the answer is not a JSON object")
        if status >= 400:
            raise KubernetesError(
                status, f"{method} {path}: {status} {answer.get('message') or ''}"[:500]
            )
        return answer

    async def _call(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        headers = {"Content-Type": _PATCH if method == "PATCH" else "application/json"}
        data = None if body is None else json.dumps(body)
        url = self._url + path
        async with (
            asyncio.timeout(LIMIT_S),
            self._session.request(
                method, url, data=data, headers=headers, allow_redirects=False
            ) as answer,
        ):
            try:
                content = await read_bounded(answer, BYTES_MAX)
            except BadAnswer:
                message = f"the answer is longer than {BYTES_MAX} bytes or unreadable"
                raise ValueError(f"{url}: {message}") from None
        if content.count(b"{") + content.count(b"[") > CONTAINERS_MAX:
            raise ValueError(f"{url}: the answer has more than {CONTAINERS_MAX} lists and maps")
        return answer.status, content.decode("utf-8", "replace")


@asynccontextmanager
async def kubernetes_api(services: Services, cluster: Cluster) -> AsyncIterator[KubernetesApi]:
    """Yield a client for the Kubernetes API of a cluster, which must have an API address.

    The client uses a certificate only if the cluster has TLS. It connects to public addresses and
    to configured networks only, because users decide which address the cluster has. Raises one of
    the exceptions in SILENT.
    """
    api_address = url_of(cluster)
    context = None
    if cluster.ca_cert_ref is not None:
        client = await service_client(services, cluster)
        ca = await trusted(services, cluster)
        context = _context(ca, client.certificate, client.private_key)
    url = await reachable_url(services, api_address)
    networks = services.clusters.networks if url == api_address else LOOPBACK
    connector = guarded_connector(Guard(networks), ssl=context if context is not None else True)
    async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as session:
        yield KubernetesApi(session, url)


def _node(name: str) -> str:
    return f"/api/v1/nodes/{quote(name, safe='')}"


def _context(ca: str, certificate: str, key: str) -> ssl.SSLContext:
    """Return a TLS context that trusts only the cluster's authority and uses the client
    certificate.

    The standard library loads client certificates only from files, so the key is in a temporary
    file for a moment. Only the current user can read it.
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
