"""Drift: what differs in the cloud is told, what could not be compared as well; nothing changes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller
from tests.clients.dev import wait_for

pytestmark = pytest.mark.slow

HOT = "heat_template_version: 2021-04-16\n"
MASK = "******"
TEMPLATE = (
    HOT
    + """
parameters:
  password: {type: string, hidden: true, default: first-secret}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: drifting}
  subnet:
    type: OS::Neutron::Subnet
    properties:
      network: {get_resource: net}
      cidr: 10.9.0.0/24
      dns_nameservers: [192.0.2.1, 192.0.2.2]
  group:
    type: OS::Neutron::SecurityGroup
    properties:
      description: {get_param: password}
      rules: [{protocol: tcp, port_range_min: 22, port_range_max: 22}]
  server:
    type: OS::Nova::Server
    depends_on: subnet
    properties:
      image: cirros
      flavor: m1.tiny
      user_data: {get_param: password}
      metadata: {stage: test}
      networks: [{network: {get_resource: net}}]
  secret:
    type: OS::Barbican::Secret
    properties: {name: sealed, payload: {get_param: password}}
  value: {type: OS::Heat::Value, properties: {value: 1}}
  inner:
    type: child.yaml
    properties: {label: {get_param: password}}
"""
)
CHILD = (
    HOT
    + """
parameters:
  label: {type: string}
resources:
  below: {type: OS::Neutron::Net, properties: {name: {get_param: label}}}
"""
)


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    made = api.create("drifting", TEMPLATE, files={"child.yaml": CHILD})
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def drift(api: Caller, path: str, query: str = "") -> dict[str, Any]:
    reply = api.call("GET", f"{path}/drift{query}")
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()["drift"]
    return found


def rows(api: Caller, path: str, query: str = "") -> Mapping[str, Mapping[str, Any]]:
    return {one["resource_name"]: one for one in drift(api, path, query)["resources"]}


def tamper(api: Caller, ident: str, table: str, **fields: Any) -> None:
    """Change an object in the embedded cloud, as somebody else would."""
    body = {"table": table, "id": ident, "body": fields}
    reply = requests.patch(f"{api.dev.cloud_url}/devcloud/objects", json=body, timeout=10)
    assert reply.ok, reply.text


def test_a_stack_as_it_was_made_is_in_sync_and_what_is_not_compared_is_told(api: Caller, path: str):
    api.dev.mark()
    found = drift(api, path)
    assert (found["state"], found["counts"]["drifted"]) == ("in sync", 0)
    told = {one["resource_name"]: one for one in found["resources"]}
    assert {name: one["state"] for name, one in told.items()} == {
        "net": "in sync",
        "subnet": "in sync",
        "group": "in sync",
        "server": "in sync",
        "secret": "in sync",
        "value": "not checkable",
        "inner": "not checkable",
    }
    assert {"flavor", "image", "metadata"} <= set(told["server"]["compared"])
    silent = {one["property"]: one["reason"] for one in told["server"]["not_checkable"]}
    assert silent["user_data"] == "write-only: the service never shows it"
    assert silent["networks"] == "the ports of a server are not compared"
    assert "payload" in {one["property"] for one in told["secret"]["not_checkable"]}
    assert told["value"]["reason"] == "it has no object in the cloud"
    assert "nested_depth" in told["inner"]["reason"]
    assert api.dev.ledger() == []


def test_each_difference_is_told_and_hidden_values_are_masked(api: Caller, path: str):
    known = {name: one["physical_resource_id"] for name, one in rows(api, path).items()}
    below = rows(api, path, "?nested_depth=1")["below"]
    assert (below["parent_resource"], below["state"]) == ("inner", "in sync")
    tamper(api, known["net"], "network.networks", name="renamed")
    tamper(api, known["subnet"], "network.subnets", dns_nameservers=["192.0.2.2", "192.0.2.1"])
    tamper(api, known["group"], "network.security_groups", description="seen")
    tamper(api, known["server"], "compute.servers", metadata={"stage": "live"})
    tamper(api, below["physical_resource_id"], "network.networks", name="seen")
    found = drift(api, path, "?nested_depth=1")
    told = {one["resource_name"]: one for one in found["resources"]}
    assert found["state"] == "drifted"
    assert told["net"]["differences"] == [
        {"property": "name", "want": "drifting", "have": "renamed"}
    ]
    assert told["subnet"]["state"] == "in sync"  # the order of a list does not matter
    assert told["server"]["differences"] == [
        {"property": "metadata", "want": {"stage": "test"}, "have": {"stage": "live"}}
    ]
    masked = {"want": "******", "have": "******"}
    assert told["group"]["differences"] == [{"property": "description", **masked}]
    assert told["below"]["differences"] == [{"property": "name", **masked}]
    assert "first-secret" not in str(found)
    assert "seen" not in str(found)
    api.call("PATCH", path, {"converge": True, "files": {"child.yaml": CHILD}})
    api.until(path, "UPDATE_COMPLETE")
    assert drift(api, path, "?nested_depth=1")["state"] == "in sync"


def test_what_the_cloud_refuses_to_show_is_told_in_its_words(api: Caller, path: str):
    rule = {
        "match": {"service": "compute", "method": "GET", "path_regex": "/servers"},
        "effect": {"status": 503, "body": {"serviceUnavailable": {"message": "gone fishing"}}},
    }
    requests.post(f"{api.dev.cloud_url}/devcloud/knobs", json={"rules": [rule]}, timeout=10)
    try:
        told = rows(api, path)
    finally:
        requests.delete(f"{api.dev.cloud_url}/devcloud/knobs", timeout=10)
    assert told["server"]["state"] == "not checkable"
    assert "gone fishing" in told["server"]["reason"]
    assert told["server"]["compared"] == []
    assert told["net"]["state"] == "in sync"


def test_an_object_that_is_gone_is_missing(api: Caller):
    made = api.create("missing", f"{HOT}resources: {{net: {{type: OS::Neutron::Net}}}}\n")
    ident = rows(api, made)["net"]["physical_resource_id"]
    requests.delete(f"{api.dev.cloud_url}/devcloud/objects/{ident}", timeout=10)
    found = drift(api, made)
    assert found["state"] == "drifted"
    assert found["counts"]["missing"] == 1
    assert found["resources"][0]["reason"] == "the cloud no longer has the object"
    api.call("DELETE", made)


def test_a_resource_in_progress_is_not_checkable(api: Caller):
    template = f"""{HOT}
