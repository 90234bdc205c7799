"""The HTTP server of the Kubernetes API in a sandbox server, with one thread per connection."""

from __future__ import annotations

import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .api import BODY_MAX, Answer, Api, Request, caller_of, failure
from .objects import Cluster, stamp
from .storage import TIMEOUT_S, Storage


class Handler(BaseHTTPRequestHandler):
    """Handles the HTTP requests on one connection."""

    protocol_version = "HTTP/1.1"
    timeout = 120
    server: ApiServer

    def setup(self) -> None:
        if self.server.context is not None:
            self.request.settimeout(TIMEOUT_S)
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if self.server.context is not None:
            self.request.close()  # the base class only closes the socket without TLS

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        sys.stderr.write(f"{stamp()} {self.address_string()} {format % args}\n")

    def _handle(self) -> None:
        answer = self._answer()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.data)))
        self.end_headers()
        self.wfile.write(answer.data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815

    def _answer(self) -> Answer:
        size = self.headers.get("Content-Length") or "0"
        if not size.isdecimal() or int(size) > BODY_MAX:
            self.close_connection = True
            message = f"the request needs a Content-Length of at most {BODY_MAX} bytes"
            return refusal(413, "RequestEntityTooLarge", message)
        raw = self.rfile.read(int(size))
        headers = {name.lower(): value for name, value in self.headers.items()}
        tls = self.server.context is not None
        caller = caller_of(self.connection.getpeercert()) if tls else None
        return self.server.api.answer(Request(self.command, self.path, headers, raw), caller)


def refusal(status: int, reason: str, message: str) -> Answer:
    """Return an error response for a request whose body has not been read."""
    return Answer(status, "application/json", json.dumps(failure(status, reason, message)).encode())


class ApiServer(ThreadingHTTPServer):
    """The API server of one control plane node."""

    daemon_threads = True

    def __init__(
        self,
        address: tuple[str, int],
        storage: Storage,
        context: ssl.SSLContext | None,
        version: str,
    ) -> None:
        super().__init__(address, Handler)
        self.context = context
        self.api = Api(Cluster(storage), version, tls=context is not None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log one line instead of a traceback, because most errors are failed TLS handshakes."""
        sys.stderr.write(f"{stamp()} {client_address[0]}: {sys.exc_info()[1]}\n")


def server_context(files: str) -> ssl.SSLContext:
    """Return the TLS context of the API server, with the certificates in the folder `files`.

    Client certificates are optional; they must be signed by the authority of the cluster.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(f"{files}/apiserver.crt", f"{files}/apiserver.key")
    context.load_verify_locations(f"{files}/ca.crt")
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def client_context(ca: str, certificate: str, private_key: str) -> ssl.SSLContext:
    """Return the TLS context of a client with a certificate. The arguments are paths of files."""
    context = ssl.create_default_context(cafile=ca)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, private_key)
    return context
