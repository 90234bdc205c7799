"""How an operation ends is decided once, and written with everything that follows from it."""

import pytest

from hearth.model.state import Action, Status
from hearth.store.rows import Revision
from tests.engine.worker.owned import Owned, record, stack_row


def ending_of(**stack):
    owned = Owned(stack_row(**stack), record("a"))
    return owned, owned.operation.ending


def test_a_good_end():
    owned, ending = ending_of(takeovers=2)
    ending.complete()
    row = owned.memory.if_current.stack
    assert (row.state, row.reason) == ("CREATE_COMPLETE", "Stack CREATE completed successfully")
    assert row.takeovers == 0
    assert owned.events() == ["web CREATE_COMPLETE"]
    assert owned.operation.aim.over


def test_a_deleted_stack_gives_its_name_and_its_credential_back():
    owned, ending = ending_of(action=Action.DELETE, credential_id="c")
    ending.complete()
    row = owned.memory.if_current.stack
    assert (row.live_name, row.deleted_at) == (None, owned.clock.time)
    assert owned.memory.if_current.drop_credential == "c"


def test_the_first_failure_counts():
    owned, ending = ending_of()
    ending.fail("the first")
    ending.fail("the second")
    assert owned.memory.if_current.stack.reason == "the first"
    assert owned.events() == ["web CREATE_FAILED"]
    assert not owned.host.replanned


def test_a_rollback_has_as_much_time_as_the_operation_had():
    for started, deadline, mins, expected in ((10.0, 95.0, None, 85.0), (10.0, None, 7, 420.0)):
        owned, ending = ending_of(
            action=Action.UPDATE, revision=3, previous_revision=2, disable_rollback=False,
            started_at=started, deadline=deadline, timeout_mins=mins,
        )  # fmt: skip
        ending.fail("no")
        assert owned.memory.if_current.stack.deadline == owned.clock.time + expected


def test_a_failure_and_the_start_of_the_rollback_are_one_change():
    owned, ending = ending_of(
        action=Action.UPDATE, revision=3, previous_revision=2, disable_rollback=False
    )
    ending.fail("Resource UPDATE failed: no")
    changes = owned.memory.if_current
    assert changes.copy_revision == (2, 4)
    row = changes.stack
    assert (row.state, row.revision, row.previous_revision) == ("ROLLBACK_IN_PROGRESS", 4, 2)
    assert row.traversal != "t1"
    assert row.first_failure == "Resource UPDATE failed: no"
    assert [(e.action, e.status) for e in changes.events] == [
        ("UPDATE", "FAILED"),
        ("ROLLBACK", "IN_PROGRESS"),
    ]
    assert owned.host.replanned


def test_a_create_is_rolled_back_to_nothing():
    owned, ending = ending_of(disable_rollback=False)
    ending.fail("no")
    assert owned.memory.if_current.copy_revision is None
    assert owned.memory.stack.previous_revision == 0


@pytest.mark.parametrize("action", [Action.DELETE, Action.CHECK, Action.SUSPEND, Action.SNAPSHOT])
def test_what_has_no_way_back_is_not_rolled_back(action):
    owned, ending = ending_of(action=action, disable_rollback=False)
    ending.fail("no")
    assert owned.memory.stack.state == f"{action}_FAILED"
    assert not owned.host.replanned


def test_a_rollback_says_why_it_was_needed():
    owned, ending = ending_of(action=Action.ROLLBACK, first_failure="r: no")
    ending.complete()
    assert owned.memory.stack.reason.endswith(". It was rolled back because of: r: no")
    assert owned.memory.if_current.events[0].reason == "Stack ROLLBACK completed successfully"


def test_a_cancelled_operation_has_a_traversal_that_nobody_works_for():
    owned, ending = ending_of(action=Action.UPDATE)
    ending.cancel(rollback=False)
    row = owned.memory.if_current.stack
    assert (row.state, row.reason) == ("UPDATE_FAILED", "Stack UPDATE cancelled")
    assert row.traversal != "t1"


def test_a_cancel_that_rolls_back_ignores_that_rollback_is_disabled():
    owned, ending = ending_of(action=Action.UPDATE, revision=2, previous_revision=1)
    ending.cancel(rollback=True)
    assert owned.memory.stack.state == "ROLLBACK_IN_PROGRESS"


def test_a_cancel_meant_for_an_older_operation_does_nothing():
    owned, _ = ending_of(action=Action.UPDATE)
    owned.operation.cancel(rollback=False, traversal="t0")
    assert owned.memory.if_current.stack is None


def test_hidden_values_are_masked_in_the_reason_and_in_what_the_parent_is_sent():
    revision = Revision(
        "heat_template_version: 2018-08-31\n", facade={"hidden": ["s3cret"], "secret": True}
    )
    owned = Owned(stack_row(parent_id="p", root_id="p"), revision=revision)
    owned.operation.ending.fail("s3cret is too short", first="s3cret")
    assert owned.memory.stack.reason == "****** is too short"
    message = owned.memory.if_current.messages[0]
    assert message.stack_id == "p"
    assert "s3cret" not in str(message.content)


def test_the_state_of_a_snapshot_ends_with_the_operation():
    for end, status in (("complete", Status.COMPLETE), ("fail", Status.FAILED)):
        owned, ending = ending_of(action=Action.SNAPSHOT)
        getattr(ending, end)("")
        assert owned.memory.if_current.snapshot[0] is status
