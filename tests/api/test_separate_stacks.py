"""Every update is passed on to the stack behind `OS::Heat::Stack`, so that its resources heal."""

import json
from typing import Any

import pytest

from tests.api.conftest import Caller

pytestmark = pytest.mark.slow

INNER = {
    "heat_template_version": "2021-04-16",
    "resources": {"word": {"type": "OS::Heat::RandomString"}},
}
OUTER = json.dumps(
    {
        "heat_template_version": "2021-04-16",
        "resources": {
            "s": {"type": "OS::Heat::Stack", "properties": {"template": json.dumps(INNER)}}
        },
    }
)


def inner_path(api: Caller, outer: str) -> str:
    shown = api.call("GET", f"{outer}/resources/s").json()["resource"]
    found = api.call("GET", f"/stacks/{shown['physical_resource_id']}")
    return found.headers["location"].partition("/stacks")[2].join(("/stacks", ""))


def resources(api: Caller, path: str) -> dict[str, Any]:
    listed = api.call("GET", f"{path}/resources").json()["resources"]
    return {one["resource_name"]: one for one in listed}


def test_a_stack_behind_a_resource_heals_with_an_update(api: Caller) -> None:
    outer = api.create("outer", OUTER)
    inner = inner_path(api, outer)
    before = resources(api, inner)["word"]["physical_resource_id"]
    mark = {"mark_unhealthy": True, "resource_status_reason": "broken"}
    assert api.call("PATCH", f"{inner}/resources/word", mark).status_code == 200
    plan = api.call("PATCH", f"{outer}/plan", {}).json()["plan"]["resources"]
    assert [one["action"] for one in plan] == ["update"]
    assert api.call("PATCH", outer, {}).status_code == 202
    api.until(outer, "UPDATE_COMPLETE")
    after = resources(api, inner)["word"]
    assert after["resource_status"] == "CREATE_COMPLETE"
    assert after["physical_resource_id"] != before

    changed = {**INNER, "resources": {}}
    assert api.call("PUT", inner, {"template": json.dumps(changed)}).status_code == 202
    api.until(inner, "UPDATE_COMPLETE")
    assert resources(api, inner) == {}
    assert api.call("PATCH", outer, {}).status_code == 202
    api.ended(outer)
    assert resources(api, inner).keys() == {"word"}
    api.call("DELETE", outer)
    assert api.ended(outer)["stack_status"] == "DELETE_COMPLETE"
