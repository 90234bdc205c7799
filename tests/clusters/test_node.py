"""The program of a node: what it decides, and how a member joins etcd."""

import importlib.util
import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from hearth.clusters.config import X509
from hearth.model.problem import Rejected
from hearth.service.clusters.template_files import TEMPLATES
from hearth.service.clusters.worker_request import limited, options_of_worker
from hearth.service.clusters.x509 import new_ca, sign
from tests.clusters.authority import Authority

BASIC = {"mount"}  # a program of every distribution
NODE = {"name": "farm-master-1", "address": "10.0.0.6", "kubernetes_port": 6443}


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The program as a module; what it starts is noted in `started`."""
    spec = importlib.util.spec_from_file_location("node", TEMPLATES / "scripts" / "node.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    started: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(module, "started", started, raising=False)
    monkeypatch.setattr(module, "service", lambda name, line: started.append((name, line)))
    monkeypatch.setattr(module, "program", lambda name: name)
    monkeypatch.setattr(module, "PAUSE_S", 0.01)
    monkeypatch.setattr(module, "FIRST_MASTER_WAIT_S", 0.05)
    monkeypatch.setattr(module, "ETCD_DATA", tmp_path / "etcd")
    return module


class Members:
    """A running etcd, as far as a new member asks it."""

    def __init__(self, *members: dict[str, Any]) -> None:
        self.members = list(members)
        self.calls: list[str] = []

    def answer(self, path: str, body: Any) -> Any:
        self.calls.append(path.rpartition("/")[2])
        if path == "/v3/cluster/member/remove":
            self.members = [one for one in self.members if one["ID"] != body["ID"]]
        elif path == "/v3/cluster/member/add":
            self.members.append({"ID": "99", "peerURLs": body["peerURLs"]})
        return {"members": self.members}


@contextmanager
def running(etcd: Members) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = json.dumps(etcd.answer(self.path, body)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def option(line: list[str], name: str) -> str:
    (found,) = [word for word in line if word.startswith(f"--{name}=")]
    return found.partition("=")[2]


def start(module: Any, etcd: Members, **more: Any) -> list[str]:
    """Start a member beside a running etcd; return its command line."""
    with running(etcd) as port:
        module.CLIENT_PORT = port
        member = module.Etcd({**NODE, "etcd_address": "127.0.0.1", **more}, plain=True)
        member.here = "http://127.0.0.1:1"  # not running yet
        member._healthy = lambda url, asks=member._healthy: bool(module.started) or asks(url)
        member.start()
    ((name, line),) = module.started
    assert name == "etcd"
    return line


FIRST = {"ID": "1", "name": "farm-master-0", "peerURLs": ["http://10.0.0.5:2380"]}


def test_a_member_joins_a_running_etcd(node: Any):
    line = start(node, Members(FIRST))
    assert option(line, "initial-cluster-state") == "existing"
    assert option(line, "initial-cluster") == (
        "farm-master-0=http://10.0.0.5:2380,farm-master-1=http://10.0.0.6:2380"
    )


def test_a_replaced_master_removes_the_member_that_it_was(node: Any):
    former = {"ID": "7", "name": "farm-master-1", "peerURLs": ["http://10.0.0.6:2380"]}
    etcd = Members(FIRST, former)
    start(node, etcd)
    assert [one["ID"] for one in etcd.members] == ["1", "99"]
    assert etcd.calls.index("remove") < etcd.calls.index("add")


def test_the_first_master_that_is_replaced_joins_too(node: Any):
    other = {"ID": "2", "name": "farm-master-1", "peerURLs": ["http://10.0.0.6:2380"]}
    line = start(node, Members(other), name="farm-master-0", address="10.0.0.5")
    assert option(line, "initial-cluster-state") == "existing"


def test_the_first_master_begins_a_cluster(node: Any):
    member = node.Etcd({**NODE, "name": "farm-master-0", "etcd_address": "127.0.0.1"}, plain=True)
    node.CLIENT_PORT = 1
    member._healthy = lambda url: bool(node.started)
    member.start()
    ((_, line),) = node.started
    assert option(line, "initial-cluster-state") == "new"


def test_a_later_master_never_begins_one(node: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(node, "WAIT_S", 0.05)
    member = node.Etcd({**NODE, "etcd_address": "127.0.0.1"}, plain=True)
    member._healthy = lambda url: False
    with pytest.raises(node.SetupFailed, match="members of etcd"):
        member.start()
    assert node.started == []


@pytest.mark.parametrize(
    ("url", "place", "proof"),
    [
        ("http://hearth/v1/nodes/c?secret=a%2Fb", "http://hearth/v1/nodes/c", "a/b"),
        ("http://hearth/v1/nodes/c/a%2Fb", "http://hearth/v1/nodes/c/a%2Fb", ""),
    ],
)
def test_the_secret_of_a_node_is_in_a_header_and_in_no_address(
    node: Any, monkeypatch: pytest.MonkeyPatch, url: str, place: str, proof: str
):
    asked: list[tuple[str, Any]] = []

    def request(method: str, url: str, body: Any = None, headers: Any = None, context: Any = None):
        asked.append((url, headers))
        return {"auth_url": "http://keystone", "trustee_user_id": "u", "trustee_password": "p"}, {
            "X-Subject-Token": "t"
        }

    monkeypatch.setattr(node, "request", request)
    node.CloudAccess({"magnum_url": "http://hearth/v1"}, url).call("GET", "/certificates/c")
    assert asked[0] == (place, {"X-Hearth-Node": proof})
    assert [one for one, _ in asked[1:]] == [
        "http://keystone/v3/auth/tokens", "http://hearth/v1/certificates/c"
    ]  # fmt: skip
    assert asked[2][1] == {"X-Auth-Token": "t", "X-Hearth-Node": proof}


class Signer:
    """The cluster API for a node, with a CA; each certificate is valid for 30 days and one more."""

    def __init__(self) -> None:
        self.ca = Authority("ca")
        self.fails = False
        self.signed: list[str] = []

    def call(self, method: str, path: str, body: Any = None) -> Any:
        if self.fails:
            raise OSError("Hearth does not answer")
        if method == "GET":
            return {"pem": self.ca.pem}
        pem = self.ca.sign(body["csr"])
        self.signed.append(pem)
        return {"pem": pem}


@pytest.fixture
def certificates(node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(node, "program", shutil.which)
    return node.Certificates(Signer(), "c", tmp_path / "pki")


def key_fits(folder: Path, name: str) -> bool:
    """Whether a key in a file is that of the certificate beside it."""
    certificate = x509.load_pem_x509_certificate((folder / f"{name}.crt").read_bytes())
    key = load_pem_private_key((folder / f"{name}.key").read_bytes(), None)
    return certificate.public_key() == key.public_key()


def test_a_renewal_without_an_answer_keeps_the_old_key_and_certificate(
    certificates: Any, tmp_path: Path
):
    folder = tmp_path / "pki"
    certificates.of_node("farm-node-0", "10.0.0.7")
    before = {path: path.read_bytes() for path in folder.glob("*.key")}
    assert sorted(path.name for path in before) == ["kubelet.key", "proxy.key"]
    certificates._cloud.fails = True
    with pytest.raises(OSError, match="does not answer"):
        certificates.of_node("farm-node-0", "10.0.0.7")
    with pytest.raises(OSError, match="does not answer"):
        certificates.issue("kubelet", "system:node:farm-node-0", "system:nodes")
    assert key_fits(folder, "kubelet")
    certificates._cloud.fails = False
    certificates.of_node("farm-node-0", "10.0.0.7")
    assert key_fits(folder, "kubelet")
    assert key_fits(folder, "proxy")
    assert before != {path: path.read_bytes() for path in folder.glob("*.key")}
    assert {path.stat().st_mode & 0o077 for path in folder.glob("*.key")} == {0}
    assert sorted(path.suffix for path in folder.iterdir()) == [".crt"] * 3 + [".key"] * 2


def test_certificates_are_due_after_half_of_their_time(
    node: Any, certificates: Any, tmp_path: Path
):
    certificates.of_node("farm-node-0", "10.0.0.7")
    path, now = tmp_path / "pki" / "kubelet.crt", time.time()
    assert [node.due(path, now + days * 86400) for days in (0, 14, 15, 40)] == [
        False, False, True, True,
    ]  # fmt: skip


class Hearth:
    """The certificates of Hearth for a worker; `refused` are the subjects that it did not sign."""

    def __init__(self) -> None:
        self.ca = new_ca("farm", X509(), time.time())
        self.refused: list[str] = []

    def call(self, method: str, path: str, body: Any = None) -> Any:
        if method == "GET":
            return {"pem": self.ca.certificate}
        options, now = options_of_worker(X509()), time.time()
        try:
            return {"pem": sign(body["csr"], self.ca, options, now, limited=limited).pem}
        except Rejected:
            wanted = x509.load_pem_x509_csr(body["csr"].encode())
            self.refused.append(wanted.subject.rfc4514_string())
            return {"pem": ""}


def test_hearth_signs_what_a_worker_asks_for_and_nothing_of_a_master(
    certificates: Any, node: Any, tmp_path: Path
):
    certificates._cloud = Hearth()
    certificates.of_node("farm-abc-node-0", "10.0.0.7")
    assert certificates._cloud.refused == []
    for name, days in (("kubelet", 8), ("proxy", 8)):
        assert key_fits(tmp_path / "pki", name)
        path = tmp_path / "pki" / f"{name}.crt"
        assert not node.due(path, time.time())
        assert node.due(path, time.time() + days * 86400)
    certificates.of_node("farm-abc-master-0", "10.0.0.5")
    certificates.of_control_plane(
        {**NODE, "name": "farm-abc-master-0", "portal_network_cidr": "10.254.0.0/16"}
    )
    assert sorted(certificates._cloud.refused) == sorted([
        "CN=system:node:farm-abc-master-0,O=system:nodes", "CN=kubernetes",
        "CN=kube-apiserver-kubelet-client,O=system:masters", "CN=admin,O=system:masters",
        "CN=system:kube-controller-manager", "CN=system:kube-scheduler", "CN=front-proxy-client",
        "CN=farm-abc-master-0", "CN=farm-abc-master-0", "CN=kube-apiserver-etcd-client",
    ])  # fmt: skip


class Over(Exception):
    """The test has seen enough of an endless loop."""


def test_a_worker_renews_until_it_has_succeeded(
    node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The first attempt fails after the certificate is new, so only `due` would give up."""
    monkeypatch.setattr(node, "STATE", tmp_path)
    monkeypatch.setattr(node, "PKI", tmp_path)
    settings = {"task": "worker", "name": "farm-node-0"}
    for name, value in (("settings", json.dumps(settings)), ("credential_url", "u"),
                        ("kube_version", "v1.31.0")):  # fmt: skip
        monkeypatch.setenv(name, value)
    node.keep_renewing()
    ((name, line),) = node.started
    assert (name, line[1:]) == ("node-renewal", [str(tmp_path / "node.py"), "renew"])
    assert (tmp_path / "inputs.json").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "node.py").read_text() == Path(node.__file__).read_text()
    attempts: list[Any] = []
    dues = iter([False, True, False, False, False])
    outcomes = iter([node.SetupFailed("no kubelet"), None])
    sleeps = 0

    def set_up(*given: Any) -> None:
        attempts.append(given)
        problem = next(outcomes)
        if problem is not None:
            raise problem

    def sleep(_seconds: float) -> None:
        nonlocal sleeps
        sleeps += 1
        if sleeps == 5:
            raise Over

    monkeypatch.setattr(node, "due", lambda *_: next(dues))
    monkeypatch.setattr(node, "set_up", set_up)
    monkeypatch.setattr(node.time, "sleep", sleep)
    with pytest.raises(Over):
        node.renew_forever()
    assert attempts == [(settings, "u", "v1.31.0")] * 2


