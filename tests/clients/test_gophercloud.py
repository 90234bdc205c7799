"""What gophercloud and Terraform's stack resource send, answers read as strictly as in Go.

A value of another JSON type than the field has fails the whole answer there; null leaves a field as
it is. The requests are those of gophercloud v2 and of the provider's create, read, update, delete.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import requests

from tests.clients.dev import Dev, wait_for

pytestmark = pytest.mark.slow

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
LINKS, STRINGS, ANY_LIST = "links", "strings", "list"
STACK = {
    "capabilities": ANY_LIST, "creation_time": "time", "description": str,
    "disable_rollback": bool, "id": str, "links": LINKS, "notification_topics": ANY_LIST,
    "outputs": "maps", "parameters": "map of strings", "stack_name": str, "stack_status": str,
    "stack_status_reason": str, "tags": STRINGS, "template_description": str,
    "timeout_mins": int, "updated_time": "time",
}  # fmt: skip
LISTED = {
    name: STACK[name]
    for name in ("creation_time", "description", "id", "links", "stack_name", "stack_status",
                 "stack_status_reason", "tags", "updated_time")
}  # fmt: skip
PREVIEWED = {
    **{n: kind for n, kind in STACK.items() if n not in ("outputs", "tags")}, "resources": ANY_LIST,
}  # fmt: skip
RESOURCE = {
    "attributes": dict, "creation_time": "time", "description": str, "links": LINKS,
    "logical_resource_id": str, "resource_name": str, "parent_resource": str,
    "physical_resource_id": str, "required_by": ANY_LIST, "resource_status": str,
    "resource_status_reason": str, "resource_type": str, "updated_time": "time",
}  # fmt: skip
EVENT = {
    "resource_name": str, "event_time": "time", "links": LINKS, "logical_resource_id": str,
    "resource_status_reason": str, "resource_status": str, "physical_resource_id": str,
    "id": str, "resource_properties": dict,
}  # fmt: skip
SCHEMA = {"attributes": dict, "properties": dict, "resource_type": str, "support_status": dict}
ABANDONED = {
    "status": str, "name": str, "template": dict, "action": str, "id": str, "resources": dict,
    "files": "map of strings", "stack_user_project_id": str, "project_id": str,
    "environment": dict,
}  # fmt: skip

TEMPLATE = """\
heat_template_version: 2018-08-31
description: By Terraform
parameters:
  length: {type: number}
  tree: {type: json, default: {a: [1]}}
  names: {type: comma_delimited_list, default: "x,y"}
  shown: {type: boolean, default: true}
resources:
  text: {type: OS::Heat::RandomString, properties: {length: {get_param: length}}}
  inner: {type: inner.yaml}
outputs:
  length: {value: {get_param: length}}
  text: {value: {get_attr: [text, value]}, description: The text}
"""
INNER = "heat_template_version: 2018-08-31\nresources: {deep: {type: OS::Heat::TestResource}}\n"


def fits(value: Any, kind: Any) -> bool:
    """Whether Go's decoder takes a value for a field; null goes with all."""
    if value is None:
        return True
    match kind:
        case "time":
            return value == "" or TIME.fullmatch(value) is not None
        case "list":
            return isinstance(value, list)
        case "strings":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case "maps":
            return isinstance(value, list) and all(isinstance(one, dict) for one in value)
        case "map of strings":
            return isinstance(value, dict) and all(isinstance(v, str) for v in value.values())
        case "links":
            return isinstance(value, list) and all(
                isinstance(one["href"], str) and isinstance(one["rel"], str) for one in value
            )
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind)


def decoded(body: Mapping[str, Any], kinds: Mapping[str, Any], *lacking: str) -> Mapping[str, Any]:
    """The body, if each field that the client knows is there and fits."""
    for name, kind in kinds.items():
        if name not in lacking:
            assert name in body, name
            assert fits(body[name], kind), (name, body[name])
    return body


