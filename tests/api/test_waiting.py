"""Why a resource is not done yet, told while the cloud keeps a call waiting."""

from collections.abc import Iterator
from typing import Any

import pytest
import requests

from hearth.cloud.pool import CloudConfig
from tests.api.conftest import Caller
from tests.clients.dev import wait_for

pytestmark = pytest.mark.slow

HOT = "heat_template_version: 2021-04-16\n"
CHILD = HOT + "resources:\n  volume: {type: OS::Cinder::Volume, properties: {size: 1}}\n"
TEMPLATE = (
    HOT
    + """
resources:
  net: {type: OS::Neutron::Net}
  volume: {type: OS::Cinder::Volume, properties: {size: 1}}
  value: {type: OS::Heat::Value, properties: {value: {get_resource: volume}}}
  last: {type: OS::Heat::Value, depends_on: [value, net], properties: {value: 1}}
  child: {type: child.yaml}
"""
)


@pytest.fixture
def held(api: Caller) -> Iterator[Any]:
    """Calls of volumes wait until the test lets them go; gives what lets them."""

    def let_go() -> None:
        requests.delete(f"{api.dev.cloud_url}/devcloud/knobs", timeout=10).raise_for_status()

    rules = [
        {"match": {"service": "volume", "method": m, "path_regex": "/volumes"},
         "effect": {"withhold": True}} for m in ("POST", "DELETE")
    ]  # fmt: skip
    requests.post(
        f"{api.dev.cloud_url}/devcloud/knobs", json={"rules": rules}, timeout=10
    ).raise_for_status()
    yield let_go
    let_go()


def listed(api: Caller, path: str, query: str = "") -> dict[str, Any]:
    body = api.call("GET", f"{path}/resources{query}").json()
    return {one["resource_name"]: one for one in body["resources"]}


def seen(api: Caller, path: str, names: set[str]) -> dict[str, Any]:
    """What waits, once exactly those names do."""

    def look() -> dict[str, Any] | None:
        found = {n: r["waiting"] for n, r in listed(api, path).items() if "waiting" in r}
        return found if set(found) == names else None

    return wait_for(look, f"{names} wait")


def test_each_resource_tells_its_call_or_those_it_waits_for(api: Caller, held: Any):
    body = {"stack_name": "slow", "template": TEMPLATE, "files": {"child.yaml": CHILD}}
    stack_id = api.call("POST", "/stacks", body).json()["stack"]["id"]
    path = f"/stacks/slow/{stack_id}"
    found = seen(api, path, {"volume", "value", "last", "child"})
    call = found["volume"]["on"]
    assert (call["action"], call["step"], call["phase"]) == ("CREATE", "create", "intent")
    assert 0 <= call["seconds"] < 60
    assert found["value"] == {"for": [{"resource": "volume", "status": "CREATE_IN_PROGRESS"}]}
    assert found["last"] == {"for": [{"resource": "value", "status": "INIT_COMPLETE"}]}
    assert found["child"]["on"]["nested"]["stack_status"] == "CREATE_IN_PROGRESS"
    shown = api.call("GET", f"{path}/resources/value").json()["resource"]
    assert shown["waiting"] == found["value"]
    below = listed(api, path, "?nested_depth=1&type=OS::Cinder::Volume")
    assert below["volume"]["waiting"]["on"]["step"] == "create"
    held()
    api.until(path, "CREATE_COMPLETE")
    assert all("waiting" not in one for one in listed(api, path).values())
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def test_a_resource_waits_at_a_hook_and_others_for_it(api: Caller):
    template = (
        HOT
        + """
resources:
  before: {type: OS::Heat::Value, properties: {value: 1}}
  after: {type: OS::Heat::Value, depends_on: before, properties: {value: 1}}
"""
    )
    hooks = {
        "resource_registry": {"resources": {"before": {"hooks": ["pre-create", "post-create"]}}}
    }
    body = {"stack_name": "hooked", "template": template, "environment": hooks}
    path = f"/stacks/hooked/{api.call('POST', '/stacks', body).json()['stack']['id']}"
    for hook, state in (("pre-create", "INIT_COMPLETE"), ("post-create", "CREATE_COMPLETE")):

        def look(hook: str = hook) -> dict[str, Any] | None:
            found = seen(api, path, {"before", "after"})
            return found if found["before"] == {"hook": hook} else None

        found = wait_for(look, f"it waits at {hook}")
        assert found["after"] == {"for": [{"resource": "before", "status": state}]}
        api.call("POST", f"{path}/resources/before/signal", {"unset_hook": hook})
    api.until(path, "CREATE_COMPLETE")
    assert all("waiting" not in one for one in listed(api, path).values())
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")


def test_what_goes_waits_for_those_that_still_use_it(api: Caller, held: Any):
    held()
    template = (
        HOT
        + """
resources:
  net: {type: OS::Neutron::Net}
  volume: {type: OS::Cinder::Volume, depends_on: net, properties: {size: 1}}
"""
    )
    path = api.create("going", template)
    rule = {"match": {"service": "volume", "method": "DELETE", "path_regex": "/volumes"},
            "effect": {"withhold": True}}  # fmt: skip
    requests.post(f"{api.dev.cloud_url}/devcloud/knobs", json={"rules": [rule]}, timeout=10)
    api.call("DELETE", path)
    found = seen(api, path, {"volume", "net"})
    assert found["volume"]["on"]["action"] == "DELETE"
    assert found["net"] == {"for": [{"resource": "volume", "status": "DELETE_IN_PROGRESS"}]}
    held()
    api.until(path, "DELETE_COMPLETE")


def test_a_call_that_cannot_be_sent_waits_for_a_slot(api: Caller, held: Any):
    with api.dev.sdk("hearth-admin") as admin:
        project = api.login()[1]
        limits = {"quota_set": {"volumes": -1, "gigabytes": -1}}
        assert admin.block_storage.put(f"/os-quota-sets/{project}", json=limits).ok
    most = CloudConfig().in_flight_per_project
    more = 3
    volumes = {
        f"v{number}": {"type": "OS::Cinder::Volume", "properties": {"size": 1}}
        for number in range(most + more)
    }
    template = {"heat_template_version": "2021-04-16", "resources": volumes}
    body = {"stack_name": "many", "template": template}
    path = f"/stacks/many/{api.call('POST', '/stacks', body).json()['stack']['id']}"

    def look() -> list[Any] | None:
        calls = [one["waiting"]["on"] for one in listed(api, path).values() if "waiting" in one]
        queued = [call for call in calls if call["phase"] == "queued"]
        return queued if len(queued) == more and len(calls) == most + more else None

    queued = wait_for(look, f"{more} calls wait for a slot", 20)
    assert {call["calls_in_flight"] for call in queued} == {most}
    held()
    api.until(path, "CREATE_COMPLETE")
    api.call("DELETE", path)
    api.until(path, "DELETE_COMPLETE")
