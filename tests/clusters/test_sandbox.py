"""A cluster on servers that run: a real etcd, the stand-in for Kubernetes, the real kubectl."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, hearth_dev, wait_for
from tests.clusters.authority import ClusterApi, cluster_api
from tests.clusters.examples import FACTS, request
from tests.clusters.test_running import begin, outputs, settled, update
from tests.devcloud.sandbox.machines import need_namespaces

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


def test_kubectl_lists_the_nodes_of_a_cluster(dev: Dev, api: ClusterApi, tmp_path: Path):
    facts = replace(
        FACTS, auth_url=dev.auth_url, magnum_url=f"{api.url}/v1", kube_version="v1.31.4",
        credential_url=f"{api.url}/credential",
    )  # fmt: skip
    small = {"image_id": "host", "flavor_id": "m1.tiny"}
    wanted = request(
        cluster={"floating_ip_enabled": True}, facts=facts, masters=small,
        workers={**small, "node_count": 2, "node_labels": {"tier": "b"}},
    )  # fmt: skip
    ca = api.authorities["kubernetes"]
    ca.issue(tmp_path, "admin", "admin", "system:masters")
    (tmp_path / "ca.crt").write_text(ca.pem)
    with dev.heat() as heat:
        stack_id = begin(heat, wanted)
        done = settled(heat, stack_id, "CREATE")
        assert done.stack_status == "CREATE_COMPLETE", done.stack_status_reason
        port = local_port(dev, outputs(heat, stack_id)["api_address"])

        def kubectl(*words: str) -> str:
            command = [
                "kubectl", "--kubeconfig=/dev/null", f"--server=https://127.0.0.1:{port}",
                f"--certificate-authority={tmp_path}/ca.crt", f"--cache-dir={tmp_path}/cache",
                f"--client-certificate={tmp_path}/admin.crt",
                f"--client-key={tmp_path}/admin.key", *words,
            ]  # fmt: skip
            ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert ran.returncode == 0, ran.stderr
            return ran.stdout

        lines = [line.split() for line in kubectl("get", "nodes").splitlines()[1:]]
        assert [line[:3] for line in lines] == [
            ["farm-master-0", "Ready", "control-plane"],
            ["farm-node-0", "Ready", "<none>"],
            ["farm-node-1", "Ready", "<none>"],
        ]
        assert {line[-1] for line in lines} == {"v1.31.4"}
        selected = kubectl("get", "nodes", "-o", "name", "-l", "tier=b").split()
        assert selected == ["node/farm-node-0", "node/farm-node-1"]
        before = len(api.calls)
        update(heat, stack_id, {"ca_rotation_id": "r-1", "minions_to_remove": []})
        assert len(api.calls) > before
        assert "farm-node-1" in kubectl("get", "nodes")
        heat.stacks.delete(stack_id)
        assert settled(heat, stack_id, "DELETE").stack_status == "DELETE_COMPLETE"
