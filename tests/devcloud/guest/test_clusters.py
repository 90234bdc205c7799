"""The Kubernetes of clusters on servers that do not run: how nodes join, what they show, how the
API is reached.
"""

import asyncio
import json
import ssl
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionError, ClientSession, TCPConnector

from hearth_devcloud import snapshot
from hearth_devcloud.cloud import DevCloud
from hearth_devcloud.guest import clusters, node, simulated
from hearth_devcloud.guest.endpoints import ClusterEndpoints
from hearth_devcloud.guest.server import CLUSTERS
from hearth_devcloud.jobs import CALLS
from hearth_devcloud.kubernetes.objects import Cluster, takes
from hearth_devcloud.nova import life
from hearth_devcloud.store import Resource
from tests.devcloud.kubernetes.test_kubernetes import Authority

MEMBER = {clusters.MEMBER: "c-1"}
SETTINGS = {
    "task": "master", "name": "m-0", "cluster_uuid": "c-1", "address": "10.0.0.5",
    "kubernetes_port": 6443, "role": "master", "nodegroup": "default-master",
    "magnum_url": "http://magnum/v1/", "tls_disabled": "False",
}  # fmt: skip


@pytest.fixture
def cloud() -> DevCloud:
    return DevCloud()


def server(cloud: DevCloud, name: str, project: str = "p", **metadata: str) -> Resource:
    body = {"name": name, "vm_state": "active", "task_state": None, "metadata": metadata or MEMBER}
    agent = {"section": {}, "done": [], "pause_s": 1.0}
    hidden = {"agent": agent, "ports": [], "volumes": [], "own_ports": []}
    return cloud.store.insert(Resource(f"s-{name}", "compute.servers", project, body, hidden))


def deployment(**settings: Any) -> dict[str, Any]:
    given = {"settings": {**SETTINGS, **settings}, "credential_url": "http://hearth/credential?secret=s%2F1",
             "kube_version": "v1.31.4", "deploy_signal_id": "http://hearth/signal"}  # fmt: skip
    inputs = [{"name": name, "value": value} for name, value in given.items()]
    return {"id": "d", "name": "master_config", "group": "script", "inputs": inputs}


def run(cloud: DevCloud, one: Resource, **settings: Any) -> None:
    """Have the agent of a server run the deployment of a node."""
    simulated._run(cloud, one, one.hidden["agent"], deployment(**settings))


def calls(cloud: DevCloud) -> list[Resource]:
    return list(cloud.store.table(CALLS).values())


def answered(cloud: DevCloud, status: int, body: Any = None) -> None:
    """Answer the one call that waits."""
    (job,) = calls(cloud)
    cloud.store.remove(job)
    job.hidden["answer"] = {"status": status, "body": body, "headers": {}}
    cloud.carry_out(job.hidden["then"], job)


def results(cloud: DevCloud) -> tuple[int, str]:
    """Exit status and error output of the deployment that was reported."""
    (job,) = calls(cloud)
    assert job.body["url"] == "http://hearth/signal"
    found = json.loads(job.body["data"])
    return found["deploy_status_code"], found["deploy_stderr"]


def joined(cloud: DevCloud, name: str, project: str = "p", **settings: Any) -> Resource:
    """A server that is a node without TLS."""
    one = server(cloud, name, project)
    clusters.join(cloud, one, {**SETTINGS, "name": name, **settings}, "v1.31.4", {})
    return one


def objects(cloud: DevCloud) -> Cluster:
    return Cluster(clusters.Objects(cloud, cloud.store.table(CLUSTERS)["c-1"]))


def states(cloud: DevCloud) -> dict[str, str]:
    return {
        one["metadata"]["name"]: one["status"]["conditions"][-1]["status"]
        for one in objects(cloud).list("nodes")
    }


