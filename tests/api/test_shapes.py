"""Wrong shapes of every key of a create and a validation, beside the recorded answers of Heat.

`shapes.json` holds them by request, path of the key and value: the status, and of a refusal its
type. Recorded with Heat 27.0.1.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import Caller
from tests.selection import one_first

pytestmark = [pytest.mark.slow, one_first]

RECORDED = json.loads((Path(__file__).parent / "shapes.json").read_text(encoding="utf-8"))
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "parameters": {"p": {"type": "string", "default": "x"}},
    "resources": {"v": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "p"}}}},
}
PYTHON = ("400 AttributeError", "400 KeyError", "400 TypeError", "400 ValueError")
"""Internal errors of the original: here a refusal says what is wrong."""

REGISTRY = "environment/resource_registry"
STRICTER = (
    "files_container",
    "tags",
    "timeout_mins",
    "disable_rollback",
    "clear_parameters",
    "environment/parameter_defaults",
    "environment/parameter_merge_strategies",
    "environment/event_sinks",
    "environment/encrypted_param_names",
    f"{REGISTRY}/My::T",
    f"{REGISTRY}/My::*",
    f"{REGISTRY}/x.yaml",
    f"{REGISTRY}/OS::Heat::Value",
    f"{REGISTRY}/resources/n",
)
"""Keys of which the original does not look at all values, or not before it needs them."""

LAXER = {
    "tags": ["[]", '["a"]', "[1]"],  # a list is as good as a text with commas
    "environment/resource_registry/resources": ["null"],
    "environment/resource_registry/resources/v/OS::Heat::Value": ['{"a": null}'],
    "environment/encrypted_param_names": ['["a"]', "[1]"],
}
"""Values that are accepted, though the original has an internal error with them."""


def request_of(path: str, value: Any) -> dict[str, Any]:
    """A body with the value at a path of keys."""
    body: dict[str, Any] = {"template": TEMPLATE}
    place = body
    *way, last = path.split("/")
    for key in way:
        place = place.setdefault(key, {})
    place[last] = value
    return body


def agree(method: str, path: str, value: str, theirs: str, ours: str) -> bool:
    """Whether an answer is the recorded one, or differs for a reason that is named above."""
    if theirs == ours:
        return True
    refused = ours.startswith("400 ")
    if path == "adopt_stack_data" and method == "POST /validate":  # of creates alone
        return ours == "200"
    if path == "files_container" and theirs.startswith("500"):
        return ours[:3] in ("400", "404")
    if theirs.startswith("500 ") or theirs in PYTHON:
        return refused or value in LAXER.get(path, ())
    return refused and theirs[0] == "2" and path in STRICTER


@pytest.mark.parametrize("method", RECORDED)
def test_a_key_of_a_wrong_shape_is_answered_as_by_heat(api: Caller, method: str):
    different = []
    number = 0
    for path, answers in RECORDED[method].items():
        for value, theirs in answers.items():
            number += 1
            body = request_of(path, json.loads(value))
            if method == "POST /stacks":
                body.setdefault("stack_name", f"shape-{number}")
            reply = api.call(*method.split(), body)
            ours = str(reply.status_code)
            if reply.status_code >= 300:
                ours += f" {reply.json()['error']['type']}"
            elif method == "POST /stacks":
                stack = reply.json()["stack"]["id"]
                api.call("DELETE", f"/stacks/{body['stack_name']}/{stack}")
            if not agree(method, path, value, theirs, ours):
                different.append(f"{path} = {value}: {theirs}, here {ours}")
    assert not different, "\n".join(different)