@pytest.mark.parametrize(
    ("task", "plain", "renews"),
    [("worker", "False", True), ("worker", "True", False), ("master", "False", False)],
)
def test_only_workers_with_certificates_renew(
    node: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, task: str, plain: str, renews: bool
):
    monkeypatch.setattr(node, "STATE", tmp_path)
    monkeypatch.setattr(node, "set_up", lambda *_: None)
    monkeypatch.setenv("settings", json.dumps({"task": task, "tls_disabled": plain}))
    assert node.main() == 0
    assert [name for name, _ in node.started] == (["node-renewal"] if renews else [])


def test_an_image_without_kubernetes_is_named(node: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(node.shutil, "which", lambda name: None)
    with pytest.raises(node.SetupFailed, match="the image has no kubeadm"):
        node.runtime(NODE, "v1", plain=False)


def test_labels_name_role_and_group(node: Any):
    found = node.labels_of({"role": "gpu", "nodegroup": "big", "node_labels": "a=1,b=2"})
    assert found == ["magnum.openstack.org/role=gpu", "magnum.openstack.org/nodegroup=big",
                     "a=1", "b=2"]  # fmt: skip


def test_options_of_a_command_line_become_a_map(node: Any):
    assert node.options("--v=2 --feature-gates=A=true") == {"v": "2", "feature-gates": "A=true"}
    assert node.options(None) == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [("10.0.0.1", "IP:10.0.0.1"), ("fd00::1", "IP:fd00::1"), ("a.b", "DNS:a.b")],
)
def test_alternative_names(node: Any, name: str, expected: str):
    assert node.alternative(name) == expected


def test_the_page_names_what_the_image_must_have():
    text = (TEMPLATES / "scripts" / "node.py").read_text()
    page = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text(encoding="utf-8")
    head = page.partition("## The first cluster")[0]
    called = set(re.findall(r'\b(?:run|output|program)\("([a-z]+)"', text))
    needed = {*called - BASIC, "/etc/kubernetes/addons", "kubeadm.k8s.io/v1beta3"}
    assert {"kubeadm", "kubectl", "etcd", "openssl", "systemctl"} <= called
    assert {one for one in needed if one not in head} == set()
