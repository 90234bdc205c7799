"""Bodies beyond the limit: refused before they are kept, and nothing has changed."""

import json
from collections.abc import Iterator

import pytest
import requests

from tests.api.conftest import Caller

MANY = 10 * 1024 * 1024
TEMPLATE = """
heat_template_version: 2021-04-16
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
    properties: {signal_transport: CFN_SIGNAL}
  wait:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, count: 1, timeout: 600}
outputs:
  url: {value: {get_attr: [handle, signal]}}
  data: {value: {get_attr: [wait, data]}}
"""


@pytest.fixture(scope="module")
def waiting(api: Caller) -> Iterator[tuple[str, str]]:
    """A stack that waits for a signal, and the pre-signed address that takes one."""
    asked = {"stack_name": "patient", "template": TEMPLATE}
    made = api.call("POST", "/stacks", asked).json()["stack"]
    path = f"/stacks/patient/{made['id']}"
    while True:
        told = api.call("GET", f"{path}/outputs/url").json()["output"]["output_value"]
        if told:
            break
    yield path, json.loads(told)["alarm_url"] if told.startswith("{") else told
    api.call("DELETE", path)


def large(*, chunked: bool) -> bytes | Iterator[bytes]:
    body = json.dumps({"status": "SUCCESS", "data": "x" * MANY}).encode()
    pieces = (body[at : at + 65536] for at in range(0, len(body), 65536))
    return pieces if chunked else body


@pytest.mark.parametrize("chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize("way", ["signed", "token", "create"])
def test_ten_megabytes_are_refused(
    api: Caller, waiting: tuple[str, str], way: str, chunked: bool
) -> None:
    path, url = waiting
    headers = {"Content-Type": "application/json"}
    if way == "signed":
        reply = requests.put(url, data=large(chunked=chunked), headers=headers, timeout=30)
        assert "RequestLimitExceeded" in reply.text
    else:
        headers["X-Auth-Token"] = api.login()[0]
        there = "/stacks" if way == "create" else f"{path}/resources/handle/signal"
        reply = requests.post(
            api.url(there), data=large(chunked=chunked), headers=headers, timeout=30
        )
        assert reply.json()["error"]["type"] == "RequestLimitExceeded"
    assert reply.status_code == 400
    shown = api.call("GET", path).json()["stack"]
    assert shown["stack_status"] == "CREATE_IN_PROGRESS"


def test_afterwards_a_small_one_is_taken(api: Caller, waiting: tuple[str, str]) -> None:
    path, url = waiting
    reply = requests.put(url, json={"status": "SUCCESS", "data": "small", "id": "1"}, timeout=30)
    assert reply.status_code == 200, reply.text
    api.until(path, "CREATE_COMPLETE")
    data = api.call("GET", f"{path}/outputs/data").json()["output"]["output_value"]
    assert json.loads(data) == {"1": "small"}
