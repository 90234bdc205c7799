"""What was seen of bad requests elsewhere, with its status and type, is so here."""

import json
from pathlib import Path
from typing import Any

import pytest

from hearth.api import fault
from hearth.api.fault import TOLD_MAX
from hearth.model.problem import StackValidationFailed
from tests.api.conftest import Caller

FACTS = Path(__file__).parents[1] / "facts" / "api_constants.json"
SEEN: dict[str, dict[str, Any]] = json.loads(FACTS.read_text())["observed_errors"]
HEAD = "heat_template_version: 2021-04-16\n"
PLAIN = f"{HEAD}resources: {{a: {{type: OS::Heat::RandomString}}}}\n"
NOWHERE = "00000000-0000-4000-8000-000000000000"
CYCLE = f"""{HEAD}resources:
  a: {{type: OS::Heat::Value, properties: {{value: {{get_resource: b}}}}}}
  b: {{type: OS::Heat::Value, properties: {{value: {{get_resource: a}}}}}}
"""
TYPED = f"{HEAD}parameters: {{size: {{type: number, constraints: [{{range: {{max: 3}}}}]}}}}\n"
HOOKED = {"resource_registry": {"resources": {"a": {"hooks": "pre-create"}}}}

BETTER = {"bad ignore_errors": {"status": 400, "type": "HTTPBadRequest"}}
"""There the refusal was given as the text of a success."""

Asked = tuple[str, str, Any]


def create(template: Any, **more: Any) -> Asked:
    return "POST", "/stacks", {"stack_name": "observed", "template": template, **more}


def valued(value: str) -> Asked:
    return create(f"{HEAD}resources: {{a: {{type: OS::Heat::Value, properties: {{{value}}}}}}}\n")


def typed(name: str, properties: str = "") -> Asked:
    return create(f"{HEAD}resources: {{a: {{type: {name}, properties: {{{properties}}}}}}}\n")


