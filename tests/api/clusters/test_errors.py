"""Every recorded cause of an error has its recorded status, with a text that a client can show."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from hearth.clusters.config import ClusterConfig
from hearth.store.clusters.tables import cluster, cluster_template
from tests.api.clusters.server import Api, image, running
from tests.service.clusters.requests import csr

FACTS = Path(__file__).parents[2] / "facts" / "magnum" / "errors.json"
CAUSES: dict[str, int] = dict(json.loads(FACTS.read_text())["causes"])
ON_PURPOSE = {"upgrade without cluster_template": 400}  # `recommended_fixes`
NOWHERE = "00000000-0000-4000-8000-000000000000"
FORBIDDEN_IMAGE = "11111111-1111-4111-8111-111111111111"

Ask = Callable[["Causes"], requests.Response]


class Causes:
    """Objects that requests go wrong with."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.template = api.template("plain")
        self.used = api.template("used")
        self.balanced = api.template("balanced", master_lb_enabled=True)
        self.hidden = api.template("hidden", "stranger", "other", public=True, hidden=True)
        self.private = api.template("private", "stranger", "other")
        self.tls = api.template("insecure", tls_disabled=True)
        self.cluster = api.cluster("c1", self.used, keys=True)
        self.young = api.cluster("young", self.used, status="CREATE_FAILED")
        self.insecure = api.cluster("insecure", self.tls)
        for _ in range(2):
            api.cluster("twin", self.used)
        self.group = self.groups("c1")["default-worker"]

    def groups(self, cluster: str) -> dict[str, str]:
        listed = self.api.call("GET", f"/v1/clusters/{cluster}/nodegroups").json()["nodegroups"]
        return {one["name"]: one["uuid"] for one in listed}

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> requests.Response:
        return self.api.call(method, f"/v1{path}", body, **more)

    def new_template(self, **more: Any) -> requests.Response:
        body = {"name": "t", "coe": "kubernetes", "image_id": "img", **more}
        by = more.pop("by", "member")
        body.pop("by", None)
        return self.ask("POST", "/clustertemplates", body, by=by)

    def new_cluster(self, version: str = "latest", **more: Any) -> requests.Response:
        body = {"cluster_template_id": self.template, **more}
        return self.ask("POST", "/clusters", body, version=version)

    def new_group(self, cluster: str = "c1", **more: Any) -> requests.Response:
        return self.ask("POST", f"/clusters/{cluster}/nodegroups", {"name": "g", **more})

    def patch(
        self, path: str, operation: str, attribute: str, *value: Any, **more: Any
    ) -> requests.Response:
        one = {"op": operation, "path": attribute}
        return self.ask("PATCH", path, [one | ({"value": value[0]} if value else {})], **more)

    def limited(self) -> requests.Response:
        self.api.configure(max_clusters_per_project=0)
        try:
            return self.new_cluster()
        finally:
            self.api.configure(max_clusters_per_project=1000)

    def without_calico(self) -> requests.Response:
        self.api.configure(kubernetes_allowed_network_drivers=("flannel",))
        try:
            return self.new_template(network_driver="calico")
        finally:
            self.api.configure(kubernetes_allowed_network_drivers=("flannel", "calico"))

    def upgrade_of_group(self) -> requests.Response:
        made = self.new_group(name="extra")
        assert made.status_code == 202, made.text
        self.api.settle()
        body = {"cluster_template": self.template, "nodegroup": "extra"}
        return self.ask("POST", "/clusters/c1/actions/upgrade", body)

    def driverless(self) -> requests.Response:
        gone = cluster_template.update().where(cluster_template.c.uuid == self.balanced)
        self.api.run(lambda tx: tx.execute(gone.values(driver="k8s_gone_v1")))
        return self.new_cluster(cluster_template_id=self.balanced)


