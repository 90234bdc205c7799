"""What a document brings is never acted upon with the rights of Hearth itself."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests

from hearth.resources.capabilities import UsesUsers
from hearth.resources.registry import default_catalog
from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

SCALE = {"AdjustmentType": "ChangeInCapacity", "AutoScalingGroupName": "g", "ScalingAdjustment": 1}
ADJUST = {
    "adjustment_type": "change_in_capacity", "auto_scaling_group_id": "g", "scaling_adjustment": 1,
}  # fmt: skip
TYPES: dict[str, dict[str, Any]] = {
    "AWS::AutoScaling::ScalingPolicy": SCALE,
    "AWS::CloudFormation::WaitConditionHandle": {},
    "AWS::IAM::AccessKey": {"UserName": "nobody"},
    "AWS::IAM::User": {},
    "OS::Heat::DeployedServer": {},
    "OS::Heat::ScalingPolicy": ADJUST,
    "OS::Heat::SoftwareDeployment": {"server": "nobody", "signal_transport": "HEAT_SIGNAL"},
    "OS::Heat::StructuredDeployment": {"server": "nobody", "signal_transport": "HEAT_SIGNAL"},
    "OS::Heat::UpdateWaitConditionHandle": {},
    "OS::Heat::WaitConditionHandle": {},
    "OS::Mistral::Workflow": {"type": "direct", "tasks": [{"name": "t", "action": "std.noop"}]},
    "OS::Nova::Server": {
        "image": "cirros", "flavor": "m1.tiny", "user_data_format": "SOFTWARE_CONFIG",
    },
}  # fmt: skip
VICTIM = """
heat_template_version: 2021-04-16
resources:
  w: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: CFN_SIGNAL}}
  u: {type: AWS::IAM::User}
  k: {type: AWS::IAM::AccessKey, properties: {UserName: {get_resource: u}}}
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: OS::Heat::Value, properties: {value: theirs}}}
"""


@dataclass(frozen=True)
class Victim:
    """What the stack of another project has in the identity service, and below it."""

    user: str
    project: str
    access: str
    person: str
    nested: str

    def ids(self) -> list[str]:
        """All that somebody may write into a document."""
        return [self.user, f"../projects/{self.project}", self.person, self.access, "..", "x?y#z"]


def identity(api: Caller, path: str) -> requests.Response:
    headers = {"X-Auth-Token": api.login("admin")[0]}
    return requests.get(f"{api.dev.auth_url}{path}", headers=headers, timeout=10)


def standing(api: Caller, victim: Victim) -> dict[str, Any]:
    """What is there of the victim now."""
    users = [identity(api, f"/users/{one}").json()["user"] for one in (victim.user, victim.person)]
    pairs = identity(api, f"/credentials?user_id={victim.user}").json()["credentials"]
    return {
        "enabled": [one["enabled"] for one in users],
        "project": identity(api, f"/projects/{victim.project}").status_code,
        "keys": len(pairs),
        "all keys": len(identity(api, "/credentials").json()["credentials"]),
        "nested": api.call("GET", f"/stacks/{victim.nested}", user="admin").status_code,
    }


@pytest.fixture(scope="module")
def victim(api: Caller) -> Iterator[Victim]:
    body = {"stack_name": "victim", "template": VICTIM}
    made = api.call("POST", "/stacks", body, user="admin").json()["stack"]["id"]
    url = api.url(f"/stacks/victim/{made}", "admin")
    assert api.ended(url, "admin")["stack_status"] == "CREATE_COMPLETE"
    document = api.call("GET", f"{url}/export", user="admin").json()
    handle, key = (document["resources"][name] for name in "wk")
    person = next(u for u in identity(api, "/users?name=demo").json()["users"])["id"]
    yield Victim(
        handle["resource_data"]["user_id"], document["stack_user_project_id"],
        key["resource_id"], person, document["resources"]["g"]["resource_id"],
    )  # fmt: skip
    api.call("DELETE", url, user="admin")


def test_the_walk_names_every_type_that_has_a_user():
    catalog = default_catalog()
    found = {name for name in catalog.names() if isinstance(catalog.find(name), UsesUsers)}
    assert found | {"OS::Nova::Server"} == TYPES.keys()


def test_no_type_acts_on_an_id_that_a_document_brings(api: Caller, victim: Victim):
    before = standing(api, victim)
    resources, entries = {}, {}
    for number, ident in enumerate(victim.ids()):
        for name, properties in TYPES.items():
            key = f"{name.rpartition('::')[2]}{len(resources)}n{number}"
            resources[key] = {"type": name, "properties": properties}
            data = {"user_id": ident, "access_key": victim.access, "password": "x", "token": "x"}
            entries[key] = {
                "type": name, "resource_id": ident, "name": key, "status": "COMPLETE",
                "action": "CREATE", "resource_data": data, "metadata": {},
            }  # fmt: skip
    path = adopt(api, "hostile", resources, entries)
    api.call("POST", f"{path}/actions", {"suspend": None})
    api.ended(path)
    assert standing(api, victim) == before
    api.call("DELETE", path)
    api.ended(path)
    assert standing(api, victim) == before


def test_a_stack_of_others_does_not_become_a_nested_one(api: Caller, victim: Victim):
    before = standing(api, victim)
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 1, "resource_def": {"type": "OS::Heat::None"}},
    }
    entry = {"type": group["type"], "resource_id": victim.nested, "name": "g"}
    path = adopt(api, "thief", {"g": group}, {"g": entry})
    assert api.ended(path)["stack_status"] == "ADOPT_FAILED"
    shown = api.call("GET", f"{path}/resources/g").json()["resource"]
    assert victim.nested not in json.dumps(shown)
    api.call("DELETE", path)
    api.ended(path)
    assert standing(api, victim) == before

    outside = {"g": {**group, "external_id": victim.nested}}
    body = {"stack_name": "thief2", "template": _template(outside)}
    reply = api.call("POST", "/stacks", body)
    assert reply.status_code == 400
    assert "cannot have an external_id" in reply.json()["error"]["message"]


def test_an_abandoned_stack_with_a_template_url_can_be_adopted(api: Caller):
    below = {"heat_template_version": "2021-04-16", "resources": {"v": {"type": "OS::Heat::None"}}}
    stack = {"type": "AWS::CloudFormation::Stack", "properties": {"TemplateURL": "below.yaml"}}
    files = {"below.yaml": json.dumps(below)}
    made = {"stack_name": "mover", "template": _template({"below": stack}), "files": files}
    path = f"/stacks/mover/{api.call('POST', '/stacks', made).json()['stack']['id']}"
    api.until(path, "CREATE_COMPLETE")
    document = api.call("DELETE", f"{path}/abandon").json()
    api.until(path, "DELETE_COMPLETE")
    body = {"stack_name": "moved-below", "adopt_stack_data": json.dumps(document), "files": files}
    adopted = api.call("POST", "/stacks", body)
    path = f"/stacks/moved-below/{adopted.json()['stack']['id']}"
    api.until(path, "ADOPT_COMPLETE")
    former = document["resources"]["below"]["resources"]["v"]["resource_id"]
    nested = api.call("GET", f"{path}/resources?nested_depth=1").json()["resources"]
    assert [r["physical_resource_id"] for r in nested if r["resource_name"] == "v"] == [former]
    assert api.call("DELETE", path).status_code == 204
    api.until(path, "DELETE_COMPLETE")


def test_a_stack_of_its_own_is_adopted_by_its_id_and_deleted(api: Caller):
    text = json.dumps(_template({"v": {"type": "OS::Heat::None"}}))
    stack = {"type": "OS::Heat::Stack", "properties": {"template": text}}
    path = api.create("owner", json.dumps(_template({"inner": stack})))
    document = api.call("DELETE", f"{path}/abandon").json()
    api.until(path, "DELETE_COMPLETE")
    path = adopt(api, "new-owner", {"inner": stack}, document["resources"])
    assert api.call("GET", path).json()["stack"]["stack_status"] == "ADOPT_COMPLETE"
    inner = document["resources"]["inner"]["resource_id"]
    listed = api.call("GET", f"/stacks?id={inner}").json()["stacks"]
    shown = api.call("GET", f"{path}/resources/inner").json()["resource"]["attributes"]
    assert shown["stack_name"] == listed[0]["stack_name"]
    assert api.call("DELETE", path).status_code == 204
    api.until(path, "DELETE_COMPLETE")
    assert api.call("GET", f"/stacks?id={inner}").json()["stacks"] == []


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("resources", {"v": "text"}, "resources.v: expected a map"),
        ("resources", {"v": [1]}, "resources.v: expected a map"),
        ("resources", {"v": {"resource_data": "text"}}, "resources.v.resource_data: expected"),
        ("resources", {"v": {"resource_data": {"value": ["x"]}}}, "resource_data.value: expected"),
        ("resources", {"v": {"metadata": ["x"]}}, "resources.v.metadata: expected a map"),
        ("resources", {"v": {"resource_id": ["x"]}}, "resources.v.resource_id: expected"),
        ("resources", {"v": {"resource_id": "x" * 256}}, "resources.v.resource_id: expected"),
        ("resources", {"v": {"resource_id": "a\0b"}}, "resources.v.resource_id: expected"),
        ("resources", {"v": {"resources": {"w": 1}}}, "resources.v.resources.w: expected a map"),
        ("environment", "text", "environment: expected a map"),
        ("files", ["x"], "files: expected a map"),
        ("files", {"x": 1}, "files.x: expected a string"),
    ],
)
def test_a_document_of_another_form_is_refused(api: Caller, place: str, value: Any, words: str):
    template = _template({"v": {"type": "OS::Heat::None"}})
    document = {"template": template, "resources": {}, place: value}
    body = {"stack_name": "of-another-form", "adopt_stack_data": json.dumps(document)}
    reply = api.call("POST", "/stacks", body)
    assert reply.status_code == 400, reply.text
    assert words in reply.json()["error"]["message"]


def adopt(api: Caller, name: str, resources: dict[str, Any], entries: dict[str, Any]) -> str:
    document = {"template": _template(resources), "resources": entries}
    body = {"stack_name": name, "adopt_stack_data": json.dumps(document)}
    reply = api.call("POST", "/stacks", body)
    assert reply.status_code == 201, reply.text
    path = f"/stacks/{name}/{reply.json()['stack']['id']}"
    api.ended(path)
    return path


def _template(resources: dict[str, Any]) -> dict[str, Any]:
    return {"heat_template_version": "2021-04-16", "resources": resources}
