"""What is hidden stays so, in whatever is asked of a stack."""

from collections.abc import Iterator
from typing import Any

import pytest

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
"""
CHILD = """
heat_template_version: 2021-04-16
parameters:
  inner: {type: string, hidden: true}
  unasked: {type: string, hidden: true}
resources: {in: {type: OS::Heat::TestResource, properties: {value: {get_param: inner}}}}
"""
GIVEN: dict[str, Any] = {"template": TEMPLATE, "files": {"child.yaml": CHILD}}


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


def test_its_name_is_told_in_its_place(api: Caller, path: str):
    shown = api.call("GET", f"{path}/environment").json()
    assert shown["parameters"] == {"key": "******"}
    assert shown["parameter_defaults"] == {"unasked": "******", "other": "by default"}
    assert shown["encrypted_param_names"] == []
    assert api.call("GET", path).json()["stack"]["parameters"]["key"] == "******"