def test_a_master_gets_a_certificate_as_a_real_node_does(cloud: DevCloud, tmp_path: Path):
    master = server(cloud, "m-0")
    run(cloud, master)
    (first,) = calls(cloud)
    assert (first.body["method"], first.body["url"]) == ("GET", "http://hearth/credential")
    assert first.body["headers"]["X-Hearth-Node"] == "s/1"
    user = cloud.store.where("identity.users", name="demo")[0]
    known = {"trustee_user_id": user.id, "trustee_password": "secret"}
    answered(cloud, 200, known)
    (second,) = calls(cloud)
    assert second.body["url"] == "http://magnum/v1/certificates/c-1?ca_cert_type=kubernetes"
    assert second.body["headers"]["X-Auth-Token"]
    answered(cloud, 200, {"pem": "the authority"})
    (third,) = calls(cloud)
    assert (third.body["method"], third.body["url"]) == ("POST", "http://magnum/v1/certificates")
    assert "BEGIN CERTIFICATE REQUEST" in json.loads(third.body["data"])["csr"]
    assert states_or_none(cloud) is None  # the node joins last
    answered(cloud, 201, {"pem": "the certificate"})
    assert results(cloud) == (0, "")
    assert master.hidden["node"]["certificate"] == "the certificate"
    assert states(cloud) == {"m-0": "True"}


def states_or_none(cloud: DevCloud) -> dict[str, str] | None:
    return states(cloud) if cloud.store.table(CLUSTERS) else None


def test_a_worker_joins_without_a_call(cloud: DevCloud):
    run(cloud, server(cloud, "n-0"), task="worker", name="n-0", node_labels="tier=b",
        node_taints="k=v:NoSchedule")  # fmt: skip
    assert results(cloud) == (0, "")
    (found,) = objects(cloud).list("nodes")
    assert found["metadata"]["labels"]["tier"] == "b"
    assert found["spec"]["taints"] == [{"key": "k", "value": "v", "effect": "NoSchedule"}]


def test_other_deployments_join_nothing(cloud: DevCloud):
    for settings in (
        {"task": "cluster"}, {"name": "a/b"}, {"kubernetes_port": "x"}, {"kubernetes_port": 99999},
    ):  # fmt: skip
        run(cloud, server(cloud, "n-0"), **settings)
        assert results(cloud) == (0, "")
        cloud.store.table(CALLS).clear()
    assert states_or_none(cloud) is None


def test_an_answer_that_refuses_fails_the_deployment(cloud: DevCloud):
    run(cloud, server(cloud, "m-0"))
    answered(cloud, 404, {"errors": []})
    status, words = results(cloud)
    assert status == 1
    assert "GET http://hearth/credential: 404" in words


def test_a_credential_that_keystone_refuses_fails_the_deployment(cloud: DevCloud):
    run(cloud, server(cloud, "m-0"))
    answered(cloud, 200, {"trustee_user_id": "nobody", "trustee_password": "x"})
    assert results(cloud)[0] == 1


def test_a_call_without_an_answer_is_repeated_and_given_up(cloud: DevCloud):
    run(cloud, server(cloud, "m-0"))
    for _ in range(node.ATTEMPTS - 1):
        answered(cloud, 503)
        (job,) = calls(cloud)
        assert job.body["url"] == "http://hearth/credential"
    answered(cloud, 503)
    assert results(cloud) == (1, "master_config on m-0: GET http://hearth/credential: 503\n")


def test_a_fault_rule_fails_the_deployment_before_the_setup(cloud: DevCloud):
    rule = {"match": {"service": "agent", "name": "m-0"}, "effect": {"status": 3}}
    cloud.knobs.add([rule])
    run(cloud, server(cloud, "m-0"))
    assert results(cloud)[0] == 3