C1 = "/clusters/c1"
WORKER = "/clusters/c1/nodegroups/default-worker"
RESIZE, UPGRADE = f"{C1}/actions/resize", f"{C1}/actions/upgrade"
QUOTA = "/quotas/project/Cluster"

ASKS: dict[str, list[Ask]] = {
    "malformed JSON": [
        lambda it: it.ask("POST", "/clusters", raw="{"),
        lambda it: it.ask("PATCH", C1, raw="[{]"),
        lambda it: it.ask("POST", "/clusters", raw=b"\xff\xfe"),
    ],
    "unknown attribute in body": [lambda it: it.new_cluster(colour="red")],
    "unknown query argument": [lambda it: it.ask("GET", "/clusters?colour=red")],
    "missing mandatory attribute": [
        lambda it: it.ask("POST", "/clusters", {}),
        lambda it: it.ask("POST", "/clustertemplates", {"image_id": "img"}),
        lambda it: it.ask("POST", "/clustertemplates", {"coe": "kubernetes"}),
    ],
    "value out of range, bad pattern, not in enum": [
        lambda it: it.new_cluster(master_count=0),
        lambda it: it.new_cluster(name="1st"),
        lambda it: it.new_cluster(name="line\n"),
        lambda it: it.new_cluster(node_count=2**31),
        lambda it: it.new_template(apiserver_port=80),
        lambda it: it.new_template(server_type="pod"),
        lambda it: it.new_template(dns_nameserver="8.8.8.8,dns"),
    ],
    "unsupported coe / server type / network driver / volume driver": [
        lambda it: it.new_template(coe="swarm"),
        lambda it: it.new_template(server_type="x"),
        lambda it: it.new_template(network_driver="x"),
        lambda it: it.new_template(volume_driver="x"),
    ],
    "network driver not in the allowed list of the configuration": [Causes.without_calico],
    "cluster type has no driver; named driver unknown; beta driver not enabled": [
        lambda it: it.new_template(driver="nothing"),
        lambda it: it.new_template(image_id="plan9"),
        lambda it: it.new_template(server_type="bm"),
        Causes.driverless,
    ],
    "image unknown": [lambda it: it.new_template(image_id="nothing")],
    "image without os_distro": [
        lambda it: it.new_template(image_id="bare"),
        lambda it: it.new_group(image_id="bare"),
    ],
    "image forbidden": [lambda it: it.new_template(image_id=FORBIDDEN_IMAGE)],
    "image/network/subnet name ambiguous": [
        lambda it: it.new_template(image_id="double"),
        lambda it: it.new_template(fixed_network="double"),
        lambda it: it.new_template(fixed_subnet="double"),
    ],
    "flavor unknown": [
        lambda it: it.new_template(flavor_id="nothing"),
        lambda it: it.new_template(master_flavor_id="nothing"),
        lambda it: it.new_cluster(flavor_id="nothing"),
    ],
    "flavor with zero disk and no boot volume": [
        lambda it: it.new_template(flavor_id="diskless"),
        lambda it: it.new_cluster(master_flavor_id="diskless"),
    ],
    "keypair unknown": [
        lambda it: it.new_cluster(keypair="nothing"),
        lambda it: it.new_cluster(
            cluster_template_id=it.api.template("keyed", keypair_id="nothing")
        ),
    ],
    "external network unknown or not external": [
        lambda it: it.new_template(external_network_id="nothing"),
        lambda it: it.new_template(external_network_id="private"),
    ],
    "fixed network or subnet unknown": [
        lambda it: it.new_template(fixed_network="nothing"),
        lambda it: it.new_template(fixed_subnet="nothing"),
        lambda it: it.new_cluster(fixed_network="nothing"),
    ],
    "docker_volume_size below 3 with devicemapper": [
        lambda it: it.new_template(docker_volume_size=2, docker_storage_driver="devicemapper")
    ],
    "master_count > 1 without master_lb_enabled": [lambda it: it.new_cluster(master_count=3)],
    "even master_count (driver check)": [
        lambda it: it.new_cluster(master_count=2, master_lb_enabled=True)
    ],
    "template unknown on cluster create <=1.9": [
        lambda it: it.new_cluster("1.9", cluster_template_id="nothing"),
        lambda it: it.new_cluster("1.1", cluster_template_id=NOWHERE),
    ],
    "template unknown on cluster create >=1.10": [
        lambda it: it.new_cluster("1.10", cluster_template_id="nothing")
    ],
    "template hidden, caller not admin": [lambda it: it.new_cluster(cluster_template_id=it.hidden)],
    "quota reached": [Causes.limited],
    "policy refuses": [
        lambda it: it.ask("DELETE", C1, by="reader"),
        lambda it: it.ask("GET", "/mservices"),
        lambda it: it.ask("GET", "/clusters", by="nobody"),
    ],
    "no token": [
        lambda it: it.ask("GET", "/clusters", by=None),
        lambda it: it.ask("GET", "/clusters", by=None, headers={"X-Auth-Token": "nonsense"}),
    ],
    "cluster/template/nodegroup/federation/quota/marker unknown": [
        lambda it: it.ask("GET", "/clusters/nothing"),
        lambda it: it.ask("GET", C1, by="stranger"),
        lambda it: it.ask("GET", "/clustertemplates/nothing"),
        lambda it: it.ask("GET", f"/clustertemplates/{it.private}"),
        lambda it: it.ask("GET", f"{C1}/nodegroups/nothing"),
        lambda it: it.ask("GET", "/federations/nothing"),
        lambda it: it.ask("DELETE", QUOTA, by="admin"),
        lambda it: it.ask("GET", f"/clusters?marker={NOWHERE}"),
        lambda it: it.ask("GET", "/quotas?marker=99", by="admin"),
    ],
    "name matches several objects": [
        lambda it: it.ask("GET", "/clusters/twin"),
        lambda it: it.ask("DELETE", "/clusters/twin"),
    ],
    "patch of an internal attribute": [
        lambda it: it.patch(C1, "replace", "/uuid", "x"),
        lambda it: it.patch("/clusters/nothing", "replace", "/api_address", "x"),
        lambda it: it.patch(f"/clustertemplates/{it.template}", "replace", "/project_id", "x"),
    ],
    "patch removes a mandatory attribute": [
        lambda it: it.patch(C1, "remove", "/cluster_template_id"),
        lambda it: it.patch(f"/clustertemplates/{it.template}", "remove", "/image_id"),
    ],
    "patch add of unknown root attribute, or of one already set": [
        lambda it: it.patch(C1, "add", "/colour", "red"),
        lambda it: it.patch(C1, "add", "/name", "x"),
    ],
    "patch replace/remove of unknown path": [
        lambda it: it.patch(C1, "replace", "/colour", "red"),
        lambda it: it.patch(C1, "remove", "/labels/nothing"),
        lambda it: it.patch(C1, "remove", "/labels/a/b"),
        lambda it: it.patch(C1, "replace", "/a.b", "red"),
    ],
    "patch value missing for add/replace": [lambda it: it.patch(C1, "replace", "/node_count")],
    "patch of a cluster property that may not change": [
        lambda it: it.patch(C1, "replace", "/name", "x"),
        lambda it: it.patch(C1, "replace", "/master_count", 3),
        lambda it: it.patch(C1, "replace", "/labels", {"a": "b"}),
        lambda it: it.patch(WORKER, "replace", "/flavor_id", "x"),
    ],
    "bad limit, sort_key or sort_dir": [
        lambda it: it.ask("GET", "/clusters?limit=0"),
        lambda it: it.ask("GET", "/clusters?limit=many"),
        lambda it: it.ask("GET", "/clusters?sort_key=body"),
        lambda it: it.ask("GET", "/clusters?sort_dir=up"),
        lambda it: it.ask("GET", "/clusters?marker=x"),
    ],
    "resize outside min/max of the group": [
        lambda it: it.ask("POST", RESIZE, {"node_count": 0, "nodegroup": "default-master"}),
    ],
    "resize of master group not supported by driver": [
        lambda it: it.ask("POST", RESIZE, {"node_count": 3, "nodegroup": "default-master"})
    ],
    "zero nodes before 1.10": [
        lambda it: it.new_cluster("1.9", node_count=0),
        lambda it: it.ask("POST", RESIZE, {"node_count": 0}, version="1.9"),
        lambda it: it.patch(C1, "replace", "/node_count", 0, version="1.1"),
    ],
    "upgrade at 1.7": [
        lambda it: it.ask("POST", UPGRADE, {"cluster_template": it.used}, version="1.7")
    ],
    "upgrade without cluster_template": [lambda it: it.ask("POST", UPGRADE, {})],
    "upgrade of extra group to another template than the one of the cluster": [
        Causes.upgrade_of_group
    ],
    "nodegroup name taken": [lambda it: it.new_group(name="default-worker")],
    "nodegroup min/max/count inconsistent": [
        lambda it: it.new_group(node_count=1, min_node_count=2),
        lambda it: it.new_group(node_count=3, max_node_count=2),
    ],
    "node label or taint invalid": [
        lambda it: it.new_group(node_labels={"kubernetes.io/x": "y"}),
        lambda it: it.new_group(node_taints=[{"key": "a", "effect": "Never"}]),
    ],
    "nodegroup on a cluster without api_address": [lambda it: it.new_group("unready")],
    "create master nodegroup": [lambda it: it.new_group(role="master")],
    "delete default nodegroup": [lambda it: it.ask("DELETE", WORKER)],
    "delete or change of a referenced template": [
        lambda it: it.ask("DELETE", f"/clustertemplates/{it.used}"),
        lambda it: it.patch(f"/clustertemplates/{it.used}", "replace", "/flavor_id", "m1.small"),
    ],
    "publish/hide a template without right": [
        lambda it: it.new_template(public=True),
        lambda it: it.new_template(hidden=True),
        lambda it: it.patch(f"/clustertemplates/{it.template}", "replace", "/public", True),
    ],
    "quota exists": [
        lambda it: it.ask("POST", "/quotas", it_has_quota(it), by="admin"),
    ],
    "project of the quota unknown": [
        lambda it: it.ask("POST", "/quotas", {"project_id": NOWHERE, "hard_limit": 1}, by="admin")
    ],
    "quota or stats of a foreign project": [
        lambda it: it.ask("GET", QUOTA),
        lambda it: it.ask("GET", "/stats?project_id=project"),
    ],
    "bad stats type": [lambda it: it.ask("GET", "/stats?type=pod")],
    "bad CSR": [
        lambda it: it.ask("POST", "/certificates", {"cluster_uuid": "c1", "csr": "x"}),
        lambda it: it.ask("POST", "/certificates", {"cluster_uuid": "nothing", "csr": csr()}),
    ],
    "critical CSR extension not allowed": [
        lambda it: it.ask("POST", "/certificates", {"cluster_uuid": "c1", "csr": critical()})
    ],
    "CA rotation on TLS-less cluster, by driver without support, or in a wrong state": [
        lambda it: it.ask("PATCH", "/certificates/insecure"),
        lambda it: it.ask("PATCH", "/certificates/young"),
    ],
    "cluster API version header malformed or out of range": [
        lambda it: it.ask("GET", "/clusters", version="1.1 "),
        lambda it: it.ask("GET", "/clusters", version="compute 1.1"),
        lambda it: it.ask("GET", "/clusters", version="1.15"),
        lambda it: it.ask("GET", "/clusters", version="2.1"),
        lambda it: it.ask("GET", "/clusters", version="1.0"),
    ],
    "route not available in the microversion": [
        lambda it: it.ask("GET", f"{C1}/nodegroups", version="1.8"),
        lambda it: it.ask("POST", RESIZE, {"node_count": 1}, version="1.6"),
    ],
    "unknown path": [lambda it: it.ask("GET", "/nothing")],
    "method not allowed": [lambda it: it.ask("PUT", C1, {})],
    "conductor failure in a synchronous call": [],  # we have no such calls
}


