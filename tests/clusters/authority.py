"""A cluster API that only signs certificates, and gives nodes their credential."""

import datetime as dt
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM


class Authority:
    """A CA."""

    def __init__(self, name: str) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        limits = x509.BasicConstraints(ca=True, path_length=0)
        built = self._begun(self.name, self.key.public_key()).add_extension(limits, critical=True)
        self.pem = built.sign(self.key, hashes.SHA256()).public_bytes(PEM).decode()

    def sign(self, csr: str) -> str:
        """A certificate with the subject and the extensions of a request."""
        wanted = x509.load_pem_x509_csr(csr.encode())
        assert wanted.is_signature_valid
        built = self._begun(wanted.subject, wanted.public_key())
        for one in wanted.extensions:
            built = built.add_extension(one.value, one.critical)
        return built.sign(self.key, hashes.SHA256()).public_bytes(PEM).decode()

    def issue(self, folder: Path, name: str, common_name: str, organisation: str) -> None:
        """A key and a certificate in files."""
        parts = [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
        key = ec.generate_private_key(ec.SECP256R1())
        built = self._begun(x509.Name(parts), key.public_key())
        pem = built.sign(self.key, hashes.SHA256()).public_bytes(PEM)
        (folder / f"{name}.crt").write_bytes(pem)
        kind, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / f"{name}.key").write_bytes(key.private_bytes(PEM, kind, plain))

    def _begun(self, subject: x509.Name, key: Any) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=30))
        )


class ClusterApi:
    """What nodes ask: `authorities` by kind; `calls` are (method, kind, common name)."""

    def __init__(self, credential: dict[str, str]) -> None:
        self.credential = credential
        kinds = ("kubernetes", "etcd", "front-proxy")
        self.authorities = {kind: Authority(kind) for kind in kinds}
        self.calls: list[tuple[str, str]] = []
        self.url = ""

    def answer(self, method: str, target: str, body: Any, token: str | None) -> tuple[int, Any]:
        path = urlsplit(target)
        if path.path == "/credential":
            return 200, self.credential
        if not token:
            return 401, {"errors": []}
        kind = parse_qs(path.query).get("ca_cert_type", ["kubernetes"])[0]
        if method == "GET":
            self.calls.append((method, kind))
            return 200, {"pem": self.authorities[kind].pem}
        self.calls.append((method, body["ca_cert_type"]))
        return 201, {"pem": self.authorities[body["ca_cert_type"]].sign(body["csr"])}


@contextmanager
def cluster_api(credential: dict[str, str]) -> Iterator[ClusterApi]:
    """The API on a port."""
    api = ClusterApi(credential)

    class Handler(BaseHTTPRequestHandler):
        def _handle(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            token = self.headers.get("X-Auth-Token")
            status, found = api.answer(self.command, self.path, body, token)
            data = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _handle  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        api.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
