"""What is hidden stays so, in whatever is asked of a stack."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

SECRET = "hunter2-and-more"
TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  key: {type: string, hidden: true}
  other: {type: string, default: open}
resources:
  told: {type: OS::Heat::TestResource, properties: {value: {get_param: key}}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: {type: OS::Heat::TestResource, properties: {value: {get_param: key}}}
  child: {type: child.yaml, properties: {inner: {get_param: key}}}
  net: {type: OS::Neutron::Net, properties: {name: {get_param: key}}}
  noted: {type: OS::Heat::None, metadata: {of: {list_join: ["/", [{get_param: key}]]}}}
  alone: {type: alone.yaml}
  outside: {type: OS::Heat::TestResource, properties: {value: {get_attr: [alone, told]}}}
"""
CHILD = """
heat_template_version: 2021-04-16
parameters:
  inner: {type: string, hidden: true}
  unasked: {type: string, hidden: true}
resources: {in: {type: OS::Heat::TestResource, properties: {value: {get_param: inner}}}}
"""
ALONE = """
heat_template_version: 2021-04-16
parameters: {unasked: {type: string, hidden: true}}
outputs: {told: {value: {get_param: unasked}}}
"""
BESIDE = (
    "  beside: {type: OS::Heat::TestResource, properties: {value: {get_attr: [alone, told]}}}\n"
)
GIVEN: dict[str, Any] = {"template": TEMPLATE, "files": {"child.yaml": CHILD, "alone.yaml": ALONE}}


def with_key(key: str) -> dict[str, Any]:
    """A request that gives the key itself, and a hidden parameter of the child by default."""
    defaults = {"unasked": f"{key}-default", "other": "by default"}
    return {**GIVEN, "parameters": {"key": key}, "environment": {"parameter_defaults": defaults}}


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    made = api.create("hiding", **with_key(SECRET))
    assert api.call("PUT", made, with_key(f"{SECRET}-2")).status_code == 202
    api.until(made, "UPDATE_COMPLETE")
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