def it_has_quota(it: Causes) -> dict[str, Any]:
    body = {"project_id": it.api.projects["other"], "resource": "Cluster", "hard_limit": "7"}
    it.ask("POST", "/quotas", body, by="admin")
    return body


def critical() -> str:
    from cryptography import x509

    return csr([(x509.OCSPNoCheck(), True)])


@contextlib.contextmanager
def prepared(folder: Path) -> Iterator[Causes]:
    """Run an API with everything that requests go wrong with."""
    with running(folder, ClusterConfig(max_clusters_per_project=1000)) as api:
        prepare(api)
        found = Causes(api)
        unready = api.cluster("unready", found.used)
        no_address = cluster.update().where(cluster.c.uuid == unready).values(api_address=None)
        api.run(lambda tx: tx.execute(no_address))
        yield found


@pytest.fixture(scope="module")
def causes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Causes]:
    with prepared(tmp_path_factory.mktemp("api")) as found:
        yield found


def prepare(api: Api) -> None:
    """Create objects of the cloud that requests go wrong with."""
    forbid_image(api)
    image(api.cloud, "bare")
    image(api.cloud, "plan9", os_distro="plan9")
    for _ in range(2):
        image(api.cloud, "double", os_distro="ubuntu")
    headers = {"X-Auth-Token": api.cloud.token("admin")}
    flavor = {"name": "diskless", "ram": 512, "vcpus": 1, "disk": 0}
    url = f"{api.cloud.url}/compute/v2.1/flavors"
    requests.post(url, json={"flavor": flavor}, headers=headers, timeout=10).raise_for_status()
    headers = {"X-Auth-Token": api.tokens["member"]}
    base = f"{api.cloud.url}/network/v2.0"
    for number in range(2):
        made = requests.post(
            f"{base}/networks", json={"network": {"name": "double"}}, headers=headers, timeout=10
        )
        subnet = {
            "name": "double", "network_id": made.json()["network"]["id"], "ip_version": 4,
            "cidr": f"10.7{number}.0.0/24",
        }  # fmt: skip
        reply = requests.post(
            f"{base}/subnets", json={"subnet": subnet}, headers=headers, timeout=10
        )
        reply.raise_for_status()


