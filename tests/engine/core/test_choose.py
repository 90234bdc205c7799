"""Which record stands for a name."""

from hearth.engine.core.choose import choose
from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status


def record(id_: str, since: int, until: int | None = None, **more: object) -> Record:
    held = Held(definition=str(more.pop("definition", "d1")))
    more = {"action": Action.CREATE, "status": Status.COMPLETE, **more}
    return Record(id_, "a", "T", since, float(since), until=until, held=held, **more)


def chosen(
    *candidates: Record,
    fingerprint: str = "d9",
    back_to: int | None = None,
    before: int = 2,
    now: int | None = None,
):
    found = choose(candidates, fingerprint=fingerprint, back_to=back_to, before=before, now=now)
    return found and found.id


def test_the_one_in_charge_wins_over_a_replaced_one():
    assert chosen(record("old", 1, 2, replaced_by="new"), record("new", 2)) == "new"


def test_a_rollback_takes_the_one_that_was_in_charge_then():
    old, new = record("old", 1, 2, replaced_by="new"), record("new", 2)
    assert chosen(old, new, back_to=1) == "old"


def test_a_return_by_hand_to_equal_values_takes_the_good_old_one():
    old = record("old", 1, 2, replaced_by="new", definition="d1")
    new = record("new", 2, definition="d2", status=Status.IN_PROGRESS)
    assert chosen(old, new, fingerprint="d1") == "old"


def test_a_failed_replacement_loses_to_the_good_older_one():
    old = record("old", 1, 2, replaced_by="new")
    assert chosen(old, record("new", 2, status=Status.FAILED)) == "old"


def test_what_is_being_deleted_never_comes_back():
    assert chosen(record("going", 1, action=Action.DELETE, status=Status.IN_PROGRESS)) is None


def test_among_equals_the_one_changed_last_wins():
    assert chosen(record("a", 1, updated_at=5.0), record("b", 1, updated_at=9.0)) == "b"


def test_what_this_operation_has_begun_goes_on_after_a_take_over():
    old, new = record("old", 1, 2, replaced_by="new"), record("new", 2, status=Status.IN_PROGRESS)
    assert chosen(old, new, before=1, now=2) == "new"
    assert chosen(old, new, before=1, now=3) == "old"
    assert chosen(old, record("new", 2, status=Status.FAILED), before=1, now=2) == "old"


def test_a_replacement_of_the_same_definition_goes_on_after_a_take_over_too():
    """Found by simulation seed 26: each take-over of a restore replaced it once more."""
    old = record("old", 1, 2, replaced_by="new", definition="d9")
    assert chosen(old, record("new", 2), before=1, now=2) == "new"
    assert chosen(old, record("new", 2), before=1, now=3) == "old"
