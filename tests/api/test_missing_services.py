"""Types whose service the caller's catalogue does not have."""

import contextlib
import json
from collections.abc import Iterator

import pytest

from tests.api.conftest import Caller

TYPE = "OS::Octavia::LoadBalancer"
MEMBER = {"type": TYPE, "properties": {"vip_subnet": "private-subnet"}}
NESTED = json.dumps({"heat_template_version": "2018-08-31", "resources": {"balancer": MEMBER}})
WHY = f"{TYPE}: this cloud has no load-balancer service"


def template(**resources: object) -> str:
    return json.dumps({"heat_template_version": "2018-08-31", "resources": resources})


@contextlib.contextmanager
def without(api: Caller, service: str) -> Iterator[Caller]:
    """A caller whose catalogue lacks a service."""
    with api.dev.sdk("hearth-admin") as admin:
        found = admin.identity.find_service(service, ignore_missing=False)
        endpoints = [one.id for one in admin.identity.endpoints(service_id=found.id)]

        def enable(ident: str, enabled: bool) -> None:
            body = {"endpoint": {"enabled": enabled}}
            assert admin.identity.patch(f"/endpoints/{ident}", json=body).ok

        for one in endpoints:
            enable(one, False)
        try:
            yield Caller(api.dev)
        finally:
            for one in endpoints:
                enable(one, True)


@pytest.fixture(scope="module")
def bare(api: Caller) -> Iterator[Caller]:
    with without(api, "octavia") as caller:
        yield caller


def test_they_are_not_listed(bare: Caller):
    listed = bare.call("GET", "/resource_types").json()["resource_types"]
    assert "OS::Neutron::Net" in listed
    assert "OS::Heat::Value" in listed
    assert not [name for name in listed if name.startswith("OS::Octavia::")]


@pytest.mark.parametrize("below", ["", "/template"])
def test_their_schema_is_refused(bare: Caller, below: str):
    answer = bare.call("GET", f"/resource_types/{TYPE}{below}")
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "ResourceTypeUnavailable"
    assert answer.json()["error"]["message"] == f"HEAT-E99001 {WHY}"
    assert bare.call("GET", f"/resource_types/OS::Neutron::Net{below}").status_code == 200


USES = {
    "at the top": (template(one=MEMBER), {}),
    "in a nested template": (template(inner={"type": "nested.yaml"}), {"nested.yaml": NESTED}),
}


@pytest.mark.parametrize(("text", "files"), USES.values(), ids=USES)
def test_templates_that_use_them_are_refused(bare: Caller, text: str, files: dict[str, str]):
    body = {"template": text, "files": files}
    for path, more in (("/stacks", {"stack_name": "lacking"}), ("/validate", {})):
        answer = bare.call("POST", path, {**body, **more})
        assert answer.status_code == 400, path
        assert answer.json()["error"]["type"] == "ResourceTypeUnavailable"
        message = answer.json()["error"]["message"]
        assert message.startswith("HEAT-E99001 ")
        assert WHY in message
    assert bare.call("GET", "/stacks/lacking").status_code == 404


@pytest.mark.parametrize(("text", "files"), USES.values(), ids=USES)
def test_a_client_can_validate_them_anyway(bare: Caller, text: str, files: dict[str, str]):
    path = "/validate?ignore_errors=99001"
    assert bare.call("POST", path, {"template": text, "files": files}).status_code == 200


def test_a_disabled_resource_needs_no_service(bare: Caller):
    body = json.loads(template(one={**MEMBER, "condition": "never"}))
    body["conditions"] = {"never": {"equals": [1, 2]}}
    assert bare.call("POST", "/validate", {"template": body}).status_code == 200
    path = bare.create("disabled", json.dumps(body))
    assert bare.call("DELETE", path).status_code == 204


def test_the_place_of_the_resource_is_named(bare: Caller):
    text = f"heat_template_version: 2018-08-31\nresources:\n  one:\n    type: {TYPE}\n"
    text += "    properties: {vip_subnet: private-subnet}\n"
    answer = bare.call("POST", "/stacks", {"stack_name": "lacking", "template": text})
    assert answer.json()["error"]["message"].endswith("[template:3:3]")
