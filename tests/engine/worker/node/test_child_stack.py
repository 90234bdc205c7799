"""The members of an adopted group, from the document of the user; the batches of a group."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.engine.core.graph import NodeKind
from hearth.engine.worker.failure import ResourceFailure, Stopped
from hearth.engine.worker.node import child_stack
from hearth.engine.worker.node.attempt import Attempt
from hearth.engine.worker.node.child_stack import ChildStack, _definitions
from hearth.model.state import Action, Status
from hearth.resources.base import Child
from hearth.resources.heat.resource_group import ResourceGroup
from tests.engine.worker.owned import Owned, record, stack_row

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


def test_no_batch_follows_if_a_newer_operation_begins_while_it_is_prepared(
    monkeypatch: pytest.MonkeyPatch,
):
    owned = Owned(stack_row(action=Action.UPDATE), one := record("a"))
    attempt = Attempt(owned.owned, one, NodeKind.UPDATE, "t1", lambda old, new: None)

    async def read_members(*_: Any) -> None:
        pass

    async def balance(*_: Any, without: tuple[str, ...] | None = None) -> None:
        if without is not None:
            owned.memory.stack = owned.memory.stack.having(traversal="t2")

    async def batch() -> None:
        rtype: Any = ResourceGroup()
        ctx = attempt.context(rtype, Action.UPDATE, {})
        ended: Any = SimpleNamespace(status=Status.COMPLETE)
        await ChildStack(attempt)._regroup(rtype, ctx, ended)

    monkeypatch.setattr(child_stack, "read_members", read_members)
    monkeypatch.setattr(child_stack, "balance", balance)
    monkeypatch.setattr(ResourceGroup, "next_child", lambda self, ctx: Child("", {}))
    with pytest.raises(Stopped, match="a newer operation"):
        asyncio.run(batch())
    assert owned.memory.always.operate == []
