"""What a user sees while something is tried again, and what stands in the way."""

import re
from typing import Any

import pytest

from tests.api.conftest import Caller
from tests.clients.dev import wait_for

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  bare: {type: OS::Neutron::Net}
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  group: {type: OS::Neutron::SecurityGroup}
  router: {type: OS::Neutron::Router}
"""
NAMES = ("bare", "subnet", "group", "router")


def test_a_delete_that_is_tried_again_says_so_and_names_what_is_in_the_way(api: Caller):
    path = api.create("blocked", TEMPLATE)
    listed = api.call("GET", f"{path}/resources").json()["resources"]
    ids = {one["resource_name"]: one["physical_resource_id"] for one in listed}
    with api.dev.sdk() as cloud:
        network = cloud.network
        group = [ids["group"]]
        bare = network.create_port(network_id=ids["bare"], name="mine", security_groups=[])
        port = network.create_port(network_id=ids["net"], name="theirs", security_groups=group)
        inside = network.create_network(name="other")
        part = network.create_subnet(network_id=inside.id, cidr="10.8.0.0/24", ip_version=4)
        network.add_interface_to_router(ids["router"], subnet_id=part.id)
        (interface,) = network.ports(device_id=ids["router"])
        api.call("DELETE", path)
        found = _blocked(api, path)
        kept = {"bare": bare.id, "subnet": port.id, "group": port.id, "router": interface.id}
        for name, one in found.items():
            reason = one["resource_status_reason"]
            assert one["resource_status"] == "DELETE_IN_PROGRESS"
            told = re.match(r"attempt ([1-5]) of 6 failed, the next in \d+ s: ", reason)
            assert told is not None, reason
            assert f"In use by port {kept[name]}" in reason, reason
            assert one["waiting"]["on"]["attempt"] == int(told[1]) + 1
        assert "(theirs)" in found["subnet"]["resource_status_reason"]
        network.remove_interface_from_router(ids["router"], subnet_id=part.id)
        for one in (bare, port):
            network.delete_port(one)
        network.delete_network(inside)
    api.until(path, "DELETE_COMPLETE")


def _blocked(api: Caller, path: str) -> dict[str, Any]:
    """The resources that met a conflict, once each has."""

    def look() -> dict[str, Any] | None:
        listed = api.call("GET", f"{path}/resources").json()["resources"]
        found = {one["resource_name"]: one for one in listed if one["resource_name"] in NAMES}
        tried = [one for one in found.values() if "attempt" in one["resource_status_reason"]]
        return found if len(tried) == len(NAMES) else None

    return wait_for(look, "each met a conflict")


TWINS = """
heat_template_version: 2021-04-16
resources:
  net: {type: OS::Neutron::Net}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  one:
    type: OS::Neutron::Port
    depends_on: subnet
    properties: {network: {get_resource: net}, fixed_ips: [{ip_address: 10.9.0.9}]}
  two:
    type: OS::Neutron::Port
    depends_on: one
    properties: {network: {get_resource: net}, fixed_ips: [{ip_address: 10.9.0.9}]}
"""


def test_a_create_that_is_tried_again_says_so(api: Caller):
    made = api.call("POST", "/stacks", {"stack_name": "twins", "template": TWINS}).json()["stack"]
    path = f"/stacks/twins/{made['id']}"

    def told() -> re.Match[str] | None:
        shown = api.call("GET", f"{path}/resources").json()["resources"]
        reasons = [one["resource_status_reason"] for one in shown if one["resource_name"] == "two"]
        return re.match(r"attempt 1 of 6 failed, the next in \d+ s: IpAdd", "".join(reasons))

    assert wait_for(told, "the conflict")
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
