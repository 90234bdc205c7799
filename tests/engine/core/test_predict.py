"""What is predicted for a record whose values are partly unknown."""

from hearth.engine.core.predict import (
    Expected,
    PlannedAction,
    Prediction,
    PreviewContext,
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


def test_what_is_restricted_fails_and_what_is_observed_is_not_certain():
    def preview(**more: object) -> PreviewContext:
        return PreviewContext(
            lambda d: TRAITS, lambda d: (), lambda d, v: v, lambda d, r, e: None, **more
        )

    forbidden = preview(restricted=lambda name: ["update"])
    assert limited(told(u="2"), "x", forbidden).planned is PlannedAction.FAIL
    assert limited(told(r="2"), "x", forbidden).planned is PlannedAction.REPLACE
    assert limited(told(), "x", preview(observe=True)).planned is PlannedAction.MAY_REPLACE


def test_a_suspended_one_is_woken_first_but_an_unhealthy_one_is_replaced():
    held = Held(kind="T", properties={"u": "1", "r": "1", "m": "1"}, asleep=True)
    well = record(action=Action.CHECK, held=held)
    assert told(old=well).planned is PlannedAction.MAY_REPLACE
    assert told(old=record(action=Action.SUSPEND)).planned is PlannedAction.MAY_REPLACE
    unwell = well.having(status=Status.FAILED)
    assert told(old=unwell).planned is PlannedAction.REPLACE
