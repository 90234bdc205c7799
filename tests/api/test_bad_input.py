"""What is wrong with a request is told with its place, all of it at once, and nothing is stored."""

import json

import pytest
import requests

from tests.api.conftest import Caller
from tests.clients.dev import wait_for
from tests.template.test_bad_input import CASES, HOT

pytestmark = pytest.mark.slow
BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
)


@pytest.fixture(autouse=True)
def nothing_is_stored(api: Caller):
    """Whatever a test sends: no stack, nothing in the cloud. What others left may be there."""
    path = "/stacks?status=IN_PROGRESS"
    wait_for(lambda: api.call("GET", path).json() == {"stacks": []}, "others' stacks to end")
    before = stacks(api)
    api.dev.mark()
    yield
    assert stacks(api) <= before  # those of others may end meanwhile
    assert api.dev.ledger() == []


def stacks(api: Caller) -> set[str]:
    return {one["id"] for one in api.call("GET", "/stacks").json()["stacks"]}


def refused(reply: requests.Response, status: int = 400) -> tuple[str, str]:
    """Type and message of an answer in the form of the API's errors."""
    assert reply.status_code == status, reply.text
    assert reply.headers["Content-Type"] == "application/json"
    body = reply.json()
    assert body["code"] == status
    assert body["title"]
    assert body["explanation"]
    assert set(body["error"]) == {"type", "message", "traceback"}
    assert body["error"]["traceback"] is None
    return body["error"]["type"], body["error"]["message"]


def create(api: Caller, template: object, **more: object) -> requests.Response:
    return api.call("POST", "/stacks", {"stack_name": "bad", "template": template, **more})


@pytest.mark.parametrize("case", CASES)
def test_a_fault_of_the_template_is_told_with_its_place(api: Caller, case: str):
    template, kind, line, column, mentioned = CASES[case]
    found, message = refused(create(api, template))
    assert found == kind
    assert f"[template:{line}:{column}]" in message
    assert mentioned in message


@pytest.mark.parametrize("path", ["/validate", "/stacks/preview"])
def test_validation_and_preview_say_the_same(api: Caller, path: str):
    template = HOT + "resources:\n  a: {type: 'OS::Heat::Vaule'}\n"
    body = {"stack_name": "bad", "template": template}
    kind, message = refused(api.call("POST", path, body))
    assert kind == ("HTTPBadRequest" if path == "/validate" else "StackValidationFailed")
    assert message == refused(create(api, template))[1]


def test_a_request_that_is_no_json_is_refused(api: Caller):
    for raw in ("", "{", "[1]", "not json", '{"stack_name": }'):
        headers = {"Content-Type": "application/json"}
        kind, _ = refused(api.call("POST", "/stacks", headers=headers, data=raw))
        assert kind == "HTTPBadRequest"


def test_a_bomb_of_aliases_is_refused(api: Caller):
    kind, message = refused(create(api, BOMB))
    assert kind == "RequestLimitExceeded"
    assert "aliases" in message


def test_ten_megabytes_are_refused_by_their_size(api: Caller):
    kind, message = refused(create(api, HOT + "#" * 10_000_000))
    assert kind == "RequestLimitExceeded"
    assert "1048576" in message


def test_a_template_over_its_own_limit_is_refused(api: Caller):
    kind, message = refused(create(api, HOT + "#" * 600_000))
    assert kind == "RequestLimitExceeded"
    assert "524288" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stack_name", None),
        ("stack_name", "1st"),
        ("stack_name", "a b"),
        ("stack_name", "x" * 256),
        ("template", None),
        ("template", [1]),
        ("files", []),
        ("parameters", "a=b"),
        ("environment", {"paramters": {}}),
        ("environment", "parameters: ["),
        ("timeout_mins", "soon"),
        ("timeout_mins", -1),
        ("disable_rollback", "maybe"),
        ("tags", "x" * 81),
        ("environment_files", ["nowhere.yaml"]),
    ],
)
def test_a_field_that_is_not_as_it_should_be_is_refused(api: Caller, field: str, value: object):
    body = {"stack_name": "bad", "template": HOT, field: value}
    _, message = refused(api.call("POST", "/stacks", body))
    assert message


def test_parameters_are_missing_surplus_or_wrong(api: Caller):
    template = HOT + "parameters:\n  size: {type: number}\n  flavor: {type: string, default: a}\n"
    assert refused(create(api, template))[0] == "UserParameterMissing"
    kind, message = refused(create(api, template, parameters={"size": 1, "flavour": "b"}))
    assert kind == "UnknownUserParameter"
    assert "did you mean flavor?" in message
    kind, message = refused(create(api, template, parameters={"size": "large"}))
    assert kind == "StackValidationFailed"
    assert "size" in message


def test_what_the_cloud_does_not_have_is_told_before_anything_is_made(api: Caller):
    template = (
        HOT + "resources:\n  s:\n    type: OS::Nova::Server\n"
        "    properties: {flavor: m1.tini, image: cirros, networks: [{network: private}]}\n"
    )
    kind, message = refused(create(api, template))
    assert kind == "StackValidationFailed"
    assert "m1.tini" in message
    assert "resources.s.properties.flavor" in message


def test_all_problems_come_in_one_answer(api: Caller):
    template = HOT + (
        "resources:\n"
        "  a: {type: OS::Neutron::Nett}\n"
        "  b: {type: OS::Heat::Value, properties: {valu: {get_resource: q}}, depends_on: z}\n"
        "outputs:\n"
        "  x: {vale: 1}\n"
    )
    _, message = refused(create(api, template))
    lines = message.splitlines()
    assert len(lines) >= 4
    assert all("[template:" in line for line in lines)
    assert "OS::Neutron::Net?" in message


def test_a_fault_in_a_file_names_the_file(api: Caller):
    child = HOT + "resources:\n  q: {type: OS::Heat::Value, properties: {valu: 1}}\n"
    template = HOT + "resources:\n  n: {type: child.yaml}\n"
    _, message = refused(create(api, template, files={"child.yaml": child}))
    assert "[child.yaml:3:43]" in message


def test_a_template_of_deep_json_is_refused(api: Caller):
    deep = json.loads("[" * 500 + "]" * 500)
    kind, _ = refused(create(api, {"heat_template_version": "2018-08-31", "outputs": deep}))
    assert kind in {"RequestLimitExceeded", "StackValidationFailed", "HTTPBadRequest"}


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": ' + b"[" * 100_000,
        b'{"stack_name": "\\ud800", "template": {"heat_template_version": "2021-04-16"}}',
        b'{"stack_name": "bad", "template": {"heat_template_version": "2021-04-16"}, '
        b'"tags": "\\uD800"}',
        b'{"stack_name": "bad", "timeout_mins": 99999999999999, '
        b'"template": {"heat_template_version": "2021-04-16"}}',
        b'{"stack_name": "bad", "parameters": {"p": NaN}, '
        b'"template": {"heat_template_version": "2021-04-16"}}',
        b'{"stack_name": "bad", "parameters": {"p": 1e999}, '
        b'"template": {"heat_template_version": "2021-04-16"}}',
        b'{"stack_name": "b\xe9", "template": {"heat_template_version": "2021-04-16"}}',
    ],
)
def test_a_body_that_no_database_takes_is_refused(api: Caller, body: bytes):
    headers = {"X-Auth-Token": api.login()[0], "Content-Type": "application/json"}
    reply = requests.post(api.url("/stacks"), data=body, headers=headers, timeout=20)
    assert refused(reply)[0] == "HTTPBadRequest"
