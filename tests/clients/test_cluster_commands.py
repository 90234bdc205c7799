"""Every command of the unmodified python-magnumclient, and the cluster proxy of openstacksdk."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from json import loads
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from cryptography import x509

from hearth.store.clusters.tables import conductor
from tests.api.clusters.server import PASSWORD, Api, running
from tests.clients.dev import CommandFailed, Dev, environment_of
from tests.conftest import lacking
from tests.service.clusters.requests import csr

pytestmark = pytest.mark.slow

GROUP = "openstack.container_infra.v1"


class Clients:
    """The command and the SDK, against a running API."""

    def __init__(self, api: Api, folder: Path) -> None:
        self.api = api
        auth_url = f"{api.cloud.url}/identity/v3"
        clouds = {name: _entry(api, auth_url, name) for name in ("member", "admin")}
        (folder / "clouds.yaml").write_text(yaml.safe_dump({"clouds": clouds}))
        environment = environment_of(folder)
        self.dev = Dev(None, api.url, api.cloud.url, auth_url, folder, environment)  # type: ignore[arg-type]
        self.called: set[str] = set()

    def coe(self, *arguments: str, by: str = "member", json: bool = False) -> Any:
        """Run `openstack coe …`; return its output."""
        words = [word for word in arguments if not word.startswith("-")]
        self.called |= {"coe_" + "_".join(words[:count]) for count in (1, 2, 3)}
        said = self.dev.shell("coe", *arguments, *(["-f", "json"] if json else []), cloud=by)
        if not json:
            return said
        return loads(said[min(place for place in map(said.find, "{[") if place >= 0) :])


def _entry(api: Api, auth_url: str, name: str) -> dict[str, Any]:
    auth = {
        "auth_url": auth_url, "user_id": api.users[name], "password": PASSWORD,
        "project_id": api.projects["demo"],
    }  # fmt: skip
    return {"auth": auth, "region_name": "RegionOne"}


def _register(api: Api) -> None:
    """Put the API into the catalogue of the cloud."""
    url, headers = f"{api.cloud.url}/identity/v3", {"X-Auth-Token": api.cloud.token("admin")}
    service = {"type": "container-infra", "name": "magnum"}
    made = requests.post(f"{url}/services", json={"service": service}, headers=headers, timeout=10)
    endpoint = {
        "service_id": made.json()["service"]["id"], "interface": "public",
        "region_id": "RegionOne", "url": f"{api.url}/v1",
    }  # fmt: skip
    reply = requests.post(
        f"{url}/endpoints", json={"endpoint": endpoint}, headers=headers, timeout=10
    )
    reply.raise_for_status()


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    folder = tmp_path_factory.mktemp("clients")
    with running(folder) as api:
        _register(api)
        found = Clients(api, folder)
        with found.dev.sdk("member") as connection:
            connection.compute.create_keypair(name="default")
        yield found


def test_every_command_works(clients: Clients, tmp_path: Path):
    if importlib.util.find_spec("magnumclient") is None:
        lacking("python-magnumclient")
    _templates(clients)
    _clusters(clients)
    _groups(clients)
    _certificates(clients, tmp_path)
    _quotas(clients)
    _others(clients)
    commands = importlib.metadata.entry_points(group=GROUP)
    assert {one.name for one in commands} - clients.called == set()


def _templates(clients: Clients) -> None:
    made = clients.coe(
        "cluster", "template", "create", "k8s", "--image", "img", "--coe", "kubernetes",
        "--external-network", "public", "--flavor", "m1.small", "--master-flavor", "m1.small",
        "--dns-nameserver", "8.8.8.8", "--labels", "kube_tag=v1.30.0,boot_volume_size=20",
        "--network-driver", "flannel", "--docker-volume-size", "5", "--tags", "a", json=True,
    )  # fmt: skip
    assert made["labels"] == {"kube_tag": "v1.30.0", "boot_volume_size": "20"}
    listed = clients.coe("cluster", "template", "list", json=True)
    assert [(one["name"], one["tags"]) for one in listed] == [("k8s", "a")]
    clients.coe(
        "cluster",
        "template",
        "update",
        "k8s",
        "--label",
        "kube_tag=v1.31.0",
        "--no-label",
        "boot_volume_size",
        "--tag",
        "c",
    )
    shown = clients.coe("cluster", "template", "show", "k8s", json=True)
    assert (shown["labels"], shown["tags"]) == ({"kube_tag": "v1.31.0"}, "c")
    clients.coe(
        "cluster",
        "template",
        "create",
        "gone",
        "--image",
        "img",
        "--coe",
        "kubernetes",
        "--external-network",
        "public",
    )
    clients.coe("cluster", "template", "delete", "gone")
    with pytest.raises(CommandFailed, match="No cluster template gone"):
        clients.coe("cluster", "template", "show", "gone")


def _clusters(clients: Clients) -> None:
    said = clients.coe(
        "cluster", "create", "farm", "--cluster-template", "k8s", "--node-count", "2",
        "--timeout", "45", "--labels", "x=y", "--merge-labels", "--keypair", "default",
    )  # fmt: skip
    assert "Request to create cluster" in said
    clients.api.settle("CREATE_COMPLETE")
    (one,) = clients.coe("cluster", "list", json=True)
    assert (one["name"], one["node_count"], one["status"]) == ("farm", 2, "CREATE_COMPLETE")
    shown = clients.coe("cluster", "show", "farm", json=True)
    assert shown["labels_added"] == {"x": "y"}
    assert shown["create_timeout"] == 45
    clients.coe("cluster", "update", "farm", "--node-count", "3", "--rollback")
    clients.api.settle()
    assert clients.coe("cluster", "show", "farm", json=True)["node_count"] == 3
    with pytest.raises(CommandFailed, match="Attribute name of a cluster cannot be changed"):
        clients.coe("cluster", "update", "farm", "--name", "other")
    clients.coe("cluster", "resize", "farm", "4")
    clients.api.settle()
    assert clients.coe("cluster", "show", "farm", json=True)["node_count"] == 4
    clients.coe("cluster", "upgrade", "farm", "k8s")
    clients.api.settle()
    clients.coe("cluster", "delete", "farm")
    assert clients.coe("cluster", "show", "farm", json=True)["status"] == "DELETE_IN_PROGRESS"
    clients.api.settle("DELETE_FAILED")


def _groups(clients: Clients) -> None:
    template = clients.api.template("plain")
    clients.api.cluster("grouped", template, keys=True)
    clients.coe(
        "nodegroup", "create", "grouped", "gpu", "--node-count", "2", "--min-nodes", "1",
        "--max-nodes", "5", "--role", "gpu", "--flavor", "m1.small", "--labels", "a=b",
        "--merge-labels",
    )  # fmt: skip
    clients.api.settle()
    listed = clients.coe("nodegroup", "list", "grouped", json=True)
    assert [one["name"] for one in listed] == ["default-master", "default-worker", "gpu"]
    assert [one["name"] for one in clients.coe(
        "nodegroup", "list", "grouped", "--role", "gpu", json=True
    )] == ["gpu"]  # fmt: skip
    clients.coe(
        "nodegroup",
        "update",
        "grouped",
        "gpu",
        "--max-nodes",
        "7",
        "--node-labels",
        "a=b",
        "--node-taints",
        "k=v:NoSchedule",
    )
    shown = clients.coe("nodegroup", "show", "grouped", "gpu", json=True)
    assert (shown["max_node_count"], shown["min_node_count"]) == (7, 1)
    clients.coe("cluster", "resize", "grouped", "3", "--nodegroup", "gpu")
    clients.api.settle()
    assert clients.coe("nodegroup", "show", "grouped", "gpu", json=True)["node_count"] == 3
    clients.coe("nodegroup", "delete", "grouped", "gpu")
    clients.api.settle()


def _certificates(clients: Clients, folder: Path) -> None:
    pem = clients.coe("ca", "show", "grouped")
    ca = x509.load_pem_x509_certificate(pem.encode())
    (folder / "request.csr").write_text(csr())
    signed = clients.coe("ca", "sign", "grouped", str(folder / "request.csr"))
    x509.load_pem_x509_certificate(signed.encode()).verify_directly_issued_by(ca)
    clients.coe("cluster", "config", "grouped", "--dir", str(folder), "--output-certs")
    config = yaml.safe_load((folder / "config").read_text())
    assert config["clusters"][0]["cluster"]["server"] == "https://172.24.4.3:6443"
    assert (folder / "ca.pem").read_text().strip() == pem.strip()
    clients.coe("ca", "rotate", "grouped")
    clients.api.settle()
    clients.coe("credential", "rotate", "grouped")
    clients.api.settle()


def _quotas(clients: Clients) -> None:
    project = clients.api.projects["demo"]
    named = ("--project-id", project, "--resource", "Cluster")
    clients.coe("quotas", "create", *named, "--hard-limit", "30", by="admin")
    assert " 30 " in clients.coe("quotas", "show", *named)
    clients.coe("quotas", "update", *named, "--hard-limit", "40", by="admin")
    assert " 40 " in clients.coe("quotas", "list", "--all-tenants", by="admin")
    clients.coe("quotas", "delete", *named, by="admin")
    assert " 20 " in clients.coe("quotas", "show", *named)


def _others(clients: Clients) -> None:
    found = clients.coe("stats", "list", clients.api.projects["demo"])
    assert [word for word in found.split() if word.isdigit()] == [
        "2",
        "12",
    ]  # a failed delete, and masters count
    row = {
        "host": "here", "binary": "magnum-conductor", "disabled": False, "forced_down": False,
        "report_count": 3, "created_at": 1.0,
    }  # fmt: skip
    clients.api.run(lambda tx: tx.execute(conductor.insert().values(row)))
    (one,) = clients.coe("service", "list", by="admin", json=True)
    assert (one["binary"], one["state"]) == ("magnum-conductor", "down")
    with pytest.raises(CommandFailed, match="403"):
        clients.coe("service", "list")


def test_the_sdk_creates_reads_changes_and_deletes(clients: Clients):
    template = clients.api.template("sdk")
    uuid = clients.api.cluster("sdk-cluster", template, keys=True)
    with clients.dev.sdk("member") as connection:
        proxy = connection.container_infrastructure_management
        made = proxy.create_cluster_template(name="of-sdk", image_id="img", coe="kubernetes")
        assert proxy.find_cluster_template("of-sdk").uuid == made.id
        proxy.update_cluster_template(made, name="renamed")
        assert "renamed" in {one.name for one in proxy.cluster_templates()}
        proxy.delete_cluster_template(made)
        created = proxy.create_cluster(name="by-sdk", cluster_template_id=template, node_count=1)
        assert proxy.get_cluster(created.id).status == "CREATE_IN_PROGRESS"
        clients.api.settle("CREATE_COMPLETE")
        proxy.update_cluster(proxy.get_cluster(created.id), node_count=2)
        assert {"by-sdk", "sdk-cluster"} <= {one.name for one in proxy.clusters()}
        proxy.delete_cluster(created.id)
        certificate = proxy.get_cluster_certificate(uuid)
        assert certificate.pem.startswith("-----BEGIN CERTIFICATE-----")
        signed = proxy.create_cluster_certificate(cluster_uuid=uuid, csr=csr())
        assert signed.pem.startswith("-----BEGIN CERTIFICATE-----")
    clients.api.settle("DELETE_FAILED")
    with clients.dev.sdk("admin") as connection:
        proxy = connection.container_infrastructure_management
        assert [one.binary for one in proxy.services()] in ([], ["magnum-conductor"])
