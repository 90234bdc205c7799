"""JSON of others is parsed by `parse_json`, for which a text that is nested too deep is no JSON."""

from pathlib import Path

import pytest

import hearth
from hearth.cloud.foreign_credential import NoCredential, foreign_credential
from hearth.model.json_text import parse_json
from hearth.resources.checks import json_string
from hearth.resources.nova.user_data import _ignition

ROOT = Path(hearth.__file__).parent
DEEP = "[" * 100_000
OTHERS = ("agent/", "clusters/templates/", "devcloud/")  # programs of their own
OWN = {
    "api/reference.py", "authoring/lsp/linter.py", "authoring/lsp/linter_process.py",
    "authoring/types.py", "bus/notification.py", "cli/apply/in_process.py", "cli/dev.py",
    "cli/type_settings.py", "engine/worker/known/context.py", "engine/worker/node/child_stack.py",
    "model/json_text.py", "resources/autoscaling/group.py", "resources/heat/config_transport.py",
    "resources/heat/group.py", "resources/heat/resource_group.py",
    "resources/heat/scaling_group.py", "resources/heat/software_deployment.py",
    "resources/heat/wait_condition_handle.py", "resources/mistral/external_resource.py",
    "resources/mistral/workflow.py", "resources/neutron/port.py", "resources/nova/interfaces.py",
    "resources/trove/instance.py", "resources/zaqar/queue.py", "store/claim.py",
    "store/key_pairs.py",
}  # fmt: skip
"""Modules that parse what Hearth itself has written with `json.loads`."""
BOUNDED = {"authoring/fmt.py", "cloud/answers.py", "resources/blazar/host.py",
           "template/load.py", "template/parameters.py"}  # fmt: skip
"""Modules that use `json.loads` for texts of others, and handle RecursionError or parse scalars."""


def test_json_of_others_is_parsed_by_one_function():
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "json.loads" in path.read_text()
    }
    assert {one for one in found if not one.startswith(OTHERS)} == OWN | BOUNDED


def test_a_text_that_is_nested_too_deep_is_no_json():
    assert parse_json('{"a": [1]}') == {"a": [1]}
    for text in (DEEP, DEEP.encode(), "{", b"\xff", "1" * 5000):
        with pytest.raises(ValueError, match=r"deep|Expecting|utf-8|digits"):
            parse_json(text)


def test_who_reads_it_treats_it_as_other_texts():
    assert json_string(DEEP) == f'"{DEEP}" is not JSON'
    assert _ignition(DEEP) is None
    with pytest.raises(NoCredential, match="not JSON"):
        foreign_credential(DEEP)
