"""What happens to a record whose values are known."""

import pytest

from hearth.engine.core.decide import (
    Decision,
    Desired,
    Verdict,
    as_found,
    decide,
    differing,
    must_examine,
    never_made,
    provably_kept,
    to_write,
    was_made,
)
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.schema.prop import STRING, Prop

SCHEMA = {
    "u": Prop(STRING, update_allowed=True),
    "r": Prop(STRING),
    "m": Prop(STRING, immutable=True),
}


def record(action: Action = Action.CREATE, status: Status = Status.COMPLETE, **held) -> Record:
    values = {"kind": "T", "properties": {"u": "1", "r": "1"}, "reference": "x1", **held}
    return Record("id", "a", "T", 1, 1.0, action=action, status=status, held=Held(**values))


def decided(before: Record, *, kind: str = "T", parts=None, must=None, **more) -> Decision:
    properties = {"u": "1", "r": "1", **more.pop("properties", {})}
    desired = Desired("d", kind, parts or {}, properties, properties, (), {}, "Delete", frozenset())
    return decide(
        before, desired, SCHEMA,
        lost=more.pop("lost", True), must_replace=lambda *_: must, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "more", "verdict"),
    [
        (record(Action.INIT), {}, Verdict.CREATE),
        (record(), {}, Verdict.KEEP),
        (record(), {"properties": {"u": "2"}}, Verdict.UPDATE),
        (record(), {"properties": {"r": "2"}}, Verdict.REPLACE),
        (record(), {"properties": {"m": "2"}}, Verdict.FAIL),
        (record(), {"kind": "Other"}, Verdict.REPLACE),
        (record(), {"parts": {"deletion_policy": "Retain"}}, Verdict.UPDATE),
        (record(), {"nested": True}, Verdict.UPDATE),
        (record(), {"always": True}, Verdict.REPLACE),
        (record(), {"properties": {"u": "2"}, "must": "because"}, Verdict.REPLACE),
        (record(status=Status.FAILED), {}, Verdict.REPLACE),
        (record(status=Status.FAILED), {"lost": False}, Verdict.KEEP),
        (record(Action.CHECK, Status.FAILED), {"lost": False}, Verdict.REPLACE),
        (record(Action.DELETE, Status.FAILED), {}, Verdict.REPLACE),
    ],
)
def test_a_record_is_made_changed_replaced_or_left_alone(before, more, verdict):
    assert decided(before, **more).verdict is verdict


def test_what_an_update_that_failed_may_have_written_is_written_again():
    failed = record(Action.UPDATE, Status.FAILED, attempted={"u": "2", "r": "1"})
    decision = decided(failed, lost=False)
    assert (decision.verdict, decision.changes) == (Verdict.UPDATE, {"u"})
    checked = record(Action.CHECK, attempted={"u": "2", "r": "1"}, definition="d")
    assert not provably_kept(checked, "d")
    assert decided(checked, properties={"u": "2"}).changes == {"u"}


def test_only_an_update_that_the_cloud_refused_needs_no_look_at_the_object():
    tried = {"u": "2", "r": "1"}
    assert must_examine(record(Action.UPDATE, Status.FAILED, attempted=tried))
    assert must_examine(record(Action.RESUME, Status.FAILED))
    assert not must_examine(record(Action.UPDATE, Status.FAILED))
    assert not must_examine(record(Action.CREATE, Status.FAILED))
    assert never_made(record(Action.UPDATE, Status.FAILED, reference=None))
    assert not must_examine(record(Action.UPDATE, attempted=tried))


@pytest.mark.parametrize(
    ("real", "desired", "changed"),
    [
        ({}, "1", {"u"}),  # it cannot be read: whatever may differ is written
        ({}, "2", {"u"}),
        ({"u": "1"}, "1", set()),  # the update changed nothing: going back needs no call
        ({"u": "1"}, "2", {"u"}),
        ({"u": "2"}, "2", set()),  # the update went through
        ({"u": "2"}, "1", {"u"}),
        ({"u": "3"}, "2", {"u"}),
    ],
)
def test_after_a_failed_update_the_real_values_are_compared(real, desired, changed):
    failed = record(Action.UPDATE, Status.FAILED, attempted={"u": "2", "r": "1"})
    goal = {"u": desired, "r": "1"}
    assert to_write(as_found(failed, real, goal, ()).held, goal) == changed


def test_a_value_that_no_update_can_lower_stays():
    failed = record(Action.UPDATE, Status.FAILED, properties={"u": 2}, attempted={"u": 3})
    cases = [
        (3, 2, set()),
        (3, 3, set()),
        (3, 4, {"u"}),
        (2, 3, {"u"}),
        (3, 1, {"u"}),
        (2, 1, {"u"}),
    ]
    for real, size, changed in cases:
        goal = {"u": size}
        assert to_write(as_found(failed, {"u": real}, goal, {"u"}).held, goal) == changed


def test_only_a_replacement_found_in_the_changed_properties_is_late():
    assert decided(record(), properties={"r": "2"}).late
    assert not decided(record(status=Status.FAILED)).late


def test_the_reason_names_the_properties():
    assert "r" in decided(record(), properties={"r": "2"}).reason
    assert "properties m of a" in decided(record(), properties={"m": "2"}).reason


def test_a_value_that_is_not_there_is_null():
    assert differing({"a": None}, {}) == frozenset()
    assert differing({"a": 1}, {"b": 2}) == {"a", "b"}


def test_what_is_not_our_own_is_taken_in_also_after_a_check_that_came_too_early():
    unborn = record(Action.CHECK, Status.FAILED, kind="", properties={})
    assert decided(unborn, parts={"external_id": "x1"}).verdict is Verdict.CREATE


def test_what_is_not_our_own_is_taken_in_again_until_its_first_check_succeeds():
    """Found by simulation seed 56: it stayed unknown for ever to all that refer to it."""
    parts = {"external_id": "x1"}
    half = record(Action.CHECK, Status.FAILED, parts=parts, reference=None)
    assert decided(half, parts=parts).verdict is Verdict.CREATE
    assert decided(record(parts=parts, reference="x1"), parts=parts).verdict is Verdict.KEEP


def test_one_that_is_asleep_under_another_state_does_not_stay_without_its_node():
    assert provably_kept(record(Action.CHECK, definition="d"), "d")
    assert not provably_kept(record(Action.CHECK, definition="d", asleep=True), "d")


@pytest.mark.parametrize(
    ("action", "status", "reference", "made"),
    [
        (Action.INIT, Status.COMPLETE, None, False),
        (Action.CREATE, Status.IN_PROGRESS, None, False),
        (Action.CREATE, Status.FAILED, "r", False),
        (Action.CREATE, Status.COMPLETE, "r", True),
        (Action.UPDATE, Status.FAILED, "r", True),
        (Action.UPDATE, Status.FAILED, None, False),
    ],
)
def test_what_was_made_is_told_also_right_after_its_create(
    action: Action, status: Status, reference: str | None, made: bool
) -> None:
    assert was_made(record(action, status, reference=reference)) is made
