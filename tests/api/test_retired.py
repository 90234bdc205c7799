"""Stacks with types that Heat has retired: each stands there and makes nothing."""

import json

import pytest

from hearth.resources.known import RETIRED
from tests.api.conftest import Caller

pytestmark = pytest.mark.slow


def template(properties: object) -> str:
    resources = {
        name.replace("::", "_"): {"type": name, "properties": properties}
        for name in sorted(RETIRED)
    }
    outputs = {
        "id": {"value": {"get_resource": "OS_Neutron_Pool"}},
        "any": {"value": {"get_attr": ["OS_Neutron_Pool", "nonsense"]}},
    }
    whole = {"heat_template_version": "2018-08-31", "resources": resources, "outputs": outputs}
    return json.dumps(whole)


def test_a_stack_of_retired_types_is_made_updated_moved_and_removed(api: Caller):
    path = api.create("retired", template({"nonsense": 1}))
    outputs = {o["output_key"]: o for o in api.call("GET", path).json()["stack"]["outputs"]}
    ident = api.call("GET", f"{path}/resources/OS_Neutron_Pool").json()["resource"]
    assert outputs["id"]["output_value"] == ident["physical_resource_id"]
    assert outputs["any"]["output_value"] is None

    assert api.call("PUT", path, {"template": template({"other": [2]})}).status_code == 202
    api.until(path, "UPDATE_COMPLETE")
    kept = api.call("GET", f"{path}/resources/OS_Neutron_Pool").json()["resource"]
    assert kept["physical_resource_id"] == ident["physical_resource_id"]

    moved = api.call("DELETE", f"{path}/abandon")
    assert moved.status_code == 200
    body = {"stack_name": "moved", "adopt_stack_data": json.dumps(moved.json())}
    adopted = api.call("POST", "/stacks", {**body, "template": template({"other": [2]})})
    assert adopted.status_code == 201, adopted.text
    path = f"/stacks/moved/{adopted.json()['stack']['id']}"
    api.until(path, "ADOPT_COMPLETE")
    taken = api.call("GET", f"{path}/resources/OS_Neutron_Pool").json()["resource"]
    assert taken["physical_resource_id"] == ident["physical_resource_id"]
    assert api.call("DELETE", path).status_code == 204
    api.until(path, "DELETE_COMPLETE")


def test_retired_types_are_listed_only_to_who_asks_for_hidden_ones(api: Caller):
    listed = set(api.call("GET", "/resource_types").json()["resource_types"])
    assert not listed & RETIRED
    hidden = api.call("GET", "/resource_types?support_status=HIDDEN").json()["resource_types"]
    assert set(hidden) >= RETIRED


def test_old_names_of_alarms_lead_to_the_type_of_today(api: Caller):
    for name in ("OS::Ceilometer::Alarm", "OS::Metering::Alarm"):
        resources = {"a": {"type": name, "properties": {"meter_name": "m", "threshold": 1}}}
        text = json.dumps({"heat_template_version": "2018-08-31", "resources": resources})
        reply = api.call("POST", "/validate", {"template": text})
        assert reply.status_code == 200, reply.text
