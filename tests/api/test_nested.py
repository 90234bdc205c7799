"""What a nested stack says of itself under its own address, and in a preview."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

V = "heat_template_version: 2021-04-16\n"
LEAF = (
    f"{V}parameters: {{p: {{type: string}}, s: {{type: string, hidden: true, default: x}}}}\n"
    "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: p}}}}\n"
)
MIDDLE = (
    f"{V}parameters: {{p: {{type: string}}}}\n"
    "resources: {m: {type: leaf.yaml, properties: {p: {get_param: p}, s: shown to nobody}}}\n"
)
TOP = (
    f"{V}parameters: {{a: {{type: string, default: one}}}}\n"
    "resources: {kid: {type: middle.yaml, properties: {p: {get_param: a}}}}\n"
)
GROWN = TOP.replace("{kid:", "{new: {type: OS::Heat::Value, properties: {value: 7}}, kid:")
FILES = {"leaf.yaml": LEAF, "middle.yaml": MIDDLE}


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    found = api.create("tree", TOP, files=FILES)
    yield found
    api.call("DELETE", found)


def stacks(api: Caller, path: str) -> dict[str, dict[str, Any]]:
    """The nested stacks below a stack, by the resource that each is."""
    found = {}
    for one in api.call("GET", f"{path}/resources?nested_depth=5").json()["resources"]:
        for link in one["links"]:
            if link["rel"] == "nested":
                found[one["resource_name"]] = api.call("GET", link["href"]).json()["stack"]
    return found


def at(stack: dict[str, Any]) -> str:
    return f"/stacks/{stack['stack_name']}/{stack['id']}"


def test_the_environment_holds_what_the_parent_gave(api: Caller, path: str):
    nested = stacks(api, path)
    shown = {
        name: api.call("GET", at(one) + "/environment").json()["parameters"]
        for name, one in nested.items()
    }
    assert shown == {"kid": {"p": "one"}, "m": {"p": "one", "s": "******"}}


def test_a_resource_names_the_one_above_under_its_own_stack_too(api: Caller, path: str):
    nested = stacks(api, path)
    for place, name, above in ((at(nested["kid"]), "m", "kid"), (at(nested["m"]), "v", "m")):
        (listed,) = api.call("GET", f"{place}/resources").json()["resources"]
        alone = api.call("GET", f"{place}/resources/{name}").json()["resource"]
        assert (listed["parent_resource"], alone["parent_resource"]) == (above, above)
    assert "parent_resource" not in api.call("GET", f"{path}/resources/kid").json()["resource"]


def test_an_update_preview_shows_what_is_there(api: Caller, path: str):
    nested = stacks(api, path)
    body = {"template": GROWN, "files": FILES, "parameters": {"a": "two"}}
    reply = api.call("PUT", f"{path}/preview?show_nested=true", body).json()["resource_changes"]
    items = {one["resource_name"]: one for group in reply.values() for one in group}
    places = {"kid": path, "m": at(nested["kid"]), "v": at(nested["m"])}
    assert items.keys() == {*places, "new"}
    for name, place in places.items():
        real = api.call("GET", f"{place}/resources/{name}").json()["resource"]
        for key in ("creation_time", "updated_time", "attributes", "parent_resource"):
            assert items[name].get(key) == real.get(key), (name, key)
    for name in ("kid", "m"):
        one = nested[name]
        assert items[name]["nested_stack_id"] == {
            "tenant": api.login()[1], "stack_name": one["stack_name"], "stack_id": one["id"],
            "path": "",
        }  # fmt: skip
    assert items["v"].keys() & {"nested_stack_id"} == set()
    assert items["new"]["creation_time"] is items["new"]["updated_time"] is None
    assert items["new"]["attributes"] == {"value": 7}


def test_a_preview_shows_what_goes_with_a_nested_stack(api: Caller, path: str):
    nested = stacks(api, path)
    one, other = "{type: OS::Heat::None}", "{type: OS::Heat::None, depends_on: one}"
    template = f"{V}resources: {{other: {other}, one: {one}}}\n"

    def previewed(query: str) -> dict[str, list[dict[str, Any]]]:
        reply = api.call("PUT", f"{path}/preview{query}", {"template": template})
        found: dict[str, list[dict[str, Any]]] = reply.json()["resource_changes"]
        return found

    assert [one["resource_name"] for one in previewed("")["deleted"]] == ["kid"]
    gone = {one["resource_name"]: one for one in previewed("?show_nested=true")["deleted"]}
    assert {name: one.get("parent_resource") for name, one in gone.items()} == {
        "kid": None, "m": "kid", "v": "m",
    }  # fmt: skip
    assert gone["v"]["stack_name"] == nested["m"]["stack_name"]
    users = {one["resource_name"]: one["required_by"] for one in previewed("")["added"]}
    assert users == {"one": ["other"], "other": []}


RETAINS = """
heat_template_version: 2021-04-16
resources:
  stays: {type: middle.yaml, deletion_policy: Retain}
  own: {type: OS::Heat::RandomString}
"""
INNER = """
heat_template_version: 2021-04-16
resources:
  deep: {type: leaf.yaml}
"""
INNERMOST = """
heat_template_version: 2021-04-16
resources:
  member: {type: OS::Heat::RandomString}
"""


def test_members_of_a_retained_nested_stack_are_not_listed(api: Caller):
    files = {"middle.yaml": INNER, "leaf.yaml": INNERMOST}
    path = api.create("retains", RETAINS, files=files)
    everything = {"stays", "deep", "member", "own"}
    assert listed(api, path, "resources") == everything
    assert listed(api, path, "drift") >= {"deep"}
    without = RETAINS.replace("  stays: {type: middle.yaml, deletion_policy: Retain}\n", "")
    assert api.call("PUT", path, {"template": without}).status_code == 202
    api.until(path, "UPDATE_COMPLETE")
    assert listed(api, path, "resources") == {"own"}
    assert "deep" not in listed(api, path, "drift")
    assert listed(api, path, "events") >= everything
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
    assert listed(api, path, "resources") == set()


def listed(api: Caller, path: str, what: str) -> set[str]:
    found = api.call("GET", f"{path}/{what}?nested_depth=5").json()[what]
    rows = found["resources"] if what == "drift" else found
    return {one["resource_name"] for one in rows}
