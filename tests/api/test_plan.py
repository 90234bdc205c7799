"""Plans and previews: what would be done is told, with reasons, and nothing is done."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

HOT = "heat_template_version: 2021-04-16\n"
TEMPLATE = (
    HOT
    + """
parameters:
  flavor: {type: string, default: m1.tiny}
  label: {type: string, default: one}
  password: {type: string, hidden: true, default: first-secret}
resources:
  net:
    type: OS::Neutron::Net
    properties: {name: {get_param: label}}
  port:
    type: OS::Neutron::Port
    depends_on: subnet
    properties: {network: {get_resource: net}}
  subnet:
    type: OS::Neutron::Subnet
    properties: {network: {get_resource: net}, cidr: 10.9.0.0/24}
  server:
    type: OS::Nova::Server
    properties:
      image: cirros
      flavor: {get_param: flavor}
      user_data: {get_param: password}
      networks: [{port: {get_resource: port}}]
  pair:
    type: child.yaml
    properties: {size: '1', address: {get_attr: [server, first_address]}}
"""
)
CHILD = (
    HOT
    + """
parameters:
  size: {type: string}
  address: {type: string}
resources:
  value: {type: OS::Heat::Value, properties: {value: {get_param: size}}}
  random: {type: OS::Heat::RandomString, properties: {length: 4}}
outputs:
  size: {value: {get_attr: [value, value]}}
