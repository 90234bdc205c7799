"""Revisions of a stack: read, compared, and gone back to."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

HOT = "heat_template_version: 2021-04-16\n"
FIRST = (
    HOT
    + """
parameters:
  size: {type: number, default: 1}
  password: {type: string, hidden: true, default: first-secret}
resources:
  one: {type: OS::Heat::Value, properties: {value: {get_param: size}}}
  two: {type: OS::Heat::Value, properties: {value: {get_param: password}}}
  old: {type: OS::Heat::Value, properties: {value: {get_attr: [one, value]}}}
  text: {type: OS::Heat::Value, properties: {value: {get_file: a.txt}}}
"""
)
SECOND = FIRST.replace("  old:", "  new:").replace("a.txt", "b.txt")


@pytest.fixture(scope="module")
def path(api: Caller) -> Iterator[str]:
    """A stack in its third revision."""
    made = api.create("revised", FIRST, files={"a.txt": "hello\n"})
    updated(api, made, template=SECOND, files={"b.txt": "hello\nworld\n"}, parameters={"size": 2})
    updated(api, made, "PATCH", parameters={"password": "second-secret"})
    yield made
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def updated(api: Caller, path: str, method: str = "PUT", **body: Any) -> None:
    reply = api.call(method, path, body)
    assert reply.status_code == 202, reply.text
    api.until(path, "UPDATE_COMPLETE")


def test_the_revisions_are_listed_newest_first(api: Caller, path: str):
    found = api.call("GET", f"{path}/revisions").json()["revisions"]
    assert [one["number"] for one in found] == [3, 2, 1]
    assert [one["current"] for one in found] == [True, False, False]
    assert {one["created_by"] for one in found} == {"demo"}
    assert all(one["created_at"].endswith("Z") and one["copy_of"] is None for one in found)


def test_a_revision_shows_all_but_what_is_hidden(api: Caller, path: str):
    reply = api.call("GET", f"{path}/revisions/3")
    found = reply.json()["revision"]
    assert "secret" not in reply.text.replace("first-secret", "", 1)  # the template's own default
    assert found["files"] == ["b.txt"]
    assert found["parameters"]["size"] == "2"
    assert found["parameters"]["password"] == "******"
    assert found["environment"]["parameters"] == {"size": 2, "password": "******"}
    assert set(found["template"]["resources"]) == {"one", "two", "new", "text"}
    assert api.call("GET", f"{path}/revisions/1").json()["revision"]["parameters"]["size"] == "1"


def test_two_revisions_are_compared_by_resource_parameter_and_text(api: Caller, path: str):
    found = api.call("GET", f"{path}/revisions/1/diff/2").json()["diff"]
    assert (found["from"], found["to"]) == (1, 2)
    assert found["resources"]["added"] == ["new"]
    assert found["resources"]["removed"] == ["old"]
    changed = {one["resource"]: one["properties"] for one in found["resources"]["changed"]}
    assert changed == {
        "one": [{"property": "value", "before": 1, "after": 2}],
        "text": [{"property": "value", "before": "hello\n", "after": "hello\nworld\n"}],
    }
    assert found["parameters"] == [{"parameter": "size", "before": 1, "after": 2}]
    assert "-  old:" in found["template"]
    assert "+  new:" in found["template"]
    assert "+++ b.txt" in found["files"]["b.txt"]
    assert "+world" in found["files"]["b.txt"]
    assert "+++ /dev/null" in found["files"]["a.txt"]


def test_hidden_values_are_masked_in_a_comparison(api: Caller, path: str):
    reply = api.call("GET", f"{path}/revisions/2/diff/3")
    assert "secret" not in reply.text
    found = reply.json()["diff"]
    masked = {"before": "******", "after": "******"}
    assert found["parameters"] == [{"parameter": "password", **masked}]
    (changed,) = found["resources"]["changed"]
    assert changed["resource"] == "two"
    assert changed["properties"] == [{"property": "value", **masked}]
    assert (found["template"], found["files"]) == ("", {})


def test_equal_revisions_do_not_differ(api: Caller, path: str):
    found = api.call("GET", f"{path}/revisions/2/diff/2").json()["diff"]
    assert found["resources"] == {"added": [], "removed": [], "changed": []}
    assert (found["parameters"], found["template"], found["files"]) == ([], "", {})


def test_what_is_not_there_or_no_number_is_told(api: Caller, path: str):
    for place in ("/revisions/9", "/revisions/1/diff/9", "/revisions/9/diff/1"):
        reply = api.call("GET", f"{path}{place}")
        assert reply.status_code == 404
        assert "Revision (9)" in reply.json()["error"]["message"]
    assert api.call("GET", f"{path}/revisions/first").status_code == 400
    for method, word in (("PUT", ""), ("PATCH", ""), ("PUT", "/preview"), ("PATCH", "/plan")):
        assert api.call(method, f"{path}{word}", {"revision": 9}).status_code == 404
        for beside in ({"template": FIRST}, {"files": {"a": "b"}}, {"environment": {"a": 1}}):
            reply = api.call(method, f"{path}{word}", {"revision": 1, **beside})
            assert reply.status_code == 400
            assert next(iter(beside)) in reply.json()["error"]["message"]
    assert api.call("PUT", path, {"revision": "last"}).status_code == 400
    assert api.call("GET", path).json()["stack"]["stack_status"] == "UPDATE_COMPLETE"


def test_a_revision_is_planned_previewed_and_gone_back_to(api: Caller):
    made = api.create("back", FIRST, files={"a.txt": "hello\n"})
    updated(api, made, template=SECOND, files={"b.txt": "x"}, parameters={"size": 2})
    body = {"revision": 1, "parameters": {"size": 7}}
    plan = api.call("PUT", f"{made}/plan", body).json()["plan"]["resources"]
    told = {line["resource"]: line["action"] for line in plan}
    assert told == {
        "one": "update", "two": "keep", "old": "create", "text": "update", "new": "delete"
    }  # fmt: skip
    groups = api.call("PUT", f"{made}/preview", body).json()["resource_changes"]
    assert [one["resource_name"] for one in groups["added"]] == ["old"]
    updated(api, made, **body)
    assert api.call("GET", f"{made}/files").json() == {"a.txt": "hello\n"}
    resources = api.call("GET", f"{made}/resources").json()["resources"]
    assert {one["resource_name"] for one in resources} == {"one", "two", "old", "text"}
    shown = api.call("GET", f"{made}/revisions/3").json()["revision"]
    assert shown["copy_of"] == 1
    assert shown["parameters"]["size"] == "7"
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def test_a_rollback_says_which_revision_it_copies(api: Caller):
    made = api.create("rolled", FIRST, files={"a.txt": "hello\n"})
    template = FIRST + "  bad: {type: OS::Heat::TestResource, properties: {fail: true}}\n"
    body = {"template": template, "files": {"a.txt": "x"}, "disable_rollback": False}
    assert api.call("PUT", made, body).status_code == 202
    api.until(made, "ROLLBACK_COMPLETE")
    found = api.call("GET", f"{made}/revisions").json()["revisions"]
    assert [(one["number"], one["copy_of"]) for one in found] == [(3, 1), (2, None), (1, None)]
    api.call("DELETE", made)
    api.until(made, "DELETE_COMPLETE")


def test_another_project_sees_no_revisions(api: Caller, path: str, stranger: str):
    for place in ("/revisions", "/revisions/1", "/revisions/1/diff/2"):
        assert api.call("GET", f"{path}{place}", user=stranger).status_code == 404
