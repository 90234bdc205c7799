"""The attributes of a resource contain the fields of its object, as in Heat."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

HOT = "heat_template_version: 2021-04-16\n"
INNER = HOT + "resources: {disk: {type: OS::Cinder::Volume, properties: {size: 1}}}\n"
TEMPLATE = (
    HOT
    + """
resources:
  net: {type: OS::Neutron::Net}
  other: {type: OS::Neutron::Net}
  server:
    type: OS::Nova::Server
    properties: {image: cirros, flavor: m1.tiny, networks: [{network: {get_resource: net}}]}
    depends_on: subnet
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  config: {type: OS::Heat::SoftwareConfig, properties: {config: echo}}
  inner: {type: inner.yaml}
  value: {type: OS::Heat::Value, properties: {value: 1}}
"""
)
SHOWN = {
    "net": {"id", "status", "project_id", "router:external", "tags", "created_at"},
    "server": {"id", "status", "flavor", "image", "metadata", "OS-EXT-STS:vm_state", "networks"},
    "subnet": {"id", "cidr", "gateway_ip", "allocation_pools", "project_id"},
    "config": {"id", "name", "group", "config", "inputs", "outputs", "options", "creation_time"},
    "disk": {"id", "status", "size", "volume_type", "attachments"},
    "value": {"value"},
}


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    made = api.create("shown", TEMPLATE, files={"inner.yaml": INNER})
    yield made
    api.call("DELETE", made)
    api.ended(made)


def listed(api: Caller, path: str) -> dict[str, dict[str, Any]]:
    reply = api.call("GET", f"{path}/resources?with_detail=true&nested_depth=2")
    return {one["resource_name"]: one for one in reply.json()["resources"]}


@pytest.mark.parametrize("name", SHOWN)
def test_a_resource_shows_the_fields_of_its_object(api: Caller, path: str, name: str) -> None:
    one = listed(api, path)[name]
    assert one["attributes"].keys() >= SHOWN[name]
    (link,) = [link["href"] for link in one["links"] if link["rel"] == "self"]
    shown = api.call("GET", link).json()["resource"]
    assert {field: shown["attributes"][field] for field in SHOWN[name]} == {
        field: one["attributes"][field] for field in SHOWN[name]
    }
    if name != "value":
        assert shown["attributes"]["id"] == shown["physical_resource_id"]


def test_fields_are_those_of_this_moment(api: Caller, path: str) -> None:
    with api.dev.sdk() as demo:
        found = listed(api, path)["other"]["physical_resource_id"]
        demo.network.update_network(found, description="changed outside")
    assert listed(api, path)["other"]["attributes"]["description"] == "changed outside"


def test_a_service_without_an_answer_leaves_the_recorded_attributes(api: Caller, path: str) -> None:
    match = {"service": "network", "method": "GET", "path_regex": "/networks"}
    knobs = f"{api.dev.cloud_url}/devcloud/knobs"
    rule = {"match": match, "effect": {"status": 400}}
    requests.post(knobs, json={"rules": [rule]}, timeout=10)
    try:
        attributes = listed(api, path)["net"]["attributes"]
    finally:
        requests.delete(knobs, timeout=10)
    assert "id" not in attributes
    assert attributes["admin_state_up"] is True


UNDONE = (
    HOT
    + """
resources:
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: HEAT_SIGNAL}}
  waits:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, count: 2, timeout: 300}
  later: {type: OS::Heat::TestResource, depends_on: waits}
outputs:
  data: {value: {get_attr: [waits, data]}}
  none: {value: {get_attr: [later, output]}}
"""
)


def test_what_is_waiting_or_has_failed_shows_its_attributes(api: Caller) -> None:
    reply = api.call("POST", "/stacks", {"stack_name": "undone", "template": UNDONE})
    path = f"/stacks/undone/{reply.json()['stack']['id']}"
    until_outputs(api, path, {"data": "{}", "none": None})
    url = f"{path}/resources/handle/signal"
    api.call("POST", url, {"status": "SUCCESS", "id": "1", "data": "D", "reason": "ok"})
    until_outputs(api, path, {"data": '{"1": "D"}', "none": None})
    api.call("POST", url, {"status": "FAILURE", "id": "2", "reason": "bad"})
    api.until(path, "CREATE_FAILED")
    data = '{"1": "D", "2": null}'
    until_outputs(api, path, {"data": data, "none": None})
    shown = api.call("GET", f"{path}/resources/waits").json()["resource"]
    assert shown["attributes"] == {"data": data}
    api.call("DELETE", path)
    api.ended(path)


def until_outputs(api: Caller, path: str, expected: dict[str, Any]) -> None:
    """The outputs become `expected` within ten seconds."""
    ends = time.monotonic() + 10
    while (seen := outputs_of(api, path)) != expected and time.monotonic() < ends:
        time.sleep(0.1)
    assert seen == expected


def outputs_of(api: Caller, path: str) -> dict[str, Any]:
    stack = api.call("GET", path).json()["stack"]
    return {one["output_key"]: one["output_value"] for one in stack["outputs"]}
