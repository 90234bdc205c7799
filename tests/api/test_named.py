"""What a request only names: a template by its address, files in a container."""

import pytest
import requests

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

TEMPLATE = """heat_template_version: 2021-04-16
resources:
  inner: {type: inner.yaml}
  text: {type: OS::Heat::Value, properties: {value: {get_file: text.json}}}
outputs:
  text: {value: {get_attr: [text, value]}}
"""
INNER = "heat_template_version: 2021-04-16\nresources: {a: {type: OS::Heat::None}}\n"


@pytest.fixture(scope="module")
def container(api: Caller) -> str:
    token, project = api.login()
    url = f"{api.dev.cloud_url}/object-store/v1/AUTH_{project}/files"
    headers = {"X-Auth-Token": token}
    requests.put(url, headers=headers, timeout=10).raise_for_status()
    for name, text in (
        ("inner.yaml", INNER),
        ("text.json", '{"b":  1}'),
        ("sub/env.yaml", "parameter_defaults: {x: 1}"),
    ):
        json_type = {"Content-Type": "application/json", **headers}
        put = requests.put(f"{url}/{name}", data=text, headers=json_type, timeout=10)
        put.raise_for_status()
    return "files"


def test_files_of_a_container_are_those_of_the_stack(api: Caller, container: str):
    body = {"files_container": container, "environment_files": ["sub/env.yaml"]}
    path = api.create("contained", TEMPLATE, **body, files={"inner.yaml": INNER + "# mine\n"})
    files = api.call("GET", f"{path}/files").json()
    assert files["inner.yaml"].endswith("# mine\n")  # what the request has itself wins
    output = api.call("GET", f"{path}/outputs/text").json()["output"]
    assert output["output_value"] == '{"b":  1}'  # as it was written, JSON or not
    environment = api.call("GET", f"{path}/environment").json()
    assert environment["parameter_defaults"] == {"x": 1}
    api.call("DELETE", path)


def test_a_container_that_is_not_there_is_not_found(api: Caller):
    body = {"stack_name": "lost", "template": TEMPLATE, "files_container": "lost"}
    reply = api.call("POST", "/stacks", body)
    assert reply.status_code == 404
    assert reply.json()["error"]["type"] == "NotFound"
    assert "lost" in reply.json()["error"]["message"]


def test_a_container_that_is_too_large_is_refused(api: Caller):
    token, project = api.login()
    url = f"{api.dev.cloud_url}/object-store/v1/AUTH_{project}/large"
    headers = {"X-Auth-Token": token}
    requests.put(url, headers=headers, timeout=10).raise_for_status()
    requests.put(f"{url}/a", data=b"x" * 1_100_000, headers=headers, timeout=10).raise_for_status()
    body = {"stack_name": "large", "template": TEMPLATE, "files_container": "large"}
    reply = api.call("POST", "/stacks", body)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "DownloadLimitExceeded"


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/latest/meta-data", "file:///etc/passwd", "http://127.0.0.1/"]
)
def test_a_template_is_not_fetched_unless_the_operator_says_so(api: Caller, url: str):
    for path in ("/stacks", "/stacks/preview", "/validate"):
        reply = api.call("POST", path, {"stack_name": "fetched", "template_url": url})
        assert reply.status_code == 400
        error = reply.json()["error"]
        assert error["type"] == "HTTPBadRequest"
        assert "disabled" in error["message"]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "http://127.0.0.1:1/a.yaml"])
def test_files_are_those_of_the_request_whatever_they_are_called(api: Caller, url: str):
    template = TEMPLATE.replace("inner.yaml", url).replace("text.json", url)
    reply = api.call("POST", "/stacks", {"stack_name": "named", "template": template})
    assert reply.status_code == 400
    assert url in reply.json()["error"]["message"]
    body = {"stack_name": "named", "template": INNER, "environment_files": [url]}
    reply = api.call("POST", "/stacks", body)
    assert reply.status_code == 400