"""
)
FILES = {"child.yaml": CHILD}


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    made = api.create("planned", TEMPLATE, files=FILES)
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def plan(api: Caller, path: str, **body: Any) -> dict[str, dict[str, Any]]:
    """The lines of the plan of a PATCH, by resource."""
    reply = api.call("PATCH", f"{path}/plan", body)
    assert reply.status_code == 200, reply.text
    return {line["resource"]: line for line in reply.json()["plan"]["resources"]}


def test_an_update_that_changes_nothing_keeps_all(api: Caller, path: str):
    lines = plan(api, path)
    assert {line["action"] for line in lines.values()} == {"keep"}
    nested = lines["pair"]["nested"]["resources"]
    assert {(line["resource"], line["action"]) for line in nested} == {
        ("value", "keep"),
        ("random", "keep"),
    }


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_plan_contains_each_delete_in_a_nested_stack_that_leaves_the_template(
    api: Caller, path: str, method: str
):
    without, _, _ = TEMPLATE.partition("  pair:\n")
    reply = api.call(method, f"{path}/plan", {"template": without})
    lines = {line["resource"]: line for line in reply.json()["plan"]["resources"]}
    assert lines["pair"]["action"] == "delete"
    nested = lines["pair"]["nested"]["resources"]
    assert {line["resource"]: line["action"] for line in nested} == {
        "value": "delete",
        "random": "delete",
    }


def test_the_reason_of_an_update_in_place_is_told_by_property(api: Caller, path: str):
    line = plan(api, path, parameters={"label": "two"})["net"]
    assert (line["action"], line["certain"]) == ("update", True)
    assert line["reasons"] == [
        {"property": "name", "reason": "changed", "before": "one", "after": "two"}
    ]


def test_names_and_the_ids_they_stand_for_are_equal_and_told_resolved(api: Caller, path: str):
    lines = plan(api, path, parameters={"flavor": "m1.small"})
    (reason,) = lines["server"]["reasons"]
    assert reason["property"] == "flavor"
    assert reason["before"] != reason["after"]
    assert lines["pair"]["awaits"] == ["server"]
    template = TEMPLATE.replace("flavor: {get_param: flavor}", f"flavor: '{reason['before']}'")
    assert plan(api, path, template=template)["server"]["action"] == "keep"


def test_secrets_are_masked_and_a_replacement_reaches_those_that_use_it(api: Caller, path: str):
    reply = api.call("PATCH", f"{path}/plan", {"parameters": {"password": "second-secret"}})
    assert "secret" not in reply.text
    line = next(x for x in reply.json()["plan"]["resources"] if x["resource"] == "server")
    assert line["action"] == "replace"
    assert {
        "property": "user_data",
        "reason": "changed",
        "before": "******",
        "after": "******",
    } in (line["reasons"])


def test_what_hangs_on_a_replacement_is_known_only_after_it(api: Caller, path: str):
    template = TEMPLATE.replace("10.9.0.0/24", "10.8.0.0/24").replace(
        "depends_on: subnet\n    properties: {network: {get_resource: net}}",
        "properties: {network: {get_resource: net}, fixed_ips: [{subnet: {get_resource: subnet}}]}",
    )
    lines = plan(api, path, template=template)
    assert lines["subnet"]["action"] == "replace"
    assert lines["subnet"]["reasons"][0]["property"] == "cidr"
    port = lines["port"]
    assert (port["action"], port["certain"]) == ("update", True)  # it loses its depends_on as well
    assert port["awaits"] == ["subnet"]
    (reason,) = [r for r in port["reasons"] if r.get("property") == "fixed_ips"]
    assert reason["reason"] == "known only after subnet"
    assert "after" not in reason
    assert port["later"] == {"fixed_ips": ["subnet"]}


def test_the_plan_of_a_create_tells_what_is_not_known_yet(api: Caller):
    template = (
        "heat_template_version: 2021-04-16\nresources:\n"
        "  a: {type: OS::Heat::RandomString}\n"
        "  b: {type: OS::Heat::Value, properties: {type: string, value: {get_attr: [a, value]}}}\n"
    )
    reply = api.call("POST", "/stacks/plan", {"stack_name": "foreseen", "template": template})
    lines = {line["resource"]: line for line in reply.json()["plan"]["resources"]}
    assert "later" not in lines["a"]
    assert lines["b"]["later"] == {"value": ["a"]}


def test_removed_retained_and_added_resources_are_told(api: Caller, path: str):
    template = TEMPLATE.replace("  pair:\n    type: child.yaml", "  other:\n    type: child.yaml")
    lines = plan(api, path, template=template)
    assert (lines["pair"]["action"], lines["other"]["action"]) == ("delete", "create")
    assert lines["other"]["nested"]["resources"][0]["action"] == "create"


def test_equal_plans_have_equal_hashes_and_others_have_not(api: Caller, path: str):
    def hashed(**body: Any) -> str:
        return api.call("PATCH", f"{path}/plan", body).json()["plan"]["hash"]

    assert hashed() == hashed()
    assert hashed(parameters={"label": "two"}) == hashed(parameters={"label": "two"}) != hashed()


def test_a_plan_of_a_create_stores_nothing(api: Caller, path: str):
    api.dev.mark()
    body = {"stack_name": "never", "template": TEMPLATE, "files": FILES}
    reply = api.call("POST", "/stacks/plan", body)
    assert reply.status_code == 200, reply.text
    assert {line["action"] for line in reply.json()["plan"]["resources"]} == {"create"}
    assert api.call("GET", "/stacks/never").status_code == 404
    assert api.dev.ledger() == []
    assert api.call("POST", "/stacks/plan", {"template": HOT}).status_code == 400


def test_a_preview_groups_what_the_plan_says(api: Caller, path: str):
    body = {"template": TEMPLATE, "files": FILES, "parameters": {"password": "second-secret"}}
    reply = api.call("PUT", f"{path}/preview", body)
    groups = reply.json()["resource_changes"]
    names = {group: [item["resource_name"] for item in found] for group, found in groups.items()}
    assert set(names) == {"added", "deleted", "replaced", "unchanged", "updated"}
    assert names["replaced"] == ["server"]
    assert names["updated"] == ["pair"]
    assert sorted(names["unchanged"]) == ["net", "port", "subnet"]


def test_a_preview_descends_only_if_asked(api: Caller, path: str):
    body = {"files": {"child.yaml": CHILD.replace("length: 4", "length: 5")}}
    plain = api.call("PATCH", f"{path}/preview", body).json()["resource_changes"]
    deep = api.call("PATCH", f"{path}/preview?show_nested=true", body).json()["resource_changes"]
    assert plain["replaced"] == []
    assert [item["resource_name"] for item in deep["replaced"]] == ["random"]
    assert deep["replaced"][0]["stack_name"].startswith("planned-pair-")
    assert "value" in [item["resource_name"] for item in deep["unchanged"]]


def test_a_create_preview_has_a_nested_stack_as_a_list(api: Caller, path: str):
    body = {"stack_name": "never", "template": TEMPLATE, "files": FILES}
    items = api.call("POST", "/stacks/preview", body).json()["stack"]["resources"]
    (nested,) = [item for item in items if isinstance(item, list)]
    assert sorted(item["resource_name"] for item in nested) == ["random", "value"]
    flat = {item["resource_name"]: item for item in items if isinstance(item, dict)}
    assert flat["net"]["required_by"] == ["port", "subnet"]
    assert flat["subnet"]["properties"]["cidr"] == "10.9.0.0/24"


def test_a_bad_plan_is_refused_like_the_update(api: Caller, path: str):
    reply = api.call("PUT", f"{path}/plan", {"template": HOT + "resources:\n  a: {type: X}\n"})
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "StackValidationFailed"


def test_a_request_that_agrees_to_a_plan_is_refused_once_it_has_changed(api: Caller):
    template = HOT + "resources: {n: {type: OS::Neutron::Net, properties: {name: %s}}}\n"
    first = {"stack_name": "agreed", "template": template % "one"}
    agreed = api.call("POST", "/stacks/plan", first).json()["plan"]["hash"]
    other = {**first, "template": template.replace("{n:", "{m:") % "one", "plan": agreed}
    refused = api.call("POST", "/stacks", other)
    assert refused.status_code == 409
    assert refused.json()["error"]["type"] == "PlanChanged"
    made = api.call("POST", "/stacks", {**first, "plan": agreed})
    path = f"/stacks/agreed/{made.json()['stack']['id']}"
    api.until(path, "CREATE_COMPLETE")
    body = {"template": template % "two"}
    agreed = api.call("PUT", f"{path}/plan", body).json()["plan"]["hash"]
    for method in ("PUT", "PATCH"):
        later = {"template": template % "three", "plan": agreed}
        assert api.call(method, path, later).status_code == 409
    assert api.call("PUT", path, {**body, "plan": agreed}).status_code == 202
    api.until(path, "UPDATE_COMPLETE")
    api.call("DELETE", path)


def test_the_plan_of_a_delete_tells_what_stays_in_the_cloud(api: Caller):
    child = HOT + "resources: {in: {type: OS::Heat::Value, properties: {value: 1}}}\n"
    template = (
        HOT
        + "resources:\n  n: {type: OS::Neutron::Net, deletion_policy: Retain}\n"
        + "  c: {type: child.yaml}\n  v: {type: OS::Heat::Value, properties: {value: 1}}\n"
    )
    path = api.create("ending", template, files={"child.yaml": child})
    found = api.call("PUT", f"{path}/plan", {"delete": True}).json()["plan"]["resources"]
    assert {one["resource"]: one["action"] for one in found} == {
        "n": "retain", "c": "delete", "v": "delete",
    }  # fmt: skip
    (nested,) = (one["nested"]["resources"] for one in found if one["resource"] == "c")
    assert [(one["resource"], one["action"]) for one in nested] == [("in", "delete")]
    api.call("DELETE", path)


def test_a_put_with_existing_keeps_what_the_stack_has(api: Caller):
    template = (
        HOT
        + "parameters: {word: {type: string}}\n"
        + "resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: word}}}}\n"
    )
    path = api.create("kept", template, parameters={"word": "one"})
    assert api.call("PUT", path, {"template": template}).status_code == 400
    assert api.call("PUT", path, {"existing": True}).status_code == 400
    reply = api.call("PUT", path, {"template": template, "existing": True})
    assert reply.status_code == 202, reply.text
    api.until(path, "UPDATE_COMPLETE")
    assert api.call("GET", path).json()["stack"]["parameters"]["word"] == "one"
    api.call("DELETE", path)
