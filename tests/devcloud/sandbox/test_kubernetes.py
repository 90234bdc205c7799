"""The stand-in for Kubernetes: with a real etcd, over TLS."""

import datetime as dt
import ipaddress
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hearth.devcloud.sandbox import kubernetes

pytestmark = pytest.mark.slow


class Authority:
    """A CA, and certificates of it in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
        self._write("ca", self.key, self._signed(self.name, self.key, ca=True))

    def issue(self, name: str, common_name: str, organisation: str | None = None) -> None:
        parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        if organisation:
            parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
        key = ec.generate_private_key(ec.SECP256R1())
        self._write(name, key, self._signed(x509.Name(parts), key))

    def _signed(self, subject: x509.Name, key: Any, *, ca: bool = False) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        built = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        )
        return built.sign(self.key, hashes.SHA256())

    def _write(self, name: str, key: Any, certificate: x509.Certificate) -> None:
        pem = serialization.Encoding.PEM
        plain = serialization.NoEncryption()
        kind = serialization.PrivateFormat.PKCS8
        (self.folder / f"{name}.key").write_bytes(key.private_bytes(pem, kind, plain))
        (self.folder / f"{name}.crt").write_bytes(certificate.public_bytes(pem))


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


class Running:
    """An API of the stand-in."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port, self.url = folder, port, f"https://127.0.0.1:{port}"

    def context(self, who: str | None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        if who is not None:
            context.load_cert_chain(self.folder / f"{who}.crt", self.folder / f"{who}.key")
        return context

    def call(
        self, method: str, path: str, body: Any = None, *, who: str | None = "admin", **headers: str
    ) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            answer = urllib.request.urlopen(asked, timeout=5, context=self.context(who))
        except urllib.error.HTTPError as problem:
            return problem.code, json.load(problem)
        with answer:
            raw = answer.read().decode()
            return answer.status, json.loads(raw) if raw.startswith("{") else raw


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    if shutil.which("etcd") is None:
        pytest.skip("needs etcd (package etcd-server)")
    folder = tmp_path_factory.mktemp("pki")
    authority = Authority(folder)
    authority.issue("apiserver", "kubernetes")
    authority.issue("admin", "admin", kubernetes.MASTERS)
    authority.issue("kubelet", "system:node:n-1", kubernetes.NODES)
    authority.issue("stranger", "somebody")
    client, peer, port = free_port(), free_port(), free_port()
    tls = [f"--cert-file={folder}/apiserver.crt", f"--key-file={folder}/apiserver.key",
           f"--trusted-ca-file={folder}/ca.crt", "--client-cert-auth"]  # fmt: skip
    own_url = f"https://127.0.0.1:{client}"
    command = [
        "etcd", f"--data-dir={folder}/data", f"--listen-client-urls={own_url}",
        f"--advertise-client-urls={own_url}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
        "--log-level=error", *tls,
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as etcd:
        own = kubernetes.client_context(
            *(str(folder / n) for n in ("ca.crt", "admin.crt", "admin.key"))
        )
        store = kubernetes.Etcd(own_url, own)
        context = kubernetes.server_context(str(folder))
        server = kubernetes.Server(("127.0.0.1", port), store, context, "v1.31.4")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running = Running(folder, port)
        deadline = time.monotonic() + 20
        while running.call("GET", "/healthz", who=None)[0] != 200:
            assert time.monotonic() < deadline, "etcd does not start"
            time.sleep(0.1)
        yield running
        server.shutdown()
        thread.join()
        server.server_close()
        etcd.terminate()


def report(api: Running, name: str = "n-1", **more: Any) -> None:
    labels = ["magnum.openstack.org/role=worker"]
    given = {
        "api": api.url, "name": name, "address": "10.0.0.5", "version": "v1.31.4",
        "machine": "a" * 32, "label": labels, "taint": [], **more,
    }  # fmt: skip
    kubernetes.report(SimpleNamespace(**given), api.context("kubelet"))


def test_health_and_version_need_no_certificate(api: Running):
    assert api.call("GET", "/healthz", who=None) == (200, "ok")
    assert api.call("GET", "/version", who=None)[1]["gitVersion"] == "v1.31.4"


@pytest.mark.parametrize("path", ["/api", "/api/v1/nodes", "/apis", "/api/v1/namespaces"])
def test_everything_else_needs_one(api: Running, path: str):
    status, body = api.call("GET", path, who=None)
    assert (status, body["reason"]) == (401, "Unauthorized")
    assert api.call("GET", path)[0] == 200


def test_a_certificate_of_another_authority_is_refused(api: Running, tmp_path: Path):
    other = Authority(tmp_path)
    other.issue("fake", "admin", kubernetes.MASTERS)
    context = api.context(None)
    context.load_cert_chain(tmp_path / "fake.crt", tmp_path / "fake.key")
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        urllib.request.urlopen(f"{api.url}/api/v1/nodes", timeout=5, context=context).read()


def test_a_node_registers_and_reports(api: Running):
    report(api)
    first = api.call("GET", "/api/v1/nodes/n-1")[1]
    report(api)
    second = api.call("GET", "/api/v1/nodes/n-1")[1]
    assert first["metadata"]["uid"] == second["metadata"]["uid"]
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    (ready,) = second["status"]["conditions"]
    assert ready["status"] == "True"
    assert second["metadata"]["labels"]["magnum.openstack.org/role"] == "worker"
    assert second["status"]["nodeInfo"]["machineID"] == "a" * 32


def test_a_node_writes_no_other_node(api: Running):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        report(api, "n-2")
    status, body = api.call("DELETE", "/api/v1/nodes/n-1", who="kubelet")
    assert (status, body["reason"]) == (403, "Forbidden")
    assert api.call("POST", "/api/v1/nodes", {"metadata": {"name": "x"}}, who="stranger")[0] == 403
    assert api.call("GET", "/api/v1/nodes", who="stranger")[0] == 200


def test_a_silent_node_is_not_ready():
    then = kubernetes.stamp(time.time() - kubernetes.SILENT_S - 1)
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": then}
    body = {"status": {"conditions": [ready]}}
    assert kubernetes.shown(body)["status"]["conditions"][0]["status"] == "Unknown"


@pytest.mark.parametrize(
    ("selector", "fits"),
    [("", True), ("a=b", True), ("a==b", True), ("a=c", False), ("a!=c", True), ("a!=b", False),
     ("a", True), ("x", False), ("!x", True), ("!a", False), ("a=b,x", False)],
)  # fmt: skip
def test_labels_select_objects(selector: str, fits: bool):
    assert kubernetes.selected({"metadata": {"labels": {"a": "b"}}}, selector) is fits


def test_objects_are_made_changed_and_deleted(api: Running):
    pod = {"metadata": {"name": "p"}, "status": {"phase": "Running"}}
    assert api.call("POST", "/api/v1/namespaces/default/pods", pod)[0] == 201
    status, body = api.call("POST", "/api/v1/namespaces/default/pods", pod)
    assert (status, body["reason"]) == (409, "AlreadyExists")
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert api.call("PATCH", "/api/v1/namespaces/default/pods/p", patch)[0] == 200
    (found,) = api.call("GET", "/api/v1/pods")[1]["items"]
    assert found["metadata"]["labels"] == {"a": "b"}
    assert api.call("GET", "/api/v1/namespaces/kube-system/pods")[1]["items"] == []
    assert api.call("DELETE", "/api/v1/namespaces/default/pods/p")[0] == 200
    assert api.call("GET", "/api/v1/namespaces/default/pods/p")[0] == 404


def test_kubectl_lists_the_nodes(api: Running, tmp_path: Path):
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (package kubernetes-client)")
    report(api)
    options = [f"--server={api.url}", f"--certificate-authority={api.folder}/ca.crt",
               f"--client-certificate={api.folder}/admin.crt",
               f"--client-key={api.folder}/admin.key", f"--cache-dir={tmp_path}"]  # fmt: skip

    def kubectl(*words: str) -> str:
        done = subprocess.run(["kubectl", "--kubeconfig=/dev/null", *options, *words],
                              capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    header, node = kubectl("get", "nodes").splitlines()
    assert header.split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert node.split()[:3] == ["n-1", "Ready", "<none>"]
    assert node.split()[-1] == "v1.31.4"
    assert json.loads(kubectl("get", "node", "n-1", "-o", "json"))["metadata"]["name"] == "n-1"
    assert "default" in kubectl("get", "namespaces")
    kubectl("label", "node", "n-1", "node-role.kubernetes.io/worker=")
    assert " worker " in kubectl("get", "nodes")
