"""The stand-in for Kubernetes: with a real etcd, over TLS."""

import datetime as dt
import ipaddress
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hearth_devcloud.kubernetes.api import MASTERS, NODES
from hearth_devcloud.kubernetes.node import Facts, register, report
from hearth_devcloud.kubernetes.served import ApiServer, client_context, server_context
from hearth_devcloud.kubernetes.storage import Etcd
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]


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
    authority.issue("admin", "admin", MASTERS)
    for name in ("n-1", "n-2", "n-3"):
        authority.issue(name, f"system:node:{name}", NODES)
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
        own = client_context(*(str(folder / n) for n in ("ca.crt", "admin.crt", "admin.key")))
        context = server_context(str(folder))
        server = ApiServer(("127.0.0.1", port), Etcd(own_url, own), context, "v1.31.4")
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


def facts(name: str = "n-1", *taints: str) -> Facts:
    labels = ["magnum.openstack.org/role=worker"]
    return Facts(name, "10.0.0.5", "v1.31.4", "a" * 32, labels, list(taints))


@pytest.fixture
def nodes(api: Running) -> Iterator[None]:
    """Two workers and a master, without pods."""
    for pod in api.call("GET", "/api/v1/pods")[1]["items"]:
        controlled = {"metadata": {"ownerReferences": None, "annotations": None}}
        own = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
        assert api.call("PATCH", own, controlled)[0] == 200
        assert api.call("DELETE", own)[0] == 200
    for name in ("n-1", "n-2", "n-3"):
        api.call("DELETE", f"/api/v1/nodes/{name}")
    for name in ("n-1", "n-2"):
        register(api.url, facts(name), api.context(name))
    register(api.url, facts("n-3", "master=:NoSchedule"), api.context("n-3"))
    yield
    for name in ("n-2", "n-3"):
        api.call("DELETE", f"/api/v1/nodes/{name}")


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
    other.issue("fake", "admin", MASTERS)
    context = api.context(None)
    context.load_cert_chain(tmp_path / "fake.crt", tmp_path / "fake.key")
    with pytest.raises((urllib.error.URLError, ssl.SSLError, ConnectionError)):
        urllib.request.urlopen(f"{api.url}/api/v1/nodes", timeout=5, context=context).read()