resources:
  net: {{type: OS::Neutron::Net}}
  handle: {{type: OS::Heat::WaitConditionHandle}}
  wait:
    type: OS::Heat::WaitCondition
    properties: {{handle: {{get_resource: handle}}, timeout: 600}}
"""
    reply = api.call("POST", "/stacks", {"stack_name": "waiting-drift", "template": template})
    path = f"/stacks/waiting-drift/{reply.json()['stack']['id']}"

    def look() -> bool | None:
        told = rows(api, path)
        states = {name: one["reason"] or one["state"] for name, one in told.items()}
        return (states.get("wait"), states.get("net")) == ("in progress", "in sync") or None

    wait_for(look, "the wait condition is in progress")
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def calls_for(api: Caller, count: int) -> int:
    """The calls to the cloud for a stack with this many networks and ports."""
    resources = {}
    for number in range(count):
        resources[f"net{number}"] = {"type": "OS::Neutron::Net"}
        resources[f"port{number}"] = {
            "type": "OS::Neutron::Port",
            "properties": {"network": {"get_resource": f"net{number}"}},
        }
    template = {"heat_template_version": "2021-04-16", "resources": resources}
    path = api.create(f"calls-{count}", json.dumps(template))
    api.dev.mark()
    found = drift(api, path)
    account = requests.get(f"{api.dev.cloud_url}/devcloud/ledger?calls=1", timeout=10).json()
    assert found["counts"]["in sync"] == 2 * count
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
    return len([one for one in account["calls"] if one["path"].startswith("/network")])


def test_the_calls_do_not_grow_with_the_resources(api: Caller):
    with api.dev.sdk("hearth-admin") as admin:
        project = api.login()[1]
        limits = {"quota": {"network": -1, "port": -1, "force": True}}
        assert admin.network.put(f"/quotas/{project}", json=limits).ok
    assert calls_for(api, 20) == calls_for(api, 200) <= 4


def test_a_name_equals_the_id_that_it_stands_for(api: Caller):
    with api.dev.sdk("hearth-admin") as admin:
        kinds = [admin.block_storage.create_type(name=f"drift-{n}") for n in ("fast", "slow")]
    template = f"""{HOT}
resources:
  disk: {{type: OS::Cinder::Volume, properties: {{size: 1, volume_type: {kinds[0].id}}}}}