def test_all_recorded_causes_are_here():
    assert ASKS.keys() == CAUSES.keys()
    assert [cause for cause, asks in ASKS.items() if not asks] == [
        "conductor failure in a synchronous call"
    ]


@pytest.mark.parametrize("cause", [cause for cause, asks in ASKS.items() if asks])
def test_each_cause_has_its_status_and_a_text(causes: Causes, cause: str):
    for ask in ASKS[cause]:
        reply = ask(causes)
        causes.api.settle()
        status = ON_PURPOSE.get(cause, CAUSES[cause])
        assert reply.status_code == status, reply.text
        if status == 401:
            continue
        (error,) = reply.json()["errors"]
        assert error["title"], error
        assert not error["title"].endswith("."), error
        text = error.get("detail", error.get("description"))
        assert text.startswith(error["title"]), error
        assert "None" not in text, error
        assert "Traceback" not in text, error


def forbid_image(api: Api) -> None:
    """Let the image service refuse one image."""
    match = {"service": "image", "method": "GET", "path_regex": FORBIDDEN_IMAGE}
    rules = {"rules": [{"match": match, "effect": {"status": 403}}]}
    reply = requests.post(f"{api.cloud.url}/devcloud/knobs", json=rules, timeout=10)
    assert reply.ok, reply.text