def requests(stack: str, others: str) -> dict[str, Asked]:
    """By the name of what was seen; `stack` is the path of a stack that is complete, `others` the
    id of one of another project.
    """
    no = f"{NOWHERE}"
    return {
        "bad action": ("POST", f"{stack}/actions", {"explode": None}),
        "bad bool": ("GET", "/stacks?show_deleted=perhaps", None),
        "bad environment section": create(PLAIN, environment={"colours": {}}),
        "bad hook": create(
            PLAIN, environment={"resource_registry": {"resources": {"a": {"hooks": "mid"}}}}
        ),
        "bad ignore_errors": ("POST", "/validate?ignore_errors=1", {"template": PLAIN}),
        "bad limit": ("GET", "/stacks?limit=many", None),
        "bad mark_unhealthy key": ("PATCH", f"{stack}/resources/a", {"sick": True}),
        "bad marker": ("GET", f"/stacks?marker={no}", None),
        "bad parameter schema": create(f"{HEAD}parameters: {{p: {{type: colour}}}}\n"),
        "bad resource filter": ("GET", f"{stack}/resources?colour=red", None),
        "bad section": create(f"{PLAIN}colours: {{}}\n"),
        "bad sort dir": ("GET", "/stacks?sort_dir=up", None),
        "bad sort key": ("GET", "/stacks?sort_keys=colour", None),
        "bad support_status": ("GET", "/resource_types?support_status=GREAT", None),
        "bad template version": create("heat_template_version: 1999-01-01\nresources: {}\n"),
        "bad template_type": (
            "GET",
            "/resource_types/OS::Heat::Value/template?template_type=tosca",
            None,
        ),
        "cancel when idle": ("POST", f"{stack}/actions", {"cancel_update": None}),
        "clear absent hook": (
            "POST",
            f"{stack}/resources/a/signal",
            {"unset_hook": "pre-update"},
        ),
        "clear bad hook": ("POST", f"{stack}/resources/a/signal", {"unset_hook": "mid"}),
        "converge on create": create(PLAIN, converge=True),
        "create bad name": ("POST", "/stacks", {"stack_name": "1 bad", "template": PLAIN}),
        "create existing name": (
            "POST",
            "/stacks",
            {"stack_name": stack.split("/")[2], "template": PLAIN},
        ),
        "create without name": ("POST", "/stacks", {"template": PLAIN}),
        "create without template": ("POST", "/stacks", {"stack_name": "observed"}),
        "cycle": create(CYCLE),
        "get_file missing": valued("value: {get_file: gone.sh}"),
        "get_param OS::region": valued("value: {get_param: 'OS::region'}"),
        "hidden type schema": ("GET", "/resource_types/OS::Neutron::RouterGateway", None),
        "invalid template validate": ("POST", "/validate", {"template": f"{HEAD}colours: {{}}"}),
        "long tag": create(PLAIN, tags="x" * 81),
        "lookup unknown stack": ("GET", "/stacks/gone", None),
        "missing parameter": create(f"{HEAD}parameters: {{p: {{type: string}}}}\n"),
        "missing property": typed("OS::Heat::ResourceGroup"),
        "negative limit": ("GET", "/stacks?limit=-1", None),
        "no template version": create({"resources": {}}),
        "other project": ("GET", f"/stacks/{others}", None),
        "parameter constraint": create(TYPED, parameters={"size": 4}),
        "property constraint": typed("OS::Heat::RandomString", "length: 100000"),
        "show unknown stack": ("GET", f"/stacks/gone/{no}", None),
        "signal unsupported": ("POST", f"{stack}/resources/a/signal", {}),
        "two actions": ("POST", f"{stack}/actions", {"check": None, "suspend": None}),
        "unknown attribute": create(f"{PLAIN}outputs: {{o: {{value: {{get_attr: [a, size]}}}}}}"),
        "unknown deployment": ("GET", f"/software_deployments/{no}", None),
        "unknown event": ("GET", f"{stack}/resources/a/events/{no}", None),
        "unknown output": ("GET", f"{stack}/outputs/gone", None),
        "unknown parameter": create(PLAIN, parameters={"gone": 1}),
        "unknown parameter in get_param": valued("value: {get_param: gone}"),
        "unknown property": typed("OS::Heat::Value", "value: 1, colour: red"),
        "unknown reference": valued("value: {get_resource: gone}"),
        "unknown resource": ("GET", f"{stack}/resources/gone", None),
        "unknown resource type": typed("OS::Heat::Gone"),
        "unknown snapshot": ("GET", f"{stack}/snapshots/{no}", None),
        "unknown software config": ("GET", f"/software_configs/{no}", None),
        "unknown template version functions": (
            "GET",
            "/template_versions/heat_template_version.1999-01-01/functions",
            None,
        ),
        "unknown type schema": ("GET", "/resource_types/OS::Heat::Gone", None),
    }


@pytest.fixture(scope="module")
def asked(api: Caller) -> dict[str, Asked]:
    stack = api.create("seen", PLAIN)
    body = {"stack_name": "others", "template": PLAIN}
    others = api.call("POST", "/stacks", body, user="admin").json()["stack"]["id"]
    return requests(stack, others)


def test_every_one_is_asked() -> None:
    assert requests("/stacks/seen/x", "y").keys() == SEEN.keys()


@pytest.mark.parametrize("name", SEEN)
def test_a_bad_request_has_its_status_and_type(
    api: Caller, asked: dict[str, Asked], name: str
) -> None:
    reply = api.call(*asked[name])
    wanted, found = BETTER.get(name, SEEN[name]), {"status": reply.status_code}
    if "type" in wanted:
        found["type"] = reply.json()["error"]["type"]
    assert found == wanted, reply.text


def test_of_very_many_problems_the_first_are_told() -> None:
    found = [StackValidationFailed(None, f"wrong {number}") for number in range(TOLD_MAX + 1)]
    assert fault.words(found[:-1]).splitlines()[-1] == f"wrong {TOLD_MAX - 1}"
    assert fault.words(found).splitlines()[-1] == "... and others"
