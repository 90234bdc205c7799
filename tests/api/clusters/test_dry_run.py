"""A dry run carries out all checks and previews the stack; it stores and creates nothing."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.store.clusters.tables import cluster
from hearth.store.tables import stack
from tests.api.clusters.server import Api, Identity

PATH = "/v1/clusters?dry_run=true"


@pytest.fixture(scope="module", autouse=True)
def orchestration(magnum: Api) -> None:
    """The catalogue of the cloud names the stack service; nobody calls it."""
    keystone = Identity(magnum.cloud)
    service = keystone.create("services", "service", {"name": "heat", "type": "orchestration"})
    endpoint = {
        "service_id": service, "interface": "public", "region_id": "RegionOne",
        "url": "http://127.0.0.1:1/v1/%(project_id)s",
    }  # fmt: skip
    keystone.create("endpoints", "endpoint", endpoint)
    for name in ("member", "reader"):
        user, project = magnum.users[name], magnum.projects["demo"]
        magnum.tokens[name] = keystone.log_in(user, project)


def rows(api: Api) -> tuple[int, ...]:
    def count(table: sa.Table) -> int:
        query = sa.select(sa.func.count()).select_from(table)
        return int(api.run(lambda tx: tx.value(query)))

    return count(cluster), count(stack)


def ledger(api: Api) -> int:
    """Return how many objects the cloud has ever created."""
    return len(list(api.cloud.cloud.store.ledger.entries))


def items(resources: list[Any]) -> Iterator[Any]:
    """Yield the resources of a preview; a nested stack is a list."""
    for one in resources:
        if isinstance(one, list):
            yield from items(one)
        else:
            yield one


def failed(found: Any) -> dict[str, list[Any]]:
    return {one["name"]: one["problems"] for one in found["checks"] if not one["passed"]}


def test_it_returns_the_cluster_and_its_stack_and_creates_nothing(magnum: Api):
    template = magnum.template("dry", flavor_id="m1.small", master_flavor_id="m1.small")
    before, made = rows(magnum), ledger(magnum)
    body = {"cluster_template_id": template, "name": "planned", "node_count": 2}
    answer = magnum.call("POST", PATH, body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert failed(found) == {}
    assert found["accepted"]
    names = [one["name"] for one in found["checks"]]
    assert names == [
        "quota", "template", "driver", "master_count", "master_lb_enabled", "labels", "credential",
        "image", "flavor", "master_flavor", "external_network", "fixed_network", "fixed_subnet",
        "keypair", "stack",
    ]  # fmt: skip
    assert (found["cluster"]["name"], found["cluster"]["node_count"]) == ("planned", 2)
    assert [one["name"] for one in found["nodegroups"]] == ["default-master", "default-worker"]
    assert found["cluster"].keys().isdisjoint({"uuid", "links", "stack_id", "cluster_id"})
    assert found["stack"]["stack_name"].startswith("planned-")
    every = list(items(found["stack"]["resources"]))
    by_name = {one["resource_name"]: one["resource_type"] for one in every}
    assert by_name["private_network"] == "Magnum::Optional::Neutron::Net"
    assert by_name["kube-minion"] == "OS::Nova::Server"
    assert len([one for one in every if one["resource_name"] == "kube-minion"]) == 2
    assert any(one.get("parent_resource") == "network" for one in every)
    assert "api_address" in {one["output_key"] for one in found["stack"]["outputs"]}
    assert rows(magnum) == before
    assert ledger(magnum) == made


def test_it_lists_every_failing_check(magnum: Api):
    template = magnum.template("dry", flavor_id="nothing")
    body = {
        "cluster_template_id": template, "name": "wrong", "master_count": 2,
        "labels": {"boot_volume_size": "much", "selinux_mode": "perhaps"},
        "keypair": "none", "fixed_network": "nowhere",
    }  # fmt: skip
    answer = magnum.call("POST", PATH, body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert not found["accepted"]
    problems = failed(found)
    assert {
        "master_count", "master_lb_enabled", "labels", "flavor", "fixed_network", "keypair",
    } <= problems.keys()  # fmt: skip
    assert problems["keypair"][0]["status"] == 404
    (labels,) = problems["labels"]
    assert "boot_volume_size" in labels["message"]
    assert "selinux_mode" in labels["message"]


def test_an_unknown_template_leaves_nothing_to_check(magnum: Api):
    found = magnum.call("POST", PATH, {"cluster_template_id": "nothing"}).json()
    assert failed(found).keys() == {"template"}
    assert (found["cluster"], found["stack"]) == (None, None)


def test_a_request_with_errors_or_without_rights_is_refused(magnum: Api):
    body = {"cluster_template_id": magnum.template("dry")}
    assert magnum.call("POST", PATH, {**body, "node_count": "x"}).status_code == 400
    assert magnum.call("POST", PATH, body, by="reader").status_code == 403


def test_no_secret_is_shown(magnum: Api):
    body = {"cluster_template_id": magnum.template("dry"), "name": "secrets"}
    answer = magnum.call("POST", PATH, body)
    assert answer.json()["stack"], answer.text
    assert magnum.tokens["member"] not in answer.text
    parameters = answer.json()["stack"]["parameters"]
    assert parameters["node_credential_url"] == "******"
