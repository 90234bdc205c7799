"""What groups without members show."""

import json

from tests.api.conftest import Caller

MEMBER = {"type": "OS::Heat::TestResource", "properties": {"value": "x"}}
SIZES = {"min_size": 0, "max_size": 3, "desired_capacity": 0}
RESOURCES = {
    "asg": {"type": "OS::Heat::AutoScalingGroup", "properties": {**SIZES, "resource": MEMBER}},
    "group": {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 0, "resource_def": MEMBER},
    },
    "chain": {"type": "OS::Heat::ResourceChain", "properties": {"resources": []}},
}
READ = {
    "asg, outputs, output": {},
    "asg, outputs_list, output": [],
    "group, attributes, output": {},
    "group, attributes, output, x": {},
    "group, output": [],
    "chain, attributes, output": {},
}


def test_a_group_without_members_collects_empty_maps_and_lists(api: Caller) -> None:
    outputs = {path: {"value": {"get_attr": path.split(", ")}} for path in READ}
    taken = {
        "type": "OS::Heat::Value",
        "properties": {"value": outputs["asg, outputs, output"]["value"]},
    }
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {**RESOURCES, "taken": taken},
        "outputs": {**outputs, "taken": {"value": {"get_attr": ["taken", "value"]}}},
    }
    path = api.create("empty-groups", json.dumps(template))
    shown = api.call("GET", path).json()["stack"]["outputs"]
    values = {one["output_key"]: one["output_value"] for one in shown}
    assert values == {**READ, "taken": {}}