PLACES = (
    "", "/environment", "/template", "/files", "/revisions", "/revisions/1", "/revisions/1/diff/2",
    "/events?nested_depth=5", "/resources?nested_depth=5",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_no_reading_tells_it(api: Caller, path: str, place: str):
    reply = api.call("GET", path + place)
    assert reply.status_code == 200
    assert SECRET not in reply.text


def test_no_event_tells_it(api: Caller, path: str):
    for event in api.call("GET", f"{path}/events?nested_depth=5").json()["events"]:
        (own,) = [link["href"] for link in event["links"] if link["rel"] == "self"]
        reply = api.call("GET", own)
        assert reply.status_code == 200
        assert SECRET not in reply.text


def test_no_foresight_tells_it(api: Caller, path: str):
    new = {"stack_name": "foreseen", **with_key(f"{SECRET}-3")}
    for method, place in (
        ("POST", "/stacks/preview"), ("POST", "/stacks/plan"), ("PUT", f"{path}/preview"),
        ("PATCH", f"{path}/preview"), ("PUT", f"{path}/preview?show_nested=true"),
        ("PUT", f"{path}/plan"), ("POST", "/validate?show_nested=true"),
    ):  # fmt: skip
        reply = api.call(method, place, new)
        assert reply.status_code == 200, (place, reply.text)
        assert SECRET not in reply.text, place
    more = {**with_key(f"{SECRET}-2"), "template": f"{TEMPLATE}{BESIDE}"}
    for place in (f"{path}/preview", f"{path}/plan"):
        reply = api.call("PUT", place, more)
        assert reply.status_code == 200, reply.text
        assert "beside" in reply.text
        assert SECRET not in reply.text, place
    gone = {"template": "heat_template_version: 2021-04-16"}
    reply = api.call("PUT", f"{path}/preview?show_nested=true", gone)
    assert len(reply.json()["resource_changes"]["deleted"]) > 5
    assert SECRET not in reply.text


def test_its_name_is_told_in_its_place(api: Caller, path: str):
    shown = api.call("GET", f"{path}/environment").json()
    assert shown["parameters"] == {"key": "******"}
    assert shown["parameter_defaults"] == {"unasked": "******", "other": "by default"}
    assert shown["encrypted_param_names"] == []
    assert api.call("GET", path).json()["stack"]["parameters"]["key"] == "******"


READER_TEMPLATE = """
heat_template_version: 2021-04-16
parameters:
  key: {type: string, hidden: true}
  own: {type: string, hidden: true, default: own-secret-default}
resources:
  told: {type: OS::Heat::TestResource, properties: {value: {get_param: key}}}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: {type: OS::Heat::TestResource, properties: {value: {get_param: key}}}
  child: {type: child.yaml, properties: {inner: {get_param: key}}}
  open: {type: open.yaml, properties: {shown: {get_param: key}}}
  handle: {type: OS::Heat::WaitConditionHandle, properties: {signal_transport: CFN_SIGNAL}}
"""
OPEN = "heat_template_version: 2021-04-16\nparameters: {shown: {type: string}}\n"


@pytest.fixture(scope="module")
def reader(api: Caller) -> dict[str, str]:
    """The token of somebody who may only read in the project."""
    with api.dev.sdk("hearth-admin") as admin:
        user = admin.identity.create_user(name="only-reads", password="secret")
        role = admin.identity.find_role("reader")
        admin.identity.assign_project_role_to_user(api.login()[1], user, role)
    body = {
        "identity": {
            "methods": ["password"],
            "password": {"user": {"id": user.id, "password": "secret"}},
        },
        "scope": {"project": {"id": api.login()[1]}},
    }
    reply = requests.post(f"{api.dev.auth_url}/auth/tokens", json={"auth": body}, timeout=10)
    return {"X-Auth-Token": reply.headers["X-Subject-Token"]}


@pytest.fixture(scope="module")
def snapshot(api: Caller) -> Iterator[tuple[str, str]]:
    """A stack with a snapshot: its path, and that of the snapshot."""
    files = {"child.yaml": CHILD, "open.yaml": OPEN}
    defaults = {"unasked": f"{SECRET}-default"}
    made = api.create(
        "hiding-snapshot", READER_TEMPLATE, files=files, parameters={"key": SECRET},
        environment={"parameter_defaults": defaults},
    )  # fmt: skip
    taken = api.call("POST", f"{made}/snapshots", {"name": "s"}).json()["id"]
    api.until(made, "SNAPSHOT_COMPLETE")
    yield made, f"{made}/snapshots/{taken}"
    api.call("DELETE", made)
    api.ended(made)


def test_who_may_not_export_finds_no_secret_in_a_snapshot(
    api: Caller, snapshot: tuple[str, str], reader: dict[str, str]
):
    made, taken = snapshot
    assert requests.get(api.url(f"{made}/export"), headers=reader, timeout=10).status_code == 403
    whole = api.call("GET", taken).json()["snapshot"]["data"]
    keys = whole["resources"]["handle"]["resource_data"]
    secrets = [SECRET, "own-secret-default", keys["password"], keys["secret_key"], keys["user_id"]]
    assert all(secret in str(whole) for secret in secrets)
    for place in (taken, f"{made}/snapshots", f"{made}/template", f"{made}/revisions/1"):
        reply = requests.get(api.url(place), headers=reader, timeout=10)
        assert reply.status_code == 200
        assert [secret for secret in secrets if secret in reply.text] == [], place
        assert "resource_data" not in reply.text
    seen = requests.get(api.url(taken), headers=reader, timeout=10).json()["snapshot"]["data"]
    assert seen.keys() == whole.keys()
    assert seen["resources"].keys() == whole["resources"].keys()
    assert seen["environment"]["parameters"] == {"key": "******"}
    assert seen["resources"]["child"]["environment"]["parameters"] == {"inner": "******"}


GIVING_ACCESS = """
heat_template_version: 2021-04-16
resources:
  handle: {type: OS::Heat::WaitConditionHandle}
  signed: {type: AWS::CloudFormation::WaitConditionHandle}
  random: {type: OS::Heat::RandomString, properties: {length: 40}}
  members:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: {type: OS::Heat::RandomString, properties: {length: 40}}
outputs:
  token: {value: {get_attr: [handle, token]}}
  inside: {value: {str_replace: {template: "say T", params: {T: {get_attr: [handle, curl_cli]}}}}}
  url: {value: {get_resource: signed}}
  text: {value: {get_resource: random}}
  member: {value: {get_attr: [members, resource.0.value]}}
  slow:  # evaluated in another process
    value:
      yaql:
        expression: "$.data.text + str(range(40).select(range(40).sum()).sum())"
        data: {text: {get_resource: random}}
  open: {value: open}
  name: {value: {get_resource: handle}}
"""


def test_who_may_not_export_finds_no_secret_in_outputs(api: Caller, reader: dict[str, str]):
    made = api.create("giving-access", GIVING_ACCESS)
    try:
        told = api.call("GET", f"{made}").json()["stack"]["outputs"]
        values = {one["output_key"]: one["output_value"] for one in told}
        assert None not in values.values()
        assert "******" not in values.values()
        places = (
            api.url(made), api.url("/stacks/detail"),
            *(api.url(f"{made}/outputs/{key}") for key in values),
            f"{api.dev.url}/cfn/v1/?Action=DescribeStacks&StackName=giving-access",
        )  # fmt: skip
        secret = [str(one) for key, one in values.items() if key not in ("open", "name")]
        for place in places:
            reply = requests.get(place, headers={**reader, "X-Auth-User": "x"}, timeout=10)
            assert reply.status_code == 200, place
            assert [one for one in secret if one in reply.text] == [], place
        shown = requests.get(api.url(made), headers=reader, timeout=10).json()["stack"]["outputs"]
        seen = {one["output_key"]: one["output_value"] for one in shown}
        assert seen == {**dict.fromkeys(values, "******"), "name": values["name"],
                        "open": values["open"]}  # fmt: skip
    finally:
        api.call("DELETE", made)
        api.ended(made)
