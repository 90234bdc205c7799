"""Resources with an external id: what is there already, and stays."""

from collections.abc import Iterator

import pytest
import requests

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2021-04-16
parameters: {{id: {{type: string, default: "{0}"}}}}
resources:
  net:
    type: OS::Neutron::Net
    external_id: {{get_param: id}}
    properties: {{name: {1}}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {{network: {{get_resource: net}}, cidr: 10.77.0.0/24}}
outputs: {{called: {{value: {{get_attr: [net, name]}}}}}}
"""
BARE = """
heat_template_version: 2021-04-16
resources: {{subnet: {{type: OS::Neutron::Subnet, external_id: "{0}", properties: {1}}}}}
"""


@pytest.fixture(scope="module")
def network(api: Caller) -> Iterator[str]:
    """A network that no stack made."""
    headers = {"X-Auth-Token": api.login()[0]}
    catalogue = requests.get(f"{api.dev.auth_url}/auth/catalog", headers=headers, timeout=10).json()
    url = next(
        one["endpoints"][0]["url"] for one in catalogue["catalog"] if one["type"] == "network"
    )
    base = url.rstrip("/").removesuffix("/v2.0") + "/v2.0/networks"
    body = {"network": {"name": "outside"}}
    made = requests.post(base, json=body, headers=headers, timeout=10).json()["network"]["id"]
    yield made
    gone = requests.delete(f"{base}/{made}", headers=headers, timeout=10)
    assert gone.status_code == 204  # the stack's delete left it


@pytest.fixture(scope="module")
def path(api: Caller, network: str) -> Iterator[str]:
    made = api.create("outside", TEMPLATE.format(network, "x"))
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def test_what_is_not_there_is_refused_and_nothing_is_stored(api: Caller):
    template = TEMPLATE.format("no-such-network", "x")
    for place in ("/stacks", "/stacks/preview"):
        reply = api.call("POST", place, {"stack_name": "nowhere", "template": template})
        assert reply.status_code == 400
        error = reply.json()["error"]
        assert error["type"] == "StackValidationFailed"
        assert 'there is no OS::Neutron::Net "no-such-network"' in error["message"]
    assert api.call("GET", "/stacks/nowhere").status_code == 404


def test_it_is_adopted_then_checked_and_can_be_read(api: Caller, path: str, network: str):
    events = api.call("GET", f"{path}/resources/net/events?sort_dir=asc").json()["events"]
    assert [one["resource_status"] for one in events] == [
        "ADOPT_IN_PROGRESS", "ADOPT_COMPLETE", "CHECK_IN_PROGRESS", "CHECK_COMPLETE",
    ]  # fmt: skip
    shown = api.call("GET", f"{path}/resources/net").json()["resource"]
    assert shown["physical_resource_id"] == network
    (output,) = api.until(path, "CREATE_COMPLETE")["outputs"]
    assert output["output_value"] == "outside"  # its own name, not that of the template


def test_other_changes_are_ignored_and_that_of_the_id_fails(api: Caller, path: str, network: str):
    assert api.call("PUT", path, {"template": TEMPLATE.format(network, "y")}).status_code == 202
    api.until(path, "UPDATE_COMPLETE")
    shown = api.call("GET", f"{path}/resources/net").json()["resource"]
    assert shown["resource_status"] == "CHECK_COMPLETE"
    without = TEMPLATE.format("", "x").replace("    external_id: {get_param: id}\n", "")
    assert api.call("PUT", path, {"template": without}).status_code == 202
    stack = api.until(path, "UPDATE_FAILED")
    assert "NotSupported: resources.net" in stack["stack_status_reason"]
    assert api.call("PUT", path, {"template": TEMPLATE.format(network, "x")}).status_code == 202
    api.until(path, "UPDATE_COMPLETE")


@pytest.mark.parametrize("properties", ["{}", "{cidr: [1], zz: 1, gateway_ip: nowhere}"])
def test_its_properties_may_be_missing_or_wrong(api: Caller, path: str, properties: str):
    subnet = api.call("GET", f"{path}/resources/subnet").json()["resource"]["physical_resource_id"]
    bare = BARE.format(subnet, properties)
    assert api.call("POST", "/validate", {"template": bare}).status_code == 200
    made = api.create("bare", bare)
    shown = api.call("GET", f"{made}/resources/subnet").json()["resource"]
    assert (shown["resource_status"], shown["attributes"]["cidr"]) == (
        "CHECK_COMPLETE", "10.77.0.0/24",
    )  # fmt: skip
    assert api.call("PUT", made, {"template": bare.replace("zz", "yy")}).status_code == 202
    api.until(made, "UPDATE_COMPLETE")
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def test_a_property_in_the_address_of_its_object_is_needed(api: Caller):
    rule = "{type: OS::Octavia::PoolMember, external_id: x}"
    template = f"heat_template_version: 2021-04-16\nresources: {{rule: {rule}}}"
    reply = api.call("POST", "/stacks", {"stack_name": "nowhere", "template": template})
    assert reply.status_code == 400
    assert "cannot be read with these properties: 'pool'" in reply.json()["error"]["message"]


def test_it_may_not_depend_on_others(api: Caller, network: str):
    template = TEMPLATE.format(network, "x").replace(
        "    properties: {name: x}", "    depends_on: subnet\n    properties: {name: x}"
    )
    reply = api.call("POST", "/stacks", {"stack_name": "nowhere", "template": template})
    assert reply.status_code == 400
    assert "cannot be combined with its external_id" in reply.json()["error"]["message"]