class Client:
    """HTTP as Go's client does it: redirects are followed, and all headers go along."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.session = requests.Session()
        self.session.headers.update({
            "User-Agent": "gophercloud/v2.8.0", "X-Auth-Token": token,
            "Accept": "application/json", "Accept-Encoding": "gzip",
        })  # fmt: skip

    def ask(self, verb: str, path: str, body: Any = None, *, ok: tuple[int, ...] = ()) -> Any:
        """The decoded answer; a status that the client does not take fails."""
        allowed = ok or {"GET": (200,), "POST": (201, 202), "PUT": (201, 202),
                         "PATCH": (200, 202, 204), "DELETE": (202, 204)}[verb]  # fmt: skip
        reply = self.session.request(verb, f"{self.url}{path}", json=body, timeout=20)
        assert reply.status_code in allowed, (verb, path, reply.status_code, reply.text)
        return (
            reply.json() if (reply.content and verb == "GET") or reply.status_code == 201 else reply
        )

    def find(self, given: str) -> Mapping[str, Any]:
        """A stack by name or id: the server says where it is."""
        stack = self.ask("GET", f"/stacks/{given}")["stack"]
        gone = stack["stack_status"] == "DELETE_COMPLETE"
        return decoded(stack, STACK, *(["outputs"] if gone else []))

    def until(self, given: str, *states: str) -> Mapping[str, Any]:
        def look() -> Mapping[str, Any] | None:
            stack = self.find(given)
            return stack if stack["stack_status"] in states else None

        return wait_for(look, f"{given} in {states}")


@pytest.fixture(scope="module")
def go(dev: Dev) -> Iterator[Client]:
    with dev.sdk() as cloud:
        url = cloud.orchestration.get_endpoint()
        yield Client(url.rstrip("/"), cloud.auth_token)


def opts(**more: Any) -> dict[str, Any]:
    """A body as the library makes it: template and environment are text."""
    return {
        "template": TEMPLATE,
        "environment": "parameters:\n  length: 8\n",
        "files": {"inner.yaml": INNER},
        **more,
    }


@pytest.fixture
def stack(go: Client) -> Iterator[tuple[str, str]]:
    """Name and id of a stack that goes with the test."""
    made = go.ask("POST", "/stacks", opts(stack_name="gopher", tags="a,b", timeout_mins=7))
    stack_id = made["stack"]["id"]
    go.until(stack_id, "CREATE_COMPLETE")
    yield "gopher", stack_id
    reply = go.ask("DELETE", f"/stacks/gopher/{stack_id}")
    assert reply.status_code == 204
    go.until(stack_id, "DELETE_COMPLETE")


def test_terraform_creates_reads_updates_and_deletes(go: Client):
    parameters = {"length": "6", "tree": '{"k": "v"}'}
    # a list with as many empty items before the true ones: so the provider makes it
    body = opts(
        stack_name="tf", parameters=parameters, disable_rollback=False, tags=",,dev,web",
        environment="{}",
    )  # fmt: skip
    made = go.ask("POST", "/stacks", body)["stack"]
    assert made.keys() == {"id", "links"}
    stack = go.until(made["id"], "CREATE_COMPLETE", "CREATE_FAILED")
    assert stack["stack_status"] == "CREATE_COMPLETE"
    assert {"stack_owner", "stack_user_project_id", "parent"} <= stack.keys()
    own = {name: v for name, v in stack["parameters"].items() if not name.startswith("OS::")}
    assert stack["parameters"].keys() - own.keys() == {
        "OS::project_id", "OS::stack_id", "OS::stack_name",
    }  # fmt: skip
    assert own == {"length": "6", "tree": '{"k": "v"}', "names": "x,y", "shown": "True"}
    assert [tag for tag in stack["tags"] if tag] == ["dev", "web"]
    assert stack["disable_rollback"] is False
    outputs = {one["output_key"]: one for one in stack["outputs"]}
    assert outputs["text"].keys() == {"output_key", "output_value", "description"}
    assert outputs["text"]["description"] == "The text"

    changed = opts(parameters={"length": "7"}, tags=",new", timeout_mins=9)
    assert go.ask("PUT", f"/stacks/tf/{made['id']}", changed).status_code == 202
    stack = go.until(made["id"], "UPDATE_COMPLETE")
    assert (stack["parameters"]["length"], stack["timeout_mins"]) == ("7", 9)
    assert [tag for tag in stack["tags"] if tag] == ["new"]
    assert TIME.fullmatch(stack["updated_time"])
    assert go.ask("DELETE", f"/stacks/tf/{made['id']}").status_code == 204
    stack = go.until(made["id"], "DELETE_COMPLETE")  # by id it stays to be seen
    assert TIME.fullmatch(stack["deletion_time"])
    go.ask("GET", "/stacks/tf", ok=(404,))
    go.ask("DELETE", f"/stacks/tf/{made['id']}", ok=(404,))


def test_a_stack_without_tags_timeout_or_environment_is_read_as_well(go: Client):
    plain = {"stack_name": "bare", "template": {"heat_template_version": "2018-08-31"}, "tags": ""}
    made = go.ask("POST", "/stacks", plain)["stack"]["id"]
    stack = go.until(made, "CREATE_COMPLETE")
    assert stack["tags"] in (None, [])
    assert (stack["timeout_mins"], stack["updated_time"]) == (None, None)
    assert stack["capabilities"] == stack["notification_topics"] == stack["outputs"] == []
    go.ask("DELETE", f"/stacks/bare/{made}")
    go.until(made, "DELETE_COMPLETE")


def test_a_lookup_is_redirected_to_the_whole_address(go: Client, stack: tuple[str, str]):
    name, stack_id = stack
    for given in (name, stack_id):
        reply = go.session.get(f"{go.url}/stacks/{given}", allow_redirects=False, timeout=10)
        assert reply.status_code == 302
        assert reply.headers["Location"] == f"{go.url}/stacks/{name}/{stack_id}"
    assert go.find(name)["id"] == stack_id


def test_a_patch_changes_what_is_given(go: Client, stack: tuple[str, str]):
    name, stack_id = stack
    go.ask("PATCH", f"/stacks/{name}/{stack_id}", {"parameters": {"length": 5}})
    shown = go.until(stack_id, "UPDATE_COMPLETE")
    assert shown["parameters"]["length"] == "5"
    assert shown["tags"] == ["a", "b"]  # kept


def test_lists_are_read_with_every_option(go: Client, stack: tuple[str, str]):
    name, stack_id = stack
    for query in ("", "?sort_keys=created_at&sort_dir=desc", "?sort_keys=name&tags=a,b&limit=1",
                  f"?id={stack_id}", f"?name={name}&status=CREATE_COMPLETE", "?tags_any=a,z",
                  "?not_tags=z&not_tags_any=y", "?show_hidden=true&tenant_id=none"):  # fmt: skip
        found = [decoded(one, LISTED) for one in go.ask("GET", f"/stacks{query}")["stacks"]]
        assert [one["id"] for one in found] == [stack_id], query
    nested = go.ask("GET", "/stacks?show_nested=true")["stacks"]
    assert len([decoded(one, LISTED) for one in nested]) == 2
    go.ask("GET", "/stacks?global_tenant=true", ok=(403,))


def test_a_preview_is_read(go: Client):
    body = opts(stack_name="tried", timeout_mins=3, disable_rollback=True)
    reply = go.ask("POST", "/stacks/preview", body, ok=(200,))
    # the library knows a status of it, that no server ever sends
    shown = decoded(reply.json()["stack"], PREVIEWED, "stack_status", "stack_status_reason")
    assert shown["timeout_mins"] == 3
    assert len(shown["resources"]) == 2
    assert go.ask("GET", "/stacks?name=tried")["stacks"] == []


def test_resources_are_read(go: Client, stack: tuple[str, str]):
    path = "/stacks/{}/{}".format(*stack)
    by_name = go.ask("GET", f"/stacks/{stack[0]}/resources")["resources"]
    deep = go.ask("GET", f"{path}/resources?nested_depth=2")["resources"]
    assert {one["resource_name"] for one in by_name} == {"text", "inner"}
    assert {one["resource_name"] for one in deep} == {"text", "inner", "deep"}
    for one in (*by_name, *deep):
        decoded(one, RESOURCE, "attributes", "description", "parent_resource")
    (inside,) = (one for one in deep if one["resource_name"] == "deep")
    assert inside["parent_resource"] == "inner"
    shown = decoded(
        go.ask("GET", f"{path}/resources/text")["resource"], RESOURCE, "parent_resource"
    )
    assert len(shown["attributes"]["value"]) == 8
    metadata = go.ask("GET", f"{path}/resources/text/metadata")["metadata"]
    assert fits(metadata, "map of strings")
    marked = {"mark_unhealthy": True, "resource_status_reason": "by hand"}
    go.ask("PATCH", f"{path}/resources/text", marked)
    shown = go.ask("GET", f"{path}/resources/text")["resource"]
    assert shown["resource_status"] == "CHECK_FAILED"


def test_events_are_read_page_by_page_until_one_is_empty(go: Client, stack: tuple[str, str]):
    path = "/stacks/{}/{}".format(*stack)
    for start, query in ((f"/stacks/{stack[0]}/events", ""), (f"{path}/events", "&sort_dir=asc"),
                         (f"{path}/resources/text/events", "")):  # fmt: skip
        seen: list[str] = []
        while page := go.ask("GET", f"{start}?limit=2{query}" + _after(seen))["events"]:
            seen += [decoded(one, EVENT, "resource_properties")["id"] for one in page]
            assert len(page) <= 2
        assert len(seen) == len(set(seen)) == (2 if "text" in start else 6)
    (newest, _) = go.ask("GET", f"{path}/resources/text/events")["events"]
    shown = go.ask("GET", f"{path}/resources/text/events/{newest['id']}")["event"]
    decoded(shown, EVENT)
    filtered = go.ask("GET", f"{path}/events?resource_action=CREATE&resource_status=COMPLETE"
                      "&resource_type=OS::Heat::RandomString&resource_name=text")  # fmt: skip
    assert [one["resource_name"] for one in filtered["events"]] == ["text"]


def _after(seen: list[str]) -> str:
    return f"&marker={seen[-1]}" if seen else ""


def test_templates_are_read_and_validated(go: Client, stack: tuple[str, str]):
    path = "/stacks/{}/{}".format(*stack)
    assert go.ask("GET", f"{path}/template")["description"] == "By Terraform"
    said = go.ask("POST", "/validate", {"template": TEMPLATE, "files": {"inner.yaml": INNER}},
                  ok=(200,)).json()  # fmt: skip
    assert isinstance(said["Description"], str)
    assert isinstance(said["Parameters"], dict)
    assert "ParameterGroups" not in said  # a map to the library, a list to the server
    reply = go.ask("POST", "/validate", {"template": TEMPLATE.replace("get_param: length", "x: y")},
                   ok=(400,))  # fmt: skip
    assert re.search(r"\[template:\d+:\d+\]", reply.json()["error"]["message"])


def test_a_fault_of_a_template_sent_as_text_is_told_by_line_and_column(go: Client):
    wrong = TEMPLATE.replace("OS::Heat::RandomString", "OS::Heat::RandomStrin")
    reply = go.ask("POST", "/stacks", opts(stack_name="no", template=wrong), ok=(400,))
    message = reply.json()["error"]["message"]
    assert "did you mean OS::Heat::RandomString?" in message
    assert f"[template:{wrong[: wrong.index('  text:')].count(chr(10)) + 1}:" in message


def test_types_and_revisions_are_read(go: Client):
    types = go.ask("GET", "/resource_types")["resource_types"]
    assert fits(types, STRINGS)
    with_words = go.ask("GET", "/resource_types?with_description=true")["resource_types"]
    assert {one.keys() == {"resource_type", "description"} for one in with_words} == {True}
    shown = decoded(go.ask("GET", "/resource_types/OS::Heat::RandomString"), SCHEMA)
    for one in shown["properties"].values():
        assert isinstance(one["type"], str)
        assert fits(one.get("constraints"), ANY_LIST)
        assert {type(one[key]) for key in ("required", "update_allowed", "immutable")} == {bool}
    assert fits(shown["support_status"]["previous_status"], dict)
    for kind in ("cfn", "hot"):
        made = go.ask("GET", f"/resource_types/OS::Heat::Value/template?template_type={kind}")
        assert isinstance(made, dict)
    build = go.ask("GET", "/build_info")
    assert {type(build[part]["revision"]) for part in ("api", "engine")} == {str}


def test_a_stack_is_abandoned_and_adopted(go: Client):
    made = go.ask("POST", "/stacks", opts(stack_name="lost"))["stack"]["id"]
    go.until(made, "CREATE_COMPLETE")
    reply = go.ask("DELETE", f"/stacks/lost/{made}/abandon", ok=(200,))
    decoded(reply.json(), ABANDONED)
    go.until(made, "DELETE_COMPLETE")
    taken = go.ask("POST", "/stacks", {
        "stack_name": "lost", "adopt_stack_data": reply.text, "template": TEMPLATE,
        "files": {"inner.yaml": INNER},
    })["stack"]["id"]  # fmt: skip
    assert go.until(taken, "ADOPT_COMPLETE", "ADOPT_FAILED")["stack_status"] == "ADOPT_COMPLETE"
    go.ask("DELETE", f"/stacks/lost/{taken}")
    go.until(taken, "DELETE_COMPLETE")


def test_a_failed_create_tells_why(go: Client):
    failing = {"value": "x", "fail": True}
    template = {
        "heat_template_version": "2018-08-31",
        "resources": {"bad": {"type": "OS::Heat::TestResource", "properties": failing}},
    }
    body = {"stack_name": "bad", "template": template, "disable_rollback": True}
    made = go.ask("POST", "/stacks", body)["stack"]["id"]
    stack = go.until(made, "CREATE_FAILED")
    assert stack["stack_status_reason"].endswith("resources.bad: Test Resource failed bad")
    go.ask("DELETE", f"/stacks/bad/{made}")
    go.until(made, "DELETE_COMPLETE")


def test_an_endpoint_override_is_discovered(go: Client, dev: Dev):
    found = requests.get(f"{dev.url}/", timeout=10)
    assert found.status_code == 300
    (version,) = found.json()["versions"]
    assert (version["id"], version["status"]) == ("v1.0", "CURRENT")
