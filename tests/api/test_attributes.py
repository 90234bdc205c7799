"""The attributes of a resource contain the fields of its object, as in Heat."""

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