def test_a_server_joins_only_the_cluster_of_its_metadata_and_project(cloud: DevCloud):
    joined(cloud, "m-0")
    run(cloud, server(cloud, "n-1", "another"), task="worker", name="n-1")
    assert "another project" in results(cloud)[1]
    cloud.store.table(CALLS).clear()
    stranger = server(cloud, "n-2", **{clusters.MEMBER: "c-2"})
    run(cloud, stranger, task="worker", name="n-2")
    assert "does not name the cluster c-1" in results(cloud)[1]
    assert states(cloud) == {"m-0": "True"}


def test_a_node_is_as_ready_as_its_server(cloud: DevCloud):
    one = joined(cloud, "m-0")
    life.set_state(cloud, one, "stopped")
    assert states(cloud) == {"m-0": "Unknown"}
    objects(cloud).drop("nodes", None, "m-0")
    one.hidden["target"] = "active"
    life.changed(cloud, one)
    assert states(cloud) == {"m-0": "True"}


@pytest.mark.parametrize(
    ("effect", "status"), [({"drop": True}, "Unknown"), ({"status": 1}, "False")]
)
def test_rules_make_a_node_not_ready(cloud: DevCloud, effect: dict[str, Any], status: str):
    joined(cloud, "m-0")
    joined(cloud, "n-0", task="worker")
    cloud.knobs.add([{"match": {"service": "kubelet", "name": "n-0"}, "effect": effect}])
    assert states(cloud) == {"m-0": "True", "n-0": status}
    assert [takes(one) for one in objects(cloud).list("nodes")] == [True, False]


def test_a_deleted_server_takes_its_node_along(cloud: DevCloud):
    joined(cloud, "m-0")
    gone = joined(cloud, "n-0", task="worker")
    life.gone(cloud, gone)
    assert states(cloud) == {"m-0": "True"}
    lost = joined(cloud, "n-1", task="worker")
    cloud.store.remove(lost)
    assert states(cloud) == {"m-0": "True"}
    life.gone(cloud, cloud.store.table("compute.servers")["s-m-0"])
    assert not cloud.store.table(CLUSTERS)


def test_a_cluster_without_servers_goes(cloud: DevCloud):
    one, other = joined(cloud, "m-0"), joined(cloud, "x-0-other-cluster")
    other.hidden["node"]["cluster"] = "c-2"
    cloud.store.remove(one)
    clusters.tidy(cloud)
    assert states_or_none(cloud) is None
    joined(cloud, "m-0")
    clusters.tidy(cloud)
    assert states(cloud) == {"m-0": "True"}


def test_the_successor_of_a_server_keeps_the_node(cloud: DevCloud):
    former = joined(cloud, "n-0", task="worker")
    former.hidden["node"]["settings"]["name"] = "n-0"
    fresh = server(cloud, "n-0-new")
    clusters.join(cloud, fresh, {**SETTINGS, "task": "worker", "name": "n-0"}, "v1.32.1", {})
    life.gone(cloud, former)
    (found,) = objects(cloud).list("nodes")
    assert found["status"]["nodeInfo"]["kubeletVersion"] == "v1.32.1"
    assert states(cloud) == {"n-0": "True"}


def test_the_objects_survive_a_restart(cloud: DevCloud, tmp_path: Path):
    joined(cloud, "m-0", node_taints="")
    objects(cloud).create("pods", None, {"metadata": {"name": "p"}})
    snapshot.save(cloud, tmp_path / "cloud.json")
    after = DevCloud()
    snapshot.load(after, tmp_path / "cloud.json")
    assert states(after) == {"m-0": "True"}
    assert [one["metadata"]["name"] for one in objects(after).list("pods")] == ["p"]


def floating(cloud: DevCloud, port: str, device: str, address: str, *, ip: str) -> None:
    fixed = [{"ip_address": address, "subnet_id": "sub"}]
    body = {"id": port, "device_id": device, "network_id": "net", "fixed_ips": fixed,
            "mac_address": port, "project_id": "p"}  # fmt: skip
    cloud.store.insert(Resource(port, "network.ports", "p", body))
    if ip:
        body = {"floating_ip_address": ip, "port_id": port, "project_id": "p"}
        cloud.store.insert(Resource(f"f-{port}", "network.floatingips", "p", body))


