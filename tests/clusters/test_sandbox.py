"""A cluster on servers that run: a real etcd, the stand-in for Kubernetes, the real kubectl."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from msgspec.structs import replace

from hearth.clusters.definition import ClusterStack
from tests.clients.dev import Dev, hearth_dev, wait_for
from tests.clusters.authority import ClusterApi, cluster_api
from tests.clusters.examples import FACTS, request
from tests.clusters.test_running import begin, outputs, settled, update
from tests.devcloud.sandbox.machines import need_namespaces
from tests.selection import in_rest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    need_namespaces()
    for program, package in (
        ("etcd", "etcd-server"), ("kubectl", "kubernetes-client"), ("ip", "iproute2"),
    ):  # fmt: skip
        if shutil.which(program) is None:
            pytest.skip(f"needs {program} (package {package})")
    with hearth_dev(tmp_path_factory.mktemp("hearth"), "--servers", "sandbox") as running:
        yield running


@pytest.fixture(scope="module")
def api(dev: Dev) -> Iterator[ClusterApi]:
    """The cluster API that signs, in the catalogue, with a credential for nodes."""
    with dev.sdk() as cloud:
        user = cloud.current_user_id
        made = cloud.identity.create_application_credential(user, "node")
    credential = {
        "auth_url": dev.auth_url,
        "application_credential_id": made.id,
        "application_credential_secret": made.secret,
    }
    with cluster_api(credential) as running, dev.sdk("hearth-admin") as cloud:
        service = cloud.identity.create_service(type="container-infra", name="test")
        cloud.identity.create_endpoint(
            service_id=service.id, interface="public", url=f"{running.url}/v1"
        )
        yield running


def local_port(dev: Dev, address: str) -> int:
    """The port of this machine that leads to the Kubernetes API at a floating IP."""

    def look() -> Any:
        found = requests.get(f"{dev.cloud_url}/devcloud/forwards", timeout=10).json()["forwards"]
        ports = [one["ports"] for one in found if one["floating_ip_address"] == address]
        return ports[0]["6443"] if ports else None

    return int(wait_for(look, f"a way to {address}"))


SMALL = {"image_id": "host", "flavor_id": "m1.tiny"}


def farm(dev: Dev, api: ClusterApi, **given: Any) -> ClusterStack:
    """The request for a cluster on servers that run."""
    facts = replace(
        FACTS, auth_url=dev.auth_url, magnum_url=f"{api.url}/v1", kube_version="v1.31.4",
        credential_url=f"{api.url}/credential?secret=of-workers",
        master_credential_url=f"{api.url}/credential?secret=of-masters",
    )  # fmt: skip
    return request(facts=facts, **given)


class Kubectl:
    """The real command with a certificate of an administrator."""

    def __init__(self, dev: Dev, api: ClusterApi, folder: Path, address: str) -> None:
        ca = api.authorities["kubernetes"]
        ca.issue(folder, "admin", "admin", "system:masters")
        (folder / "ca.crt").write_text(ca.pem)
        self._options = [
            "--kubeconfig=/dev/null", f"--server=https://127.0.0.1:{local_port(dev, address)}",
            f"--certificate-authority={folder}/ca.crt", f"--cache-dir={folder}/cache",
            f"--client-certificate={folder}/admin.crt", f"--client-key={folder}/admin.key",
        ]  # fmt: skip

    def __call__(self, *words: str) -> str:
        command = ["kubectl", *self._options, *words]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def nodes(self) -> list[list[str]]:
        """The name, status and role of each node."""
        return [line.split()[:3] for line in self("get", "nodes", "--no-headers").splitlines()]


def test_kubectl_lists_the_nodes_of_a_cluster(dev: Dev, api: ClusterApi, tmp_path: Path):
    wanted = farm(
        dev, api, cluster={"floating_ip_enabled": True}, masters=SMALL,
        workers={**SMALL, "node_count": 2, "node_labels": {"tier": "b"}},
    )  # fmt: skip
    with dev.heat() as heat:
        stack_id = begin(heat, wanted)
        done = settled(heat, stack_id, "CREATE")
        assert done.stack_status == "CREATE_COMPLETE", done.stack_status_reason
        kubectl = Kubectl(dev, api, tmp_path, outputs(heat, stack_id)["api_address"])
        assert kubectl.nodes() == [
            ["farm-master-0", "Ready", "control-plane"],
            ["farm-node-0", "Ready", "<none>"],
            ["farm-node-1", "Ready", "<none>"],
        ]
        versions = {line.split()[-1] for line in kubectl("get", "nodes").splitlines()[1:]}
        assert versions == {"v1.31.4"}
        selected = kubectl("get", "nodes", "-o", "name", "-l", "tier=b").split()
        assert selected == ["node/farm-node-0", "node/farm-node-1"]
        kubectl("run", "web", "--image=web")
        where = kubectl("get", "pod", "web", "-o", "jsonpath={.spec.nodeName}")
        kubectl("drain", where, "--force")
        assert [where, "Ready,SchedulingDisabled", "<none>"] in kubectl.nodes()
        before = len(api.calls)
        update(heat, stack_id, {"ca_rotation_id": "r-1", "minions_to_remove": []})
        assert len(api.calls) > before
        assert [where, "Ready,SchedulingDisabled", "<none>"] in kubectl.nodes()
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"


@in_rest
def test_three_masters_survive_the_loss_of_one(dev: Dev, api: ClusterApi, tmp_path: Path):
    if shutil.which("haproxy") is None:
        pytest.skip("needs haproxy (package haproxy)")
    wanted = farm(
        dev, api, cluster={"floating_ip_enabled": True, "master_lb_enabled": True},
        masters={**SMALL, "node_count": 3}, workers={**SMALL, "node_count": 1},
    )  # fmt: skip
    with dev.heat() as heat, dev.sdk() as cloud:
        stack_id = begin(heat, wanted, "trio")
        done = settled(heat, stack_id, "CREATE")
        assert done.stack_status == "CREATE_COMPLETE", done.stack_status_reason
        told = outputs(heat, stack_id)
        assert told["api_address"] not in told["kube_masters"]
        kubectl = Kubectl(dev, api, tmp_path, told["api_address"])
        masters = [f"trio-master-{number}" for number in range(3)]
        assert kubectl.nodes() == [
            *([name, "Ready", "control-plane"] for name in masters),
            ["trio-node-0", "Ready", "<none>"],
        ]
        cloud.compute.stop_server(cloud.compute.find_server(masters[0]))
        kubectl("label", "node", "trio-node-0", "tier=a")
        expected = [masters[0], "NotReady", "control-plane"]
        wait_for(lambda: expected in kubectl.nodes() or None, "the loss of a master")
        assert [name for name, status, _ in kubectl.nodes() if status == "Ready"] == [
            *masters[1:], "trio-node-0",
        ]  # fmt: skip
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
