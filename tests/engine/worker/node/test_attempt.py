"""An attempt begins only as long as its operation goes on."""

import asyncio

import pytest

from hearth.engine.core.graph import NodeKind
from hearth.engine.worker.failure import Superseded
from hearth.engine.worker.known.desired import unchanged
from hearth.engine.worker.node.attempt import Attempt
from hearth.model.state import Action
from hearth.resources.heat.template_resource import TemplateResource
from tests.engine.worker.owned import Owned, record, stack_row


@pytest.mark.parametrize("over", [True, False])
def test_an_attempt_whose_preparation_took_too_long_does_not_begin(over: bool):
    """As that of a nested stack does, which reads the members of a group."""
    owned = Owned(stack_row(action=Action.UPDATE), one := record("a"))
    owned.owned.aim.over = over
    traversal = "t1" if over else "t0"  # then a newer operation has begun
    attempt = Attempt(owned.owned, one, NodeKind.UPDATE, traversal, lambda old, new: None)
    rtype = TemplateResource()
    ctx = attempt.context(rtype, Action.UPDATE, {})
    with pytest.raises(Superseded):
        asyncio.run(attempt.begin(Action.UPDATE, rtype, unchanged(one), 0, ctx))
    assert owned.events() == []
    assert owned.memory.records[one.id] == one
