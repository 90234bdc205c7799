"""Requests drawn from the OpenAPI document, and answers held against it."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as contract

from hearth.api.openapi import document
from tests.clients.dev import hearth_dev
from tests.walk.ground import SMALL, Ground, prepare

pytestmark = pytest.mark.slow

SCHEMA = schemathesis.openapi.from_dict(document("http://127.0.0.1/v1"))
EXAMPLES = 8
ENDS = {"stack_delete", "stack_abandon", "stack_snapshot_restore", "action_stack"}
CHECKS = [
    checks.not_a_server_error,
    contract.status_code_conformance,
    contract.content_type_conformance,
    contract.response_schema_conformance,
]
BOUNDED = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with hearth_dev(tmp_path_factory.mktemp("hearth")) as dev:
        made = prepare(dev)
        for number in range(3):
            made.create(f"small{number}", template=SMALL)
        yield made


def called(ground: Ground, case: Any, **known: str) -> None:
    person = ground.people["admin" if case.operation.path.endswith("/services") else "member"]
    case.path_parameters["tenant_id"] = person.project_id
    case.path_parameters.update({k: v for k, v in known.items() if k in case.path_parameters})
    case.call_and_validate(
        base_url=f"{ground.dev.url}/v1",
        headers={"X-Auth-Token": person.token},
        checks=CHECKS,
        allow_redirects=False,
        timeout=30,
    )


@SCHEMA.parametrize()
@BOUNDED
def test_what_is_not_there(ground: Ground, case: Any) -> None:
    called(ground, case)


@SCHEMA.exclude(operation_id=sorted(ENDS)).parametrize()
@BOUNDED
def test_what_is_there(ground: Ground, case: Any) -> None:
    known = {
        **ground.stack,
        "stack_identity": ground.stack["stack_name"],
        "resource_name": "value",
        "type_name": "OS::Heat::RandomString",
        "template_version": "heat_template_version.2021-04-16",
        "output_key": "hidden",
    }
    called(ground, case, **known)
