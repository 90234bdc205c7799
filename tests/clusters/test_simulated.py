"""A cluster on servers that do not run: the real kubectl, the health, faults, a restart."""

import contextlib
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, hearth_dev, wait_for

pytestmark = pytest.mark.slow


def service(dev: Dev, method: str, path: str, body: Any = None) -> Any:
    """A call to the cluster API; its answer."""
    with dev.sdk() as cloud:
        url = f"{dev.url}/container-infra/v1{path}"
        headers = {"OpenStack-API-Version": "container-infra latest"}
        answer = cloud.session.request(url, method, json=body, headers=headers)
        return answer.json() if answer.text else None


def cluster(dev: Dev) -> Any:
    return service(dev, "GET", "/clusters/farm")


def settled(dev: Dev) -> Any:
    def look() -> Any:
        found = cluster(dev)
        return None if found["status"].endswith("_IN_PROGRESS") else found

    return wait_for(look, "the cluster", 120)


def health(dev: Dev, wanted: str) -> Any:
    """The reason, once the health is the wanted one."""

    def look() -> Any:
        found = cluster(dev)
        return found["health_status_reason"] if found["health_status"] == wanted else None

    return wait_for(look, f"{wanted}: {cluster(dev)}", 150)


def kubectl(dev: Dev, folder: Path, *words: str) -> str:
    """The real command with the kubeconfig that the client writes."""
    dev.shell("coe", "cluster", "config", "farm", "--dir", str(folder), "--force")
    address = cluster(dev)["api_address"].rpartition("//")[2].partition(":")[0]
    forwards = requests.get(
        f"{dev.cloud_url}/devcloud/forwards", {"address": address}, timeout=10
    ).json()["forwards"]
    (port,) = [one["ports"]["6443"] for one in forwards]
    command = ["kubectl", f"--kubeconfig={folder}/config", f"--cache-dir={folder}/cache",
               f"--server=https://127.0.0.1:{port}", *words]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def nodes(dev: Dev, folder: Path) -> dict[str, str]:
    """The status of each node, by the end of its name."""
    lines = kubectl(dev, folder, "get", "nodes", "--no-headers").splitlines()
    return {"-".join(line.split()[0].split("-")[2:]): line.split()[1] for line in lines}


def free_ports() -> int:
    """A free port with a free one behind it: what has an address keeps it over a restart."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            found = int(first.getsockname()[1])
            with contextlib.suppress(OSError, OverflowError):
                second.bind(("127.0.0.1", found + 1))
                return found


def test_kubectl_and_health_of_a_simulated_cluster(tmp_path: Path):
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (package kubernetes-client)")
    folder, files, port = tmp_path / "hearth", tmp_path / "config", str(free_ports())
    files.mkdir()
    with hearth_dev(folder, "--port", port) as dev:
        service(dev, "POST", "/clustertemplates", {
            "name": "small", "coe": "kubernetes", "image_id": "ubuntu-kube",
            "external_network_id": "public", "flavor_id": "m1.small",
            "master_flavor_id": "m1.small",
        })  # fmt: skip
        wanted = {"name": "farm", "cluster_template_id": "small", "node_count": 1,
                  "master_count": 3, "master_lb_enabled": True}  # fmt: skip
        service(dev, "POST", "/clusters", wanted)
        assert settled(dev)["status"] == "CREATE_COMPLETE", cluster(dev)
        masters = {f"master-{number}": "Ready" for number in range(3)}
        assert nodes(dev, files) == {**masters, "node-0": "Ready"}
        assert len(health(dev, "HEALTHY")) == 5
        kubectl(dev, files, "run", "web", "--image=web")
        assert "-node-0" in kubectl(dev, files, "get", "pod", "web", "-o", "wide")
        with dev.sdk() as cloud:
            (first,) = [one for one in cloud.compute.servers() if one.name.endswith("master-0")]
            cloud.compute.stop_server(first)
            cloud.compute.wait_for_server(first, "SHUTOFF")
        assert nodes(dev, files) == {**masters, "master-0": "NotReady", "node-0": "Ready"}
        worker = kubectl(dev, files, "get", "nodes", "-o", "name").split("/")[-1].strip()
        kubectl(dev, files, "cordon", worker)
    with hearth_dev(folder, "--port", port) as dev:
        assert nodes(dev, files) == {
            **masters, "master-0": "NotReady", "node-0": "Ready,SchedulingDisabled"
        }  # fmt: skip
        with dev.sdk() as cloud:
            (first,) = [one for one in cloud.compute.servers() if one.name.endswith("master-0")]
            cloud.compute.start_server(first)
        rule = {"match": {"service": "kubelet", "name": worker}, "effect": {"status": 1}}
        requests.post(f"{dev.cloud_url}/devcloud/knobs", json={"rules": [rule]}, timeout=10)
        assert nodes(dev, files) == {**masters, "node-0": "NotReady,SchedulingDisabled"}
        assert health(dev, "UNHEALTHY")[f"{worker}.Ready"] == "False"
        service(dev, "DELETE", "/clusters/farm")
        wait_for(lambda: True if not service(dev, "GET", "/clusters")["clusters"] else None,
                 "the delete")  # fmt: skip
        forwards = requests.get(f"{dev.cloud_url}/devcloud/forwards", timeout=10).json()
        assert forwards == {"forwards": []}
    state = (folder / "cloud.json").read_bytes()
    assert b"kubernetes.clusters" not in state
