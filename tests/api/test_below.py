"""What a template reads of the stacks below it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

V = "heat_template_version: 2021-04-16\n"
LEAF = (
    f"{V}parameters: {{p: {{type: string}}}}\n"
    "resources: {q: {type: OS::Heat::Value, properties: {value: {k: [{get_param: p}]}}}}\n"
    "outputs: {y: {value: {get_attr: [q, value]}}}\n"
)
MIDDLE = (
    f"{V}parameters: {{p: {{type: string}}}}\n"
    "resources: {m: {type: leaf.yaml, properties: {p: {get_param: p}}}}\n"
)
TOP = (
    f"{V}resources:\n"
    "  n: {type: middle.yaml, properties: {p: a}}\n"
    "  g:\n"
    "    type: OS::Heat::ResourceGroup\n"
    '    properties: {count: 2, resource_def: {type: leaf.yaml, properties: {p: "b%index%"}}}\n'
)
Create = Callable[[str], str]
FILES = {"leaf.yaml": LEAF, "middle.yaml": MIDDLE}
DEEP = "{get_attr: [n, resource.m, resource.q, value, k, 0]}"
DOTTED = "{get_attr: [g, resource.1.resource.q.value, k, 0]}"
OUTPUTS = f"outputs: {{deep: {{value: {DEEP}}}, dotted: {{value: {DOTTED}}}}}\n"


@pytest.fixture
def create(api: Caller) -> Iterator[Create]:
    """Makes a stack of a template; it goes with the test."""
    paths: list[str] = []

    def made(template: str) -> str:
        paths.append(api.create("below", template, files=FILES))
        return paths[-1]

    yield made
    for path in paths:
        api.call("DELETE", path)
        api.until(path, "DELETE_COMPLETE")


def outputs(api: Caller, path: str) -> dict[str, dict[str, Any]]:
    shown = api.call("GET", path).json()["stack"]["outputs"]
    return {one["output_key"]: one for one in shown}


def test_outputs_reach_through_nested_stacks_of_any_depth(api: Caller, create: Create):
    path = create(TOP + OUTPUTS)
    found = outputs(api, path)
    assert {name: one["output_value"] for name, one in found.items()} == {
        "deep": "a",
        "dotted": "b1",
    }


def test_an_output_added_later_finds_what_nobody_read_before(api: Caller, create: Create):
    path = create(TOP)
    reply = api.call("PATCH", path, {"template": TOP + OUTPUTS})
    assert reply.status_code == 202, reply.text
    api.until(path, "UPDATE_COMPLETE")
    assert outputs(api, path)["deep"]["output_value"] == "a"
    assert outputs(api, path)["dotted"]["output_value"] == "b1"


def test_another_resource_reaches_there_too(api: Caller, create: Create):
    reader = f"  r: {{type: OS::Heat::Value, properties: {{value: {DEEP}}}}}\n"
    template = f"{TOP}{reader}outputs: {{r: {{value: {{get_attr: [r, value]}}}}}}\n"
    path = create(template)
    assert outputs(api, path)["r"]["output_value"] == "a"


def test_a_step_into_what_members_have_is_taken_in_each(api: Caller, create: Create):
    ways = {"all": "[g, y, k, 0]", "named": "[g, attributes, y, k, 0]", "one": "[g, refs_map, '1']"}
    shown = "".join(f"  {name}: {{value: {{get_attr: {way}}}}}\n" for name, way in ways.items())
    found = outputs(api, create(f"{TOP}outputs:\n{shown}"))
    assert found["all"]["output_value"] == ["b0", "b1"]
    assert found["named"]["output_value"] == {"0": "b0", "1": "b1"}
    assert found["one"]["output_value"].startswith("arn:openstack:heat::")


@pytest.mark.parametrize(
    ("read", "name"),
    [
        ("[n, nope]", "nope"),
        ("[n, resource.x, value]", "resource.x.value"),
        ("[g, resource.7]", "resource.7"),
        ("[n, OS::stack_id]", "OS::stack_id"),
    ],
)
def test_what_is_not_there_is_an_error_of_the_output(
    api: Caller, create: Create, read: str, name: str
):
    template = f"{TOP}outputs: {{x: {{value: {{get_attr: {read}}}}}}}\n"
    path = create(template)
    found = outputs(api, path)["x"]
    assert found["output_value"] is None
    assert f'has no attribute "{name}"' in found["output_error"]


def test_why_an_output_below_has_no_value_is_told_above(api: Caller):
    files = {
        "leaf.yaml": f"{V}outputs: {{good: {{value: 1}}, bad: {{value: {{get_param: foo}}}}}}\n",
        "middle.yaml": (
            f"{V}resources: {{l: {{type: leaf.yaml}}}}\n"
            "outputs: {through: {value: {get_attr: [l, bad]}}}\n"
        ),
    }
    template = (
        f"{V}resources: {{l: {{type: leaf.yaml}}, m: {{type: middle.yaml}}}}\n"
        "outputs:\n  good: {value: {get_attr: [l, good]}}\n  bad: {value: {get_attr: [l, bad]}}\n"
        "  deep: {value: {get_attr: [m, through]}}\n"
    )
    path = api.create("broken", template, files=files)
    found = outputs(api, path)
    why = "The Parameter (foo) was not provided."
    assert found["good"]["output_value"] == 1
    assert found["bad"]["output_error"] == f"Error in l output bad: {why}"
    assert (
        found["deep"]["output_error"] == f"Error in m output through: Error in l output bad: {why}"
    )
    api.call("DELETE", path)


def test_the_outputs_of_a_nested_stack_are_shown_as_attributes(api: Caller):
    """Magnum reads the network of a cluster so."""
    outer = MIDDLE + "outputs: {leaf: {value: {get_attr: [m, y]}}}\n"
    path = api.create("attributes", TOP, files={**FILES, "middle.yaml": outer})
    shown = api.call("GET", f"{path}/resources/n").json()["resource"]
    assert shown["attributes"] == {"leaf": {"k": ["a"]}}
    (listed,) = api.call("GET", f"{path}/resources?with_detail=true&name=n").json()["resources"]
    assert listed["attributes"] == shown["attributes"]
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
