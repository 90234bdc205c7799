"""A Kubernetes API that knows nodes and pods, for clients with a certificate of a cluster."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from hearth.clusters.objects import Cluster
from hearth.service.clusters import certificates
from tests.conductor.world import World


@dataclass
class Kubernetes:
    """Every node that somebody asks for exists, unless it was deleted; `log` is what happened."""

    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)  # pods that a disruption budget keeps
    unready: set[str] = field(default_factory=set)
    log: list[str] = field(default_factory=list)
    on_cordon: Callable[[], Awaitable[None]] | None = None

    def pod(self, node: str, name: str, **meta: Any) -> None:
        """Let a pod run on a node."""
        made = {"metadata": {"namespace": "default", "name": name, **meta}}
        self.pods.setdefault(node, []).append(made)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        words = request.path.strip("/").split("/")
        match request.method, words:
            case "GET", ["api", "v1", "nodes", name]:
                return web.json_response(self._node(name))
            case "PATCH", ["api", "v1", "nodes", name]:
                change = await request.json()
                self._node(name)["spec"] |= change["spec"]
                if self.on_cordon is not None:
                    await self.on_cordon()
                self.log.append(f"cordon {name}")
                return web.json_response(self._node(name))
            case "DELETE", ["api", "v1", "nodes", name]:
                self.log.append(f"forget {name}")
                return web.json_response({})
            case "GET", ["api", "v1", "pods"]:
                node = request.query["fieldSelector"].removeprefix("spec.nodeName=")
                return web.json_response({"items": self.pods.get(node, [])})
            case "POST", ["api", "v1", "namespaces", _, "pods", name, "eviction"]:
                if name in self.kept:
                    return web.json_response({"message": "budget"}, status=429)
                self.log.append(f"evict {name}")
                for pods in self.pods.values():
                    pods[:] = [pod for pod in pods if pod["metadata"]["name"] != name]
                return web.json_response({}, status=201)
            case "GET", ["healthz"]:
                return web.Response(text="ok")
        return web.json_response({"items": []})

    def _node(self, name: str) -> dict[str, Any]:
        ready = "False" if name.rpartition("-node-")[2] in self.unready else "True"
        known = self.nodes.setdefault(name, {"metadata": {"name": name}, "spec": {}})
        return known | {"status": {"conditions": [{"type": "Ready", "status": ready}]}}


@contextlib.asynccontextmanager
async def served(here: World, cluster: Cluster, folder: Path, answer: Any) -> AsyncIterator[str]:
    """Serve an API with a certificate of the cluster; yield its address."""
    key = rsa.generate_private_key(65537, 2048)
    wanted = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name.from_rfc4514_string("CN=kubernetes")
    )
    text = wanted.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    pem = await certificates.signed(here.services, here.caller, cluster, text)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )  # fmt: skip
    (folder / "server.pem").write_bytes(pem.encode() + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(
        cadata=await certificates.ca_certificate(here.services, here.caller, cluster)
    )
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"https://127.0.0.1:{port}"
    finally:
        await runner.cleanup()
