"""From POST /clusters to the last nested stack, with the real templates, clients and processes.

Source: spec/clusters.md, section 1.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.clients.dev import CommandFailed, Dev, hearth_dev, wait_for
from tests.selection import in_rest

pytestmark = pytest.mark.slow

ID = "[a-z2-7]{12}"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as running:
        yield running


def coe(dev: Dev, *words: str) -> Any:
    return dev.json("coe", *words)


def answers(dev: Dev, path: str) -> Iterator[requests.Response]:
    """What the API answers, as often as it is asked: the command takes a third of a second."""
    with dev.sdk() as cloud:
        headers = {"X-Auth-Token": cloud.auth_token}
    while True:
        url = f"{dev.url}/container-infra/v1/clusters/{path}"
        yield requests.get(url, headers=headers, timeout=10)


def settled(dev: Dev, name: str) -> Any:
    """Wait for the end of the operation; what the command shows then."""
    asked = answers(dev, name)
    wait_for(
        lambda: None if next(asked).json()["status"].endswith("IN_PROGRESS") else True,
        f"{name} settles",
        180,
    )
    return coe(dev, "cluster", "show", name)


def is_deleted(dev: Dev, name: str) -> None:
    asked = answers(dev, name)
    wait_for(lambda: next(asked).status_code == 404 or None, "the cluster is deleted", 180)


def events_of(dev: Dev, name: str) -> list[Any]:
    return list(next(answers(dev, f"{name}/events")).json()["events"])


def test_a_request_becomes_a_cluster_step_by_step(dev: Dev) -> None:
    dev.mark()
    dev.shell(
        "coe", "cluster", "template", "create", "small", "--coe", "kubernetes",
        "--image", "ubuntu-kube", "--external-network", "public", "--flavor", "m1.small",
        "--master-flavor", "m1.small",
    )  # fmt: skip
    said = dev.shell("coe", "cluster", "create", "My_Farm.1", "--cluster-template", "small")
    assert re.match(r"Request to create cluster [0-9a-f-]{36} accepted", said)
    found = settled(dev, "My_Farm.1")
    assert found["status"] == "CREATE_COMPLETE", found["status_reason"]
    assert found["coe_version"], "the image says which Kubernetes it has"

    with dev.heat() as heat:
        stacks = {one.id: one for one in heat.stacks.list(show_nested=True)}
        root = stacks[found["stack_id"] if "stack_id" in found else found["cluster_id"]]
        assert re.fullmatch(f"my-farm-1-{ID}", root.stack_name)
        assert root.tags == [f"cluster:{found['uuid']}"]
        names = [one.stack_name for one in stacks.values()]
        for nested in (
            "network", "network-{id}-network_switch", "api_lb", "etcd_lb", "kube_masters",
            "kube_masters-{id}-0", "kube_minions", "kube_minions-{id}-0", "api_address_lb_switch",
        ):  # fmt: skip
            pattern = f"{root.stack_name}-{nested.format(id=ID)}-{ID}"
            assert [one for one in names if re.fullmatch(pattern, one)], pattern
        resources = heat.resources.list(root.id, nested_depth=4)
        types = {one.resource_type for one in resources}
        assert {
            "Magnum::Optional::Neutron::LBaaS::LoadBalancer",
            "Magnum::NetworkSwitcher",
        } <= types
        assert all(one.resource_status == "CREATE_COMPLETE" for one in resources)

    made = [(one["service"], one["collection"]) for one in dev.ledger()]
    assert ("load-balancer", "loadbalancers") not in made  # those resources are NoneResources
    first = {name: made.index((service, name)) for service, name in (
        ("identity", "application_credentials"), ("network", "networks"), ("compute", "servers"),
    )}  # fmt: skip
    assert first["application_credentials"] < first["networks"] < first["servers"]
    servers = [one["name"] for one in dev.ledger() if one["collection"] == "servers"]
    assert [name.rsplit("-", 2)[1] for name in servers] == ["master", "node"]
    assert [one["event"] for one in events_of(dev, "My_Farm.1")][-1] == "cluster.create"

    dev.shell("coe", "cluster", "delete", "My_Farm.1")

    is_deleted(dev, "My_Farm.1")
    with pytest.raises(CommandFailed, match="No cluster"):
        coe(dev, "cluster", "show", "My_Farm.1")
    dev.shell("coe", "cluster", "template", "delete", "small")
    assert dev.left_over() == []


def test_three_masters_and_five_workers_with_a_load_balancer(dev: Dev, tmp_path: Path) -> None:
    dev.shell(
        "quota",
        "set",
        "--instances",
        "30",
        "--server-group-members",
        "30",
        "demo",
        cloud="hearth-admin",
    )
    dev.mark()
    dev.shell(
        "coe", "cluster", "template", "create", "large", "--coe", "kubernetes",
        "--image", "ubuntu-kube", "--external-network", "public", "--flavor", "m1.tiny",
        "--master-flavor", "m1.tiny", "--master-lb-enabled",
    )  # fmt: skip
    dev.shell(
        "coe", "cluster", "create", "farm", "--cluster-template", "large", "--master-count", "3",
        "--node-count", "5",
    )  # fmt: skip
    found = settled(dev, "farm")
    assert found["status"] == "CREATE_COMPLETE", found["status_reason"]
    assert (len(found["master_addresses"]), len(found["node_addresses"])) == (3, 5)
    with dev.heat() as heat:
        stack_id = found["cluster_id"]
        resources = heat.resources.list(stack_id, nested_depth=4)
        assert len(resources) >= 130
    dev.shell("coe", "cluster", "resize", "farm", "8")
    assert settled(dev, "farm")["node_count"] == 8
    dev.shell(
        "coe", "cluster", "template", "create", "newer", "--coe", "kubernetes",
        "--image", "ubuntu-kube-v1.32.1", "--external-network", "public", "--flavor", "m1.tiny",
        "--master-flavor", "m1.tiny", "--master-lb-enabled",
    )  # fmt: skip
    dev.shell("coe", "cluster", "upgrade", "farm", "newer", "--max-batch-size", "4")
    after = settled(dev, "farm")
    assert after["status"] == "UPDATE_COMPLETE", after["status_reason"]
    assert after["coe_version"] == "v1.32.1"
    with dev.sdk() as cloud:
        wanted = cloud.image.find_image("ubuntu-kube-v1.32.1").id
        used = {one.image.id for one in cloud.compute.servers()}
    assert used == {wanted}
    dev.shell("coe", "cluster", "delete", "farm")
    is_deleted(dev, "farm")
    assert coe(dev, "cluster", "list") == []
    for name in ("large", "newer"):
        dev.shell("coe", "cluster", "template", "delete", name)
    assert dev.left_over() == []


@in_rest
def test_a_server_of_the_user_stops_the_delete_until_it_is_forced(dev: Dev) -> None:
    dev.shell(
        "coe", "cluster", "template", "create", "tiny", "--coe", "kubernetes",
        "--image", "ubuntu-kube", "--external-network", "public", "--flavor", "m1.tiny",
        "--master-flavor", "m1.tiny",
    )  # fmt: skip
    dev.shell("coe", "cluster", "create", "yard", "--cluster-template", "tiny")
    assert settled(dev, "yard")["status"] == "CREATE_COMPLETE"
    dev.shell(
        "server", "create", "web", "--image", "cirros", "--flavor", "m1.tiny",
        "--network", "yard", "--wait",
    )  # fmt: skip
    mine = dev.json("server", "show", "web")["id"]
    dev.shell("coe", "cluster", "delete", "yard")
    found = settled(dev, "yard")
    assert found["status"] == "DELETE_FAILED"
    assert f"server web ({mine}) on network yard (" in found["status_reason"]

    with dev.sdk() as cloud:
        url = f"{dev.url}/container-infra/v1/clusters/{found['uuid']}?force=true"
        headers = {"X-Auth-Token": cloud.auth_token}
        assert requests.delete(url, headers=headers, timeout=10).status_code == 204

    def gone() -> bool | None:
        return None if dev.json("coe", "cluster", "list") else True

    wait_for(gone, "the cluster is deleted", 180)
    assert dev.json("server", "show", "web")["status"] == "ACTIVE"
    assert dev.json("stack", "list") == []
    dev.shell("server", "delete", "web", "--wait")
    dev.shell("coe", "cluster", "template", "delete", "tiny")