def test_a_node_registers_and_reports(api: Running):
    register(api.url, facts(), api.context("n-1"))
    first = api.call("GET", "/api/v1/nodes/n-1")[1]
    assert report(api.url, facts(), api.context("n-1"))
    second = api.call("GET", "/api/v1/nodes/n-1")[1]
    assert first["metadata"]["uid"] == second["metadata"]["uid"]
    assert int(second["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])
    (ready,) = second["status"]["conditions"]
    assert ready["status"] == "True"
    assert second["metadata"]["labels"]["magnum.openstack.org/role"] == "worker"
    assert second["status"]["nodeInfo"]["machineID"] == "a" * 32


def test_a_node_that_starts_again_stays_cordoned(api: Running, nodes: None):
    patch = {"spec": {"unschedulable": True, "taints": []}}
    assert api.call("PATCH", "/api/v1/nodes/n-3", patch)[0] == 200
    register(api.url, facts("n-3", "master=:NoSchedule"), api.context("n-3"))
    assert api.call("GET", "/api/v1/nodes/n-3")[1]["spec"] == patch["spec"]


def test_a_deleted_node_comes_back_only_when_its_process_starts(api: Running, nodes: None):
    assert api.call("DELETE", "/api/v1/nodes/n-2")[0] == 200
    assert not report(api.url, facts("n-2"), api.context("n-2"))
    assert api.call("GET", "/api/v1/nodes/n-2")[0] == 404
    register(api.url, facts("n-2"), api.context("n-2"))
    assert api.call("GET", "/api/v1/nodes/n-2")[0] == 200


def test_a_node_writes_no_other_node(api: Running):
    with pytest.raises(urllib.error.HTTPError, match="403"):
        register(api.url, facts("n-2"), api.context("n-1"))
    status, body = api.call("DELETE", "/api/v1/nodes/n-1", who="n-1")
    assert (status, body["reason"]) == (403, "Forbidden")
    assert api.call("POST", "/api/v1/nodes", {"metadata": {"name": "x"}}, who="stranger")[0] == 403
    eviction = "/api/v1/namespaces/default/pods/p/eviction"
    assert api.call("POST", eviction, {}, who="n-1")[0] == 403
    assert api.call("GET", "/api/v1/nodes", who="stranger")[0] == 200


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


@pytest.fixture
def kubectl(api: Running, tmp_path: Path) -> Callable[..., str]:
    """The real command; it returns what it prints."""
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (package kubernetes-client)")
    options = [f"--server={api.url}", f"--certificate-authority={api.folder}/ca.crt",
               f"--client-certificate={api.folder}/admin.crt",
               f"--client-key={api.folder}/admin.key", f"--cache-dir={tmp_path}"]  # fmt: skip

    def run(*words: str, given: str = "", status: int = 0) -> str:
        done = subprocess.run(["kubectl", "--kubeconfig=/dev/null", *options, *words], input=given,
                              capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    return run


def test_kubectl_lists_the_nodes(api: Running, nodes: None, kubectl: Callable[..., str]):
    header, node, *_ = kubectl("get", "nodes").splitlines()
    assert header.split() == ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]
    assert node.split()[:3] == ["n-1", "Ready", "<none>"]
    assert node.split()[-1] == "v1.31.4"
    assert json.loads(kubectl("get", "node", "n-1", "-o", "json"))["metadata"]["name"] == "n-1"
    assert re.search(r"^default +Active +\d+s$", kubectl("get", "namespaces"), re.MULTILINE)
    assert "pods" in kubectl("api-resources")
    kubectl("label", "node", "n-1", "node-role.kubernetes.io/worker=")
    assert " worker " in kubectl("get", "nodes")
    kubectl("taint", "node", "n-1", "k=v:NoExecute")
    kubectl("patch", "node", "n-1", "--type=json", "-p",
            '[{"op": "add", "path": "/metadata/labels/x", "value": "y"}]')  # fmt: skip
    found = json.loads(kubectl("get", "node", "n-1", "-o", "json"))
    assert found["metadata"]["labels"]["x"] == "y"
    assert found["spec"]["taints"] == [{"key": "k", "value": "v", "effect": "NoExecute"}]


def pod(name: str, node: str | None = None, owner: str | None = None, **annotations: str) -> str:
    """A pod as a file for kubectl; its controller is KIND/NAME."""
    meta: dict[str, Any] = {"name": name, "annotations": annotations}
    if owner is not None:
        kind, _, named = owner.partition("/")
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": named, "uid": f"u-{named}",
                     "controller": True}  # fmt: skip
        meta["ownerReferences"] = [reference]
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
    if node is not None:
        spec["nodeName"] = node
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def placed(kubectl: Callable[..., str]) -> dict[str, str]:
    """The node of each pod."""
    rows = kubectl("get", "pods", "-A", "-o", "wide", "--no-headers").splitlines()
    return {row.split()[1]: row.split()[-1] for row in rows if not row.startswith("No resources")}


def test_kubectl_drains_a_node(api: Running, nodes: None, kubectl: Callable[..., str]):
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "proxy"}}
    kubectl("create", "-f", "-", given=json.dumps(daemon))
    assert "proxy" in kubectl("get", "daemonsets")
    kubectl("run", "bare", "--image=i")
    assert placed(kubectl) == {"bare": "n-1"}
    for text in (
        pod("web-1", "n-1", "ReplicaSet/web"), pod("proxy-1", "n-1", "DaemonSet/proxy"),
        pod("static-n-1", "n-1", **{"kubernetes.io/config.mirror": "x"}),
    ):  # fmt: skip
        kubectl("create", "-f", "-", given=text)
    listed = api.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn-1")[1]["items"]
    assert len(listed) == 4
    assert api.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn-2")[1]["items"] == []
    kubectl("cordon", "n-1")
    assert "Ready,SchedulingDisabled" in kubectl("get", "node", "n-1")
    refused = kubectl("drain", "n-1", status=1)
    assert "DaemonSet-managed" in refused
    said = kubectl("drain", "n-1", "--ignore-daemonsets", "--force", "--timeout=30s")
    assert "evicting pod default/bare" in said
    after = placed(kubectl)
    assert "bare" not in after
    (moved,) = [name for name in after if name.startswith("web-")]
    assert moved != "web-1"
    assert after == {moved: "n-2", "proxy-1": "n-1", "static-n-1": "n-1"}
    kubectl("delete", "node", "n-1")
    assert placed(kubectl) == {moved: "n-2"}
    kubectl("cordon", "n-2")
    kubectl("run", "waits", "--image=i")
    assert "Pending" in kubectl("get", "pod", "waits")
    kubectl("uncordon", "n-2")
    assert placed(kubectl)["waits"] == "n-2"
    kubectl("delete", "daemonset", "proxy")


def test_what_a_drain_does_not_use_is_refused(api: Running, nodes: None):
    assert api.call("GET", "/api/v1/pods?fieldSelector=spec.color%3Dred")[0] == 400
    assert api.call("GET", "/api/v1/pods?watch=1")[0] == 405
    assert api.call("DELETE", "/api/v1/nodes/n-1?dryRun=All")[0] == 400
    eviction = "/api/v1/namespaces/default/pods/nobody/eviction"
    assert api.call("POST", eviction, {"kind": "Eviction"})[0] == 404
    assert api.call("POST", "/api/v1/nodes", [])[0] == 400
    strange = {"metadata": {"name": "x"}, "status": {"conditions": "none"}}
    assert api.call("POST", "/api/v1/nodes", strange)[0] == 422
    patch = "application/json-patch+json"
    bad = [{"op": "remove", "path": "/metadata/nothing"}]
    assert api.call("PATCH", "/api/v1/nodes/n-1", bad, **{"Content-Type": patch})[0] == 422
