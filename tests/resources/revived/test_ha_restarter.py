"""A signal to an OS::Heat::HARestarter replaces another resource of the stack."""

import json
from typing import Any

import pytest
import requests

from tests.api.conftest import Caller
from tests.clients.dev import wait_for

pytestmark = pytest.mark.slow


RESOURCES: dict[str, Any] = {
    "port": {"type": "OS::Neutron::Port", "properties": {"network": "private"}},
    "other": {"type": "OS::Neutron::Port", "properties": {"network": "private"}},
    "restarter": {
        "type": "OS::Heat::HARestarter",
        "properties": {"InstanceId": {"get_resource": "port"}},
    },
}
OUTPUTS = {
    "url": {"value": {"get_attr": ["restarter", "AlarmUrl"]}},
    "port": {"value": {"get_resource": "port"}},
    "other": {"value": {"get_resource": "other"}},
}


def template(**changes: Any) -> str:
    whole = {"heat_template_version": "2018-08-31", "resources": {**RESOURCES, **changes}}
    return json.dumps({**whole, "outputs": OUTPUTS})


def outputs(api: Caller, path: str) -> dict[str, Any]:
    found = api.call("GET", path).json()["stack"]["outputs"]
    return {one["output_key"]: one["output_value"] for one in found}


def events(api: Caller, path: str, resource: str) -> list[str]:
    found = api.call("GET", f"{path}/resources/{resource}/events?sort_dir=asc").json()["events"]
    return [f"{one['resource_status']}: {one['resource_status_reason']}" for one in found]


def test_a_signal_to_its_url_replaces_the_resource_and_nothing_else(api: Caller) -> None:
    path = api.create("restarted", template())
    before = outputs(api, path)
    for _ in range(2):
        then = outputs(api, path)
        answer = requests.post(before["url"], json={"state": "alarm"}, timeout=30)
        assert answer.status_code == 200, answer.text
        api.until(path, "UPDATE_COMPLETE")
        now = outputs(api, path)
        assert now["port"] != then["port"]
        assert now["other"] == before["other"]
        assert now["url"] == before["url"]
    assert any("alarm state changed to alarm" in one for one in events(api, path, "restarter"))
    assert any(one.startswith("CHECK_FAILED") for one in events(api, path, "port"))
    assert api.call("DELETE", path).status_code == 204
    api.until(path, "DELETE_COMPLETE")


def test_a_signal_that_all_is_well_replaces_nothing(api: Caller) -> None:
    path = api.create("well", template())
    before = outputs(api, path)
    answer = api.call("POST", f"{path}/resources/restarter/signal", {"state": "ok"})
    assert answer.status_code == 200, answer.text
    assert api.call("GET", path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    assert outputs(api, path) == before
    assert any("alarm state changed to ok" in one for one in events(api, path, "restarter"))
    api.call("DELETE", path)


def test_a_signal_without_details_replaces(api: Caller) -> None:
    path = api.create("bare", template())
    before = outputs(api, path)
    assert api.call("POST", f"{path}/resources/restarter/signal").status_code == 200
    api.until(path, "UPDATE_COMPLETE")
    assert outputs(api, path)["port"] != before["port"]
    api.call("DELETE", path)


def test_a_signal_is_refused_while_the_stack_is_in_progress(api: Caller) -> None:
    path = api.create("busy", template())
    slow = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 3}}
    assert api.call("PUT", path, {"template": template(slow=slow)}).status_code == 202
    answer = api.call("POST", f"{path}/resources/restarter/signal", {"state": "alarm"})
    assert answer.status_code == 409, answer.text
    assert answer.json()["error"]["type"] == "ActionInProgress"
    api.until(path, "UPDATE_COMPLETE")
    assert not any("CHECK" in one for one in events(api, path, "port"))
    api.call("DELETE", path)


def test_a_resource_that_the_stack_does_not_have_is_named(api: Caller) -> None:
    restarter = {"type": "OS::Heat::HARestarter", "properties": {"InstanceId": "no-such-id"}}
    path = api.create("lost", template(restarter=restarter))
    answer = api.call("POST", f"{path}/resources/restarter/signal", {"state": "alarm"})
    assert answer.status_code == 404, answer.text
    assert "no-such-id" in answer.json()["error"]["message"]
    assert api.call("GET", path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    api.call("DELETE", path)


def test_a_restarter_in_a_nested_stack_replaces_there(api: Caller) -> None:
    parent = {
        "heat_template_version": "2018-08-31",
        "resources": {"inner": {"type": "inner.yaml"}},
        "outputs": {"port": {"value": {"get_attr": ["inner", "port"]}}},
    }
    body = {"files": {"inner.yaml": template()}}
    path = api.create("outer", json.dumps(parent), **body)
    shown = api.call("GET", f"{path}/resources/inner").json()["resource"]
    child = f"/stacks/{shown['physical_resource_id']}"
    child = api.call("GET", child).headers["Location"].partition("/stacks/")[2]
    child = f"/stacks/{child}"
    before = outputs(api, child)
    answer = requests.post(before["url"], json={"state": "alarm"}, timeout=30)
    assert answer.status_code == 200, answer.text
    api.until(child, "UPDATE_COMPLETE")
    after = outputs(api, child)
    assert after["port"] != before["port"]
    told = lambda: outputs(api, path)["port"] == after["port"] or None  # noqa: E731
    wait_for(told, "the parent knows the new port")
    assert api.call("GET", path).json()["stack"]["stack_status"] == "CREATE_COMPLETE"
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
