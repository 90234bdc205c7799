"""The definitions of the members of an adopted group, from the document of the user."""

import json
from typing import Any

import pytest

from hearth.engine.worker.failure import ResourceFailure
from hearth.engine.worker.node.child_stack import _definitions

MEMBERS = {"a": {}, "b": {}}
TEMPLATE = {"resources": {"a": {"type": "OS::Heat::None"}}}


@pytest.mark.parametrize("template", [TEMPLATE, json.dumps(TEMPLATE)])
def test_a_member_has_the_definition_of_its_name(template: Any):
    found = _definitions({"template": template, "resources": MEMBERS})
    assert found == {"a": {"type": "OS::Heat::None"}, "b": {}}


@pytest.mark.parametrize("document", [{}, {"template": None}, {"template": {}}])
def test_without_a_template_members_have_no_definitions(document: dict[str, Any]):
    assert _definitions({**document, "resources": MEMBERS}) == {"a": {}, "b": {}}


@pytest.mark.parametrize(
    "document",
    [
        {"template": "heat_template_version: 2021-04-16", "resources": MEMBERS},
        {"template": "[" * 100_000, "resources": MEMBERS},
        {"template": "[]", "resources": MEMBERS},
        {"template": {"resources": 5}, "resources": MEMBERS},
        {"template": TEMPLATE},
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_document_that_cannot_be_used_is_a_failure(document: dict[str, Any]):
    with pytest.raises(ResourceFailure, match="the adopted group needs a template in JSON"):
        _definitions(document)
