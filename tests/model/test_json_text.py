"""JSON from outside Hearth is parsed by `parse_json`, which refuses deep nesting."""

import re
from pathlib import Path

import pytest

import hearth
from hearth.cloud.foreign_credential import NoCredential, foreign_credential
from hearth.model.json_text import decode_json, parse_json
from hearth.resources.nova.user_data import _ignition
from hearth.schema.named import json_string

ROOT = Path(hearth.__file__).parent
DEEP = "[" * 100_000
OTHERS = ("agent/", "clusters/templates/")  # programs of their own
LOADS = re.compile(r"\bjson\.loads?\b")
OWN = {
    "authoring/lsp/linter.py": 1, "authoring/lsp/linter_process.py": 1,
    "authoring/types.py": 1, "bus/notification.py": 2, "cli/apply/in_process.py": 1,
    "cli/dev.py": 1, "cli/docs_commands.py": 1, "config/type_settings.py": 1,
    "engine/context.py": 1,
    "engine/worker/node/child_stack.py": 2, "resources/autoscaling/group.py": 1,
    "resources/heat/config_transport.py": 1, "resources/heat/group.py": 1,
    "resources/heat/resource_group.py": 2, "resources/heat/scaling_group.py": 2,
    "resources/heat/software_deployment.py": 1, "resources/heat/wait_condition_handle.py": 1,
    "resources/mistral/external_resource.py": 2, "resources/mistral/workflow.py": 1,
    "resources/neutron/port.py": 1, "resources/nova/interfaces.py": 1,
    "resources/trove/instance.py": 1, "resources/zaqar/queue.py": 1, "store/claim.py": 1,
    "store/clusters/key_pairs.py": 1,
}  # fmt: skip
"""How often a module parses what Hearth itself has written."""
BOUNDED = {"authoring/fmt.py": 2, "cli/apply/saved_plan.py": 1, "cloud/answers.py": 2,
           "model/json_text.py": 2, "resources/blazar/host.py": 1,
           "template/load.py": 1, "template/parameters.py": 1}  # fmt: skip
"""How often a module parses documents or scalars of others, and handles RecursionError."""


def test_json_of_others_is_parsed_by_one_function():
    found = {
        path.relative_to(ROOT).as_posix(): len(LOADS.findall(path.read_text()))
        for path in ROOT.rglob("*.py")
    }
    assert {
        name: count for name, count in found.items() if count and not name.startswith(OTHERS)
    } == OWN | BOUNDED


@pytest.mark.parametrize(
    "text",
    [*("[" * n + "]" * n for n in (101, 900, 50_000)), DEEP.encode(), "{", b"\xff", "1" * 5000],
)
def test_a_text_that_is_nested_too_deeply_is_no_json(text: str | bytes):
    with pytest.raises(ValueError, match=r"deeply|Expecting|utf-8|digits"):
        parse_json(text)


def test_other_texts_are_parsed():
    assert parse_json('{"a": [1]}') == {"a": [1]}
    assert repr(parse_json("[" * 99 + "]" * 99)) == "[" * 99 + "]" * 99


def test_a_reader_treats_it_like_other_wrong_texts():
    assert json_string(DEEP) == f'"{DEEP}" is not JSON'
    assert _ignition(DEEP) is None
    with pytest.raises(NoCredential, match="not JSON"):
        foreign_credential(DEEP)


def test_half_a_surrogate_pair_is_no_json():
    for text in ('"\\ud83d"', '{"\\uDE00": 1}', '["\\ude00\\ud83d"]'):
        with pytest.raises(ValueError, match="surrogates"):
            decode_json(text)
    assert decode_json('["\\ud83d\\ude00", "\\\\ud83d"]') == ["\U0001f600", "\\ud83d"]
