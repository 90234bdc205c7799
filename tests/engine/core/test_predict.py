"""What is predicted for a record whose values are partly unknown."""

from msgspec.structs import replace

from hearth.engine.core.predict import (
    Expected,
    PlannedAction,
    Prediction,
    PreviewContext,
    RealState,
    Traits,
    limited,
    predict,
)
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.model.unknown import Unknown
from hearth.schema.prop import STRING, Prop

SCHEMA = {
    "u": Prop(STRING, update_allowed=True),
    "r": Prop(STRING),
    "m": Prop(STRING, immutable=True),
}
TRAITS = Traits("T", SCHEMA, lambda before, after, changed: None)
UNTIL_A = Unknown(frozenset({"a"}))


def record(**more: object) -> Record:
    held = Held(kind="T", properties={"u": "1", "r": "1", "m": "1"}, secret=("r",))
    more = {"action": Action.CREATE, "status": Status.COMPLETE, "held": held, **more}
    return Record("id", "x", "T", 1, 1.0, **more)


def told(traits: Traits = TRAITS, old: Record | None = None, **changed: object) -> Prediction:
    old = old or record()
    return predict(old, Expected({}, {**old.held.properties, **changed}), traits)


def test_known_values_are_decided_as_the_engine_decides_them():
    assert told().planned is PlannedAction.KEEP
    assert told(u="2").planned is PlannedAction.UPDATE
    assert told(r="2").planned is PlannedAction.REPLACE
    assert told(u="2", r="2", m="2").planned is PlannedAction.FAIL


def test_a_value_to_come_may_or_may_not_differ():
    assert told(u=UNTIL_A).planned is PlannedAction.MAY_UPDATE
    assert told(r=[UNTIL_A]).planned is PlannedAction.MAY_REPLACE
    assert told(u=UNTIL_A, r="2").planned is PlannedAction.REPLACE
    assert told(m=UNTIL_A, r="2").planned is PlannedAction.MAY_REPLACE
    assert told(u=UNTIL_A).awaits == {"a"}


def test_reasons_show_values_but_no_secrets_and_nothing_unknown():
    bodies = {r.of: r.as_json() for r in told(u=UNTIL_A, r="2").reasons}
    assert bodies["u"] == {"property": "u", "reason": "known only after a", "before": "1"}
    assert (bodies["r"]["before"], bodies["r"]["after"]) == ("******", "******")


def test_a_failed_one_is_replaced_unless_only_the_cloud_can_tell():
    failed = record(status=Status.FAILED)
    asked = Traits("T", SCHEMA, TRAITS.must_replace, replace_failed=None)
    assert told(old=failed).planned is PlannedAction.REPLACE
    assert told(asked, old=failed).planned is PlannedAction.MAY_REPLACE


def test_the_types_own_reason_counts_only_when_something_changed():
    own = Traits("T", SCHEMA, lambda before, after, changed: "always")
    assert told(own).planned is PlannedAction.KEEP
    assert told(own, u="2").planned is PlannedAction.REPLACE
    assert told(own, u=UNTIL_A).planned is PlannedAction.MAY_REPLACE


def test_what_is_restricted_fails():
    forbidden = PreviewContext(
        lambda d: TRAITS, lambda d: (), lambda d, v: v, lambda d, r, e: None,
        restricted=lambda name: ["update"],
    )  # fmt: skip
    assert limited(told(u="2"), "x", forbidden).planned is PlannedAction.FAIL
    assert limited(told(r="2"), "x", forbidden).planned is PlannedAction.REPLACE


def found(real: RealState, old: Record | None = None, **changed: object) -> Prediction:
    old = old or record()
    return predict(old, Expected({}, {**old.held.properties, **changed}), TRAITS, real=real)


def test_the_real_state_decides_where_the_engine_reads_it():
    assert found(RealState({"u": "1", "r": "1"})).planned is PlannedAction.KEEP
    drifted = found(RealState({"u": "9"}))
    assert drifted.planned is PlannedAction.UPDATE
    assert [r.as_json() for r in drifted.reasons] == [
        {"property": "u", "reason": "changed in the cloud", "before": "9", "after": "1"}
    ]
    assert found(RealState({"u": "9"}), u="9").planned is PlannedAction.KEEP
    gone = found(RealState(None), u="2")
    assert gone.planned is PlannedAction.REPLACE
    assert [r.text for r in gone.reasons] == ["its object no longer exists"]


def test_what_cannot_be_changed_in_place_is_left_as_it_is_in_the_cloud():
    left = found(RealState({"u": "1", "r": "9", "m": "9"}))
    assert left.planned is PlannedAction.KEEP
    assert [(r.of, r.values) for r in left.reasons] == [("m", None), ("r", None)]
    assert found(RealState({"r": "9"}), r="2").planned is PlannedAction.REPLACE


def test_what_only_grows_is_left_when_it_has_grown():
    sized = Traits("T", {"size": Prop(STRING, update_allowed=True)}, TRAITS.must_replace)
    sized = replace(sized, only_grow=("size",))
    old = record(held=Held(kind="T", properties={"size": 2}))
    for real, planned in ((3, PlannedAction.KEEP), (1, PlannedAction.UPDATE)):
        expected = Expected({}, {"size": 2})
        told_now = predict(old, expected, sized, real=RealState({"size": real}))
        assert told_now.planned is planned


def test_only_what_could_not_be_read_is_uncertain():
    unread = RealState(unread="no answer")
    for certain in ({}, {"u": "2"}, {"u": UNTIL_A}, {"m": "2"}):
        told_why = found(unread, **certain)
        assert told_why.planned is PlannedAction.MAY_REPLACE
        assert told_why.reasons[0].text == "its real state decides, and is not known: no answer"
    assert found(unread, r="2").planned is PlannedAction.REPLACE
    assert found(RealState(), u="2").planned is PlannedAction.UPDATE


def test_a_suspended_one_is_woken_first_but_an_unhealthy_one_is_replaced():
    held = Held(kind="T", properties={"u": "1", "r": "1", "m": "1"}, asleep=True)
    well = record(action=Action.CHECK, held=held)
    assert told(old=well).planned is PlannedAction.MAY_REPLACE
    assert told(old=record(action=Action.SUSPEND)).planned is PlannedAction.MAY_REPLACE
    unwell = well.having(status=Status.FAILED)
    assert told(old=unwell).planned is PlannedAction.REPLACE
