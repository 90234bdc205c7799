"""Plans of groups: members that are made of values not known yet are told one by one."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

VALUE = "{type: OS::Heat::Value, properties: {type: string, value: {get_attr: [a, value]}}}"
GROUPS = {
    "group": f"{{type: OS::Heat::ResourceGroup, properties: {{count: 2, resource_def: {VALUE}}}}}",
    "scaled": "{type: OS::Heat::AutoScalingGroup, properties: "
    f"{{min_size: 2, max_size: 2, resource: {VALUE}}}}}",
    "chain": "{type: OS::Heat::ResourceChain, properties: {resources: [OS::Heat::Value, "
    "OS::Heat::Value], resource_properties: {value: {get_attr: [a, value]}}}}",
    "children": "{type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: "
    "{type: child.yaml, properties: {p: {get_attr: [a, value]}}}}}",
}
CHILD = (
    "heat_template_version: 2021-04-16\nparameters: {p: {type: string}}\n"
    "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: p}}}}\n"
)


def grouped(name: str, salt: str) -> dict[str, Any]:
    template = (
        "heat_template_version: 2021-04-16\nresources:\n"
        f"  a: {{type: OS::Heat::RandomString, properties: {{salt: '{salt}'}}}}\n"
        f"  members: {GROUPS[name]}\n"
    )
    return {"template": template, "files": {"child.yaml": CHILD}}


@pytest.fixture
def path(api: Caller, name: str) -> Iterator[str]:
    body = grouped(name, "one")
    made = api.create(f"told-{name}", body["template"], files=body["files"])
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


@pytest.mark.parametrize("name", GROUPS)
def test_members_made_of_values_not_known_yet_are_told_one_by_one(
    api: Caller, path: str, name: str
):
    body = {"stack_name": f"planned-{name}", **grouped(name, "one")}
    (members,) = awaited(api.call("POST", "/stacks/plan", body))
    assert list(members["later"].values()) == [["a"]]
    inner = members["nested"]["resources"]
    assert len(inner) == 2
    assert [one["action"] for one in inner] == ["create"] * 2
    assert [list(one["later"].values()) for one in inner] == [[["a"]]] * 2
    (members,) = awaited(api.call("PATCH", f"{path}/plan", grouped(name, "one")))
    assert not members["reasons"]
    assert "later" not in str(members)
    (members,) = awaited(api.call("PATCH", f"{path}/plan", grouped(name, "two")))
    done = {"update": "may update", "may replace": "create"}[members["action"]]
    assert [one["action"] for one in leaves(members)] == [done] * 2
    assert all(one["later"] == {"value": ["a"]} for one in leaves(members))


@pytest.mark.parametrize("name", GROUPS)
def test_a_plan_is_the_same_each_time(api: Caller, path: str, name: str):
    more = grouped(name, "one")
    more["template"] = (
        more["template"].replace("count: 2", "count: 3").replace("size: 2", "size: 3")
    )
    for method, url, body in (
        ("POST", "/stacks/plan", {"stack_name": f"planned-{name}", **grouped(name, "one")}),
        ("PUT", f"{path}/plan", more),
    ):
        first, second = (api.call(method, url, body).json()["plan"] for _ in range(2))
        assert first == second


def leaves(line: dict[str, Any]) -> list[dict[str, Any]]:
    if "nested" not in line:
        return [line]
    return [leaf for one in line["nested"]["resources"] for leaf in leaves(one)]


def awaited(reply: requests.Response) -> list[dict[str, Any]]:
    return [one for one in reply.json()["plan"]["resources"] if one["resource"] == "members"]


def test_how_many_members_there_are_has_to_be_known(api: Caller):
    template = grouped("group", "one")["template"].replace(
        "count: 2", "count: {str_split: [',', {get_attr: [a, value]}, 0]}"
    )
    (members,) = awaited(
        api.call("POST", "/stacks/plan", {"stack_name": "uncounted", "template": template})
    )
    assert "nested" not in members
    assert members["later"] == {"count": ["a"], "resource_def": ["a"]}
