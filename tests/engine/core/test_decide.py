"""What happens to a record whose values are known."""

import pytest

from hearth.engine.core.decide import Decision, Desired, Verdict, decide, differing, provably_kept
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.schema.prop import STRING, Prop

SCHEMA = {
    "u": Prop(STRING, update_allowed=True),
    "r": Prop(STRING),
    "m": Prop(STRING, immutable=True),
}


def record(action: Action = Action.CREATE, status: Status = Status.COMPLETE, **held) -> Record:
    values = {"kind": "T", "properties": {"u": "1", "r": "1"}, **held}
    return Record("id", "a", "T", 1, 1.0, action=action, status=status, held=Held(**values))


def decided(before: Record, *, kind: str = "T", parts=None, must=None, **more) -> Decision:
    properties = {"u": "1", "r": "1", **more.pop("properties", {})}
    desired = Desired("d", kind, parts or {}, properties, properties, (), {}, "Delete", frozenset())
    return decide(
        before, desired, SCHEMA,
        replace_failed=more.pop("replace_failed", True), must_replace=lambda *_: must, **more,
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
        (record(status=Status.FAILED), {"replace_failed": False}, Verdict.KEEP),
        (record(Action.CHECK, Status.FAILED), {"replace_failed": False}, Verdict.REPLACE),
        (record(Action.DELETE, Status.FAILED), {}, Verdict.REPLACE),
    ],
)
def test_a_record_is_made_changed_replaced_or_left_alone(before, more, verdict):
    assert decided(before, **more).verdict is verdict


def test_what_an_update_that_failed_may_have_written_is_written_again():
    failed = record(Action.UPDATE, Status.FAILED, attempted={"u": "2", "r": "1"})
    decision = decided(failed, replace_failed=False)
    assert (decision.verdict, decision.changed) == (Verdict.UPDATE, {"u"})
    checked = record(Action.CHECK, attempted={"u": "2", "r": "1"}, definition="d")
    assert not provably_kept(checked, "d")
    assert decided(checked, properties={"u": "2"}).changed == {"u"}


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
    half = record(Action.CHECK, Status.FAILED, parts=parts)
    assert decided(half, parts=parts).verdict is Verdict.CREATE
    assert decided(record(parts=parts, reference="x1"), parts=parts).verdict is Verdict.KEEP


def test_one_that_is_asleep_under_another_state_does_not_stay_without_its_node():
    assert provably_kept(record(Action.CHECK, definition="d"), "d")
    assert not provably_kept(record(Action.CHECK, definition="d", asleep=True), "d")