"""
    path = api.create("by-id", template)
    (disk,) = rows(api, path).values()
    assert "volume_type" in disk["compared"]  # the service shows the name
    assert disk["state"] == "in sync"
    tamper(api, disk["physical_resource_id"], "volume.volumes", volume_type="drift-slow")
    (disk,) = rows(api, path).values()
    assert disk["differences"] == [
        {"property": "volume_type", "want": kinds[0].id, "have": "drift-slow"}
    ]
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
    with api.dev.sdk("hearth-admin") as admin:
        for kind in kinds:
            admin.block_storage.delete_type(kind)


def test_a_stack_that_is_not_there_is_refused(api: Caller):
    assert api.call("GET", "/stacks/nothing/drift").status_code == 404


def test_converge_repairs_what_a_type_reads_in_the_words_of_another(api: Caller):
    template = f"""{HOT}
resources:
  net: {{type: OS::Neutron::Net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.9.0.0/24}}
  group: {{type: OS::Neutron::SecurityGroup}}
  card:
    type: AWS::EC2::NetworkInterface
    properties: {{SubnetId: {{get_resource: subnet}}, GroupSet: [{{get_resource: group}}]}}
"""
    path = api.create("translated", template)
    found = rows(api, path)
    card, group = found["card"], found["group"]["physical_resource_id"]
    assert (card["state"], card["compared"]) == ("in sync", ["GroupSet", "SubnetId"])
    tamper(api, card["physical_resource_id"], "network.ports", security_groups=[])
    assert rows(api, path)["card"]["differences"] == [
        {"property": "GroupSet", "want": [group], "have": []}
    ]
    api.call("PATCH", path, {"converge": True})
    api.until(path, "UPDATE_COMPLETE")
    assert drift(api, path)["state"] == "in sync"
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def converge_plan(api: Caller, path: str) -> dict[str, Any]:
    reply = api.call("PATCH", f"{path}/plan", {"converge": True})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()["plan"]
    return found


def entries(plan: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["resource"]: one for one in plan["resources"]}


def test_a_plan_of_converge_is_about_the_real_objects(api: Caller):
    made = api.create("planned", f"{HOT}resources: {{net: {{type: OS::Neutron::Net}}}}\n")
    ident = rows(api, made)["net"]["physical_resource_id"]
    still = converge_plan(api, made)
    assert (still["resources"][0]["action"], still["resources"][0]["certain"]) == ("keep", True)
    assert converge_plan(api, made)["hash"] == still["hash"]
    tamper(api, ident, "network.networks", admin_state_up=False)
    moved = converge_plan(api, made)
    assert entries(moved)["net"]["reasons"] == [
        {"property": "admin_state_up", "reason": "changed in the cloud",
         "before": False, "after": True}
    ]  # fmt: skip
    refused = api.call("PATCH", made, {"converge": True, "plan": still["hash"]})
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "PlanChanged")
    requests.delete(f"{api.dev.cloud_url}/devcloud/objects/{ident}", timeout=10)
    gone = converge_plan(api, made)
    assert len({still["hash"], moved["hash"], gone["hash"]}) == 3
    assert entries(gone)["net"]["reasons"] == [{"reason": "its object no longer exists"}]
    api.call("PATCH", made, {"converge": True, "plan": gone["hash"]})
    api.until(made, "UPDATE_COMPLETE")
    assert drift(api, made)["state"] == "in sync"
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def test_a_plan_of_converge_masks_what_is_hidden_and_is_exact_at_any_depth(api: Caller, path: str):
    told = entries(converge_plan(api, path))
    inner = told.pop("inner")
    assert {one["action"] for one in told.values()} == {"keep"}
    assert inner["nested"]["resources"][0]["action"] == "keep"
    below = rows(api, path, "?nested_depth=1")["below"]["physical_resource_id"]
    tamper(api, below, "network.networks", name="other")
    inner = entries(converge_plan(api, path))["inner"]
    assert (inner["action"], inner["certain"]) == ("update", True)
    assert inner["nested"]["resources"][0]["reasons"] == [
        {"property": "name", "reason": "changed in the cloud", "before": MASK, "after": MASK}
    ]
    tamper(api, below, "network.networks", name="first-secret")


def test_only_what_cannot_be_read_is_uncertain(api: Caller, path: str):
    rule = {
        "match": {"service": "compute", "method": "GET", "path_regex": "/servers"},
        "effect": {"status": 503, "body": {"serviceUnavailable": {"message": "gone fishing"}}},
    }
    requests.post(f"{api.dev.cloud_url}/devcloud/knobs", json={"rules": [rule]}, timeout=10)
    try:
        told = entries(converge_plan(api, path))
    finally:
        requests.delete(f"{api.dev.cloud_url}/devcloud/knobs", timeout=10)
    assert [name for name, one in told.items() if not one["certain"]] == ["server"]
    assert "gone fishing" in told["server"]["reasons"][0]["reason"]
