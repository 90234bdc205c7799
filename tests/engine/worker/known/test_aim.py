"""What an operation leaves in the cloud."""

import pytest

from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.store.rows import Options
from tests.engine.worker.owned import Owned, stack_row


@pytest.mark.parametrize(
    ("action", "policy", "stays"),
    [
        (Action.CREATE, "Delete", True),
        (Action.UPDATE, "Delete", True),
        (Action.DELETE, "Delete", False),  # the document of the stack does not have it
        (Action.DELETE, "Retain", True),
    ],
)
def test_an_abandon_leaves_all_but_what_was_being_deleted(action, policy, stays):
    record = Record(
        "r", "thing", "OS::Heat::None", 1, 0.0, action=action, status=Status.FAILED,
        physical_id="p", held=Held(deletion_policy=policy),
    )  # fmt: skip
    owned = Owned(stack_row(action=Action.DELETE, options=Options(abandon=True)), record)
    assert owned.owned.aim.retains(record) is stays
