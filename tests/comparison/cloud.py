"""The embedded cloud for a Heat whose tokens it does not know: a proxy with tokens of its own.

Unless `writes` is set, it lets nothing be changed: a preview only reads.
"""

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import requests

TIMEOUT_S = 60
READS = ("GET", "HEAD")
METHODS = (*READS, "POST", "PUT", "PATCH", "DELETE")
TOKEN = "x-auth-token"
OF_ONE_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "host"}
SERVICES: Mapping[str, str] = {
    "alarming": "/alarming",
    "baremetal": "/baremetal",
    "block-storage": "/volume/v3/{project}",
    "compute": "/compute/v2.1",
    "container": "/application-container/v1",
    "container-infra": "/container-infra/v1",
    "database": "/database/v1.0/{project}",
    "dns": "/dns",
    "image": "/image",
    "key-manager": "/key-manager",
    "load-balancer": "/load-balancer",
    "messaging": "/messaging",
    "network": "/network",
    "object-store": "/object-store/v1/AUTH_{project}",
    "reservation": "/reservation/v1",
    "sharev2": "/shared-file-system/v2",
    "volumev3": "/volume/v3/{project}",
    "workflowv2": "/workflow/v2",
}
"""Where the services are, by the type under which Heat looks for them. Identity is its own."""


@dataclass
class Proxy:
    """The address at which Heat finds the cloud, and the writes that it asked for."""

    url: str
    cloud_url: str
    tokens: Mapping[str, str]  # of devcloud, by the name of the user
    writes: bool = False
    refused: list[str] = field(default_factory=list)


@contextmanager
def proxied(
    cloud_url: str, tokens: Mapping[str, str], port: int, *, writes: bool = False
) -> Iterator[Proxy]:
    """Answer at a port with what the cloud answers to the user of the same name."""
    proxy = Proxy("", cloud_url, tokens, writes)
    methods = {f"do_{method}": _Handler.answer for method in METHODS}
    handler = type("Handler", (_Handler,), {"proxy": proxy, **methods})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    proxy: Proxy

    def answer(self) -> None:
        """Pass a request on, if it may be."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.command not in READS and not self.proxy.writes:
            self.proxy.refused.append(f"{self.command} {self.path}")
            self._send(403, {}, b'{"forbidden": {"code": 403, "message": "reads only"}}')
            return
        headers = {n: v for n, v in self.headers.items() if n.lower() not in OF_ONE_HOP | {TOKEN}}
        headers["Accept-Encoding"] = "identity"
        if token := self.headers.get(TOKEN):
            headers[TOKEN] = self.proxy.tokens[user_of(token)]
        reply = requests.request(
            self.command, self.proxy.cloud_url + self.path, headers=headers, data=body,
            allow_redirects=False, timeout=TIMEOUT_S,
        )  # fmt: skip
        there, here = self.proxy.cloud_url, self.proxy.url
        told = {n: v.replace(there, here) for n, v in reply.headers.items()}
        self._send(reply.status_code, told, reply.content.replace(there.encode(), here.encode()))

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in {*OF_ONE_HOP, "server", "date"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *told: Any) -> None:
        """Print nothing."""


def user_of(token: str) -> str:
    """`admin` or `demo`: the user that a token of the stand-in identity speaks of."""
    for start in range(min(len(token), 16)):  # a mark stands before what is encoded
        try:
            claims = json.loads(base64.urlsafe_b64decode(token[start:] + "=="))
        except ValueError:
            continue
        if isinstance(claims, dict) and "user" in claims:
            return "admin" if claims["user"] == "admin" else "demo"
    return "admin" if token == "admin" else "demo"
