"""What is foreseen of a record whose values are partly unknown."""

from hearth.engine.core.foresee import Expected, Foreseen, Outlook, Sight, Traits, foresee, limited
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


def told(traits: Traits = TRAITS, old: Record | None = None, **changed: object) -> Outlook:
    old = old or record()
    return foresee(old, Expected({}, {**old.held.properties, **changed}), traits)


def test_known_values_are_decided_as_the_engine_decides_them():
    assert told().foreseen is Foreseen.KEEP
    assert told(u="2").foreseen is Foreseen.UPDATE
    assert told(r="2").foreseen is Foreseen.REPLACE
    assert told(u="2", r="2", m="2").foreseen is Foreseen.FAIL


def test_a_value_to_come_may_or_may_not_differ():
    assert told(u=UNTIL_A).foreseen is Foreseen.MAY_UPDATE
    assert told(r=[UNTIL_A]).foreseen is Foreseen.MAY_REPLACE
    assert told(u=UNTIL_A, r="2").foreseen is Foreseen.REPLACE
    assert told(m=UNTIL_A, r="2").foreseen is Foreseen.MAY_REPLACE
    assert told(u=UNTIL_A).awaits == {"a"}


def test_reasons_show_values_but_no_secrets_and_nothing_unknown():
    bodies = {r.of: r.as_json() for r in told(u=UNTIL_A, r="2").reasons}
    assert bodies["u"] == {"property": "u", "reason": "known only after a", "before": "1"}
    assert (bodies["r"]["before"], bodies["r"]["after"]) == ("******", "******")


def test_a_failed_one_is_replaced_unless_only_the_cloud_can_tell():
    failed = record(status=Status.FAILED)
    asked = Traits("T", SCHEMA, TRAITS.must_replace, replace_failed=None)
    assert told(old=failed).foreseen is Foreseen.REPLACE
    assert told(asked, old=failed).foreseen is Foreseen.MAY_REPLACE


def test_the_types_own_reason_counts_only_when_something_changed():
    own = Traits("T", SCHEMA, lambda before, after, changed: "always")
    assert told(own).foreseen is Foreseen.KEEP
    assert told(own, u="2").foreseen is Foreseen.REPLACE
    assert told(own, u=UNTIL_A).foreseen is Foreseen.MAY_REPLACE


def test_what_is_restricted_fails_and_what_is_observed_is_not_certain():
    def sight(**more: object) -> Sight:
        return Sight(lambda d: TRAITS, lambda d: (), lambda d, v: v, lambda d, r, e: None, **more)

    forbidden = sight(restricted=lambda name: ["update"])
    assert limited(told(u="2"), "x", forbidden).foreseen is Foreseen.FAIL
    assert limited(told(r="2"), "x", forbidden).foreseen is Foreseen.REPLACE
    assert limited(told(), "x", sight(observe=True)).foreseen is Foreseen.MAY_REPLACE
