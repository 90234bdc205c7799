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
from tests.selection import in_rest

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


@in_rest
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


def without_limits(dev: Dev) -> None:
    """The quotas of the project: as many servers and what belongs to them as it likes."""
    with dev.sdk("hearth-admin") as admin, dev.sdk() as cloud:
        project = cloud.current_project_id
        names = ("instances", "cores", "ram", "server_groups", "server_group_members")
        many = dict.fromkeys(names, -1)
        url = f"/os-quota-sets/{project}"
        assert admin.compute.put(url, json={"quota_set": many}).status_code == 200
        names = ("port", "floatingip", "security_group", "security_group_rule")
        many = dict.fromkeys(names, -1)
        assert admin.network.put(f"/quotas/{project}", json={"quota": many}).status_code == 200


def stacks_below(dev: Dev, stack_id: str) -> tuple[int, int]:
    """How many stacks a cluster has, and how many resources that are no stacks."""
    with dev.heat() as heat:
        found = heat.resources.list(stack_id, nested_depth=5)
    nested = [one for one in found if any(link["rel"] == "nested" for link in one.links)]
    return len(nested) + 1, len(found) - len(nested)


@in_rest
def test_a_large_cluster_is_created_resized_upgraded_and_deleted(tmp_path: Path):
    if shutil.which("kubectl") is None:
        pytest.skip("needs kubectl (package kubernetes-client)")
    files = tmp_path / "config"
    files.mkdir()
    with hearth_dev(tmp_path / "hearth", in_a_hurry=True) as dev:
        without_limits(dev)
        for name, image, version in (
            ("old", "ubuntu-kube", "v1.31.4"), ("new", "ubuntu-kube-v1.32.1", "v1.32.1"),
        ):  # fmt: skip
            service(dev, "POST", "/clustertemplates", {
                "name": name, "coe": "kubernetes", "image_id": image,
                "external_network_id": "public", "flavor_id": "m1.small",
                "master_flavor_id": "m1.small", "labels": {"kube_tag": version},
                "master_lb_enabled": True,
            })  # fmt: skip
        dev.mark()
        wanted = {"name": "farm", "cluster_template_id": "old", "node_count": 5, "master_count": 3}
        service(dev, "POST", "/clusters", wanted)
        assert settled(dev)["status"] == "CREATE_COMPLETE", cluster(dev)
        stacks, resources = stacks_below(dev, cluster(dev)["stack_id"])
        assert (stacks, resources) == (21, 120)
        service(dev, "POST", "/clusters/farm/actions/resize", {"node_count": 8})
        assert settled(dev)["status"] == "UPDATE_COMPLETE", cluster(dev)
        before = versions(dev, files)
        assert set(before.values()) == {"v1.31.4"}
        assert len(before) == 11
        for name in ("one", "two", "three", "four"):
            kubectl(dev, files, "run", name, "--image=web")
        upgrade = {"cluster_template": "new", "max_batch_size": 3, "nodegroup": "default-worker"}
        service(dev, "POST", "/clusters/farm/actions/upgrade", upgrade)
        found = settled(dev)
        assert found["status"] == "UPDATE_COMPLETE", found
        assert found["coe_version"] == "v1.32.1"
        after = versions(dev, files)
        assert set(after.values()) == {"v1.32.1"}
        masters, workers = {f"master-{n}" for n in range(3)}, {f"node-{n}" for n in range(8, 16)}
        assert after.keys() == masters | workers
        assert kubectl(dev, files, "get", "pods", "--no-headers") == ""  # no controller owns them
        made = [one["name"] for one in dev.ledger() if one["collection"] == "servers"]
        assert len(made) == 3 + 8 + 8 + 3, made  # no node twice
        service(dev, "DELETE", "/clusters/farm")
        wait_for(lambda: True if not service(dev, "GET", "/clusters")["clusters"] else None,
                 "the delete")  # fmt: skip
        assert dev.left_over() == []


def versions(dev: Dev, folder: Path) -> dict[str, str]:
    """The version of each node, by the end of its name."""
    form = "jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}\n{end}"
    lines = kubectl(dev, folder, "get", "nodes", "-o", form).splitlines()
    return {"-".join(name.split("-")[2:]): version for name, version in map(str.split, lines)}
