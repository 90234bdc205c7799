"""Wait conditions signalled from outside, by every transport, as guests do it."""

import json
import time
from typing import Any

import pytest
import requests
from keystoneauth1.identity import v3
from keystoneauth1.session import Session

from tests.clients.dev import Dev

pytestmark = pytest.mark.slow

TEMPLATE = """
heat_template_version: 2018-08-31
resources:
  handle:
    type: OS::Heat::WaitConditionHandle
    properties: {signal_transport: %s}
  wait:
    type: OS::Heat::WaitCondition
    properties: {handle: {get_resource: handle}, count: 2, timeout: 60}
outputs:
  signal: {value: {get_attr: [handle, signal]}}
  endpoint: {value: {get_attr: [handle, endpoint]}}
  token: {value: {get_attr: [handle, token]}}
  data: {value: {get_attr: [wait, data]}}
"""


def outputs(dev: Dev, name: str) -> dict[str, Any]:
    with dev.heat() as heat:
        stack = heat.stacks.get(name)
    return {one["output_key"]: one.get("output_value") for one in stack.outputs}


def until(look, limit_s: float = 30.0) -> Any:
    ends = time.monotonic() + limit_s
    while not (found := look()):
        assert time.monotonic() < ends, "nothing came"
        time.sleep(0.1)
    return found


def send(transport: str, told: dict[str, Any], body: dict[str, Any]) -> requests.Response:
    means = json.loads(told["signal"])
    headers = {"Content-Type": "application/json"}
    match transport:
        case "TOKEN_SIGNAL":
            headers["X-Auth-Token"] = told["token"]
            return requests.post(told["endpoint"], json=body, headers=headers, timeout=20)
        case "HEAT_SIGNAL":
            user = v3.Password(
                means["auth_url"],
                user_id=means["user_id"],
                password=means["password"],
                project_id=means["project_id"],
            )
            return Session(user).post(means["alarm_url"], json=body)
        case _:
            return requests.put(means["alarm_url"], json=body, headers=headers, timeout=20)


@pytest.mark.parametrize(
    "transport", ["TOKEN_SIGNAL", "CFN_SIGNAL", "HEAT_SIGNAL", "TEMP_URL_SIGNAL"]
)
def test_a_condition_completes_when_its_handle_was_signalled_often_enough(dev: Dev, transport):
    name = f"wait-{transport.lower().replace('_', '-')}"
    with dev.heat() as heat:
        heat.stacks.create(stack_name=name, template=TEMPLATE % transport)
        told = until(
            lambda: next(
                (
                    o
                    for o in [outputs(dev, name)]
                    if json.loads(o.get("signal") or "{}") or o["token"]
                ),
                None,
            )
        )
        for i in ("1", "2"):
            assert send(transport, told, {"id": i, "data": f"d{i}"}).status_code in (200, 201)
            seen = {"1": "d1", "2": "d2"} if i == "2" else {"1": "d1"}
            if transport == "TEMP_URL_SIGNAL":  # one object: it is fetched before the next
                until(lambda seen=seen: len(taken(dev, name)) >= len(seen))
        until(lambda: heat.stacks.get(name).stack_status == "CREATE_COMPLETE")
        assert json.loads(outputs(dev, name)["data"]) == {"1": "d1", "2": "d2"}
        heat.stacks.delete(name)


def taken(dev: Dev, name: str) -> dict[str, Any]:
    with dev.heat() as heat:
        return heat.resources.metadata(name, "handle")


def test_a_signature_that_is_not_right_signals_nothing(dev: Dev):
    with dev.heat() as heat:
        heat.stacks.create(stack_name="forged", template=TEMPLATE % "CFN_SIGNAL")
        told = until(
            lambda: next(
                (o for o in [outputs(dev, "forged")] if json.loads(o.get("signal") or "{}")), None
            )
        )
        url = json.loads(told["signal"])["alarm_url"]
        forged = url.replace("Signature=", "Signature=x")
        answer = requests.put(forged, json={"id": "1"}, timeout=20)
        assert answer.status_code == 403
        assert "<Code>AccessDenied</Code>" in answer.text
        assert requests.put(url.partition("?")[0], json={}, timeout=20).status_code == 400
        assert taken(dev, "forged") == {}
        heat.stacks.delete("forged")