@pytest.fixture
def pki(tmp_path: Path) -> Path:
    authority = Authority(tmp_path)
    authority.issue("server", "kubernetes")
    authority.issue("admin", "admin", "system:masters")
    return tmp_path


def with_tls(one: Resource, pki: Path) -> None:
    names = {"ca": "ca.crt", "certificate": "server.crt", "key": "server.key"}
    one.hidden["node"] |= {name: (pki / file).read_text() for name, file in names.items()}


def context(pki: Path, who: str | None) -> ssl.SSLContext:
    found = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if who is not None:
        found.load_cert_chain(pki / f"{who}.crt", pki / f"{who}.key")
    return found


async def asked(port: int, tls: ssl.SSLContext, path: str = "/api/v1/nodes") -> tuple[int, Any]:
    async with (
        ClientSession(connector=TCPConnector(ssl=tls)) as session,
        session.get(f"https://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


def test_a_floating_ip_leads_to_the_api_of_a_master(cloud: DevCloud, pki: Path):
    master = joined(cloud, "m-0")
    with_tls(master, pki)
    floating(cloud, "port-1", master.id, "10.0.0.5", ip="172.24.4.9")

    async def story() -> None:
        ways = ClusterEndpoints(cloud)
        ways.settle()
        ((way),) = ways.view()
        assert way["floating_ip_address"] == "172.24.4.9"
        port = way["ports"][6443]  # type: ignore[index]
        assert (await asked(port, context(pki, None)))[0] == 401
        status, text = await asked(port, context(pki, "admin"))
        assert (status, [one["metadata"]["name"] for one in json.loads(text)["items"]]) == (
            200, ["m-0"],
        )  # fmt: skip
        assert await asked(port, context(pki, None), "/healthz") == (200, "ok")
        with pytest.raises(ClientConnectionError):
            await asked(port, ssl.create_default_context())
        life.set_state(cloud, master, "stopped")
        with pytest.raises(ClientConnectionError):
            await asked(port, context(pki, "admin"))
        cloud.store.remove(cloud.store.table("network.floatingips")["f-port-1"])
        ways.settle()
        assert ways.view() == []
        await ways.close()

    asyncio.run(story())


def test_a_load_balancer_leads_to_a_master_that_is_active(cloud: DevCloud, pki: Path):
    for number in range(2):
        with_tls(joined(cloud, f"m-{number}"), pki)
        floating(cloud, f"port-{number}", f"s-m-{number}", f"10.0.0.{number}", ip="")
    floating(cloud, "vip", "lb", "10.0.0.9", ip="172.24.4.9")
    live = {"provisioning_status": "ACTIVE", "admin_state_up": True}

    def part(table: str, name: str, body: Any, **hidden: Any) -> None:
        cloud.store.insert(Resource(name, f"load-balancer.{table}", "p", {**live, **body}, hidden))

    part("loadbalancers", "lb", {"vip_port_id": "vip"})
    listener = {"loadbalancer_id": "lb", "protocol_port": 443, "default_pool_id": "pool"}
    part("listeners", "li", listener)
    part("pools", "pool", {})
    for number in range(2):
        member = {"address": f"10.0.0.{number}", "protocol_port": 6443}
        part("members", f"member-{number}", member, parent="pool")

    async def story() -> None:
        ways = ClusterEndpoints(cloud)
        ways.settle()
        (way,) = ways.view()
        port = way["ports"][443]  # type: ignore[index]
        for stopped in ("s-m-0", None, "s-m-1"):
            assert (await asked(port, context(pki, "admin")))[0] == 200
            if stopped is not None:
                life.set_state(cloud, cloud.store.table("compute.servers")[stopped], "stopped")
        with pytest.raises(ClientConnectionError):
            await asked(port, context(pki, "admin"))
        await ways.close()

    asyncio.run(story())
