"""A resource that is asleep stays so whatever state is written over it."""

import pytest

from hearth.engine.core.record import Held, Record
from hearth.engine.core.walk import (
    WalkVerdict,
    asleep,
    kept_asleep,
    said_by_state,
    unhealthy,
    verdict,
)
from hearth.model.state import Action, Status

C, F = Status.COMPLETE, Status.FAILED


def record(action: Action, status: Status = C, *, noted: bool = False) -> Record:
    held = Held(kind="T", reference="it", asleep=noted)
    return Record("id", "a", "T", 1, 1.0, action, status, physical_id="it", held=held)


@pytest.mark.parametrize(
    ("before", "sleeps"),
    [
        (record(Action.SUSPEND), True),
        (record(Action.SUSPEND, F), True),
        (record(Action.RESUME, F), True),
        (record(Action.RESUME), False),
        (record(Action.CHECK, F), False),
        (record(Action.CHECK, F, noted=True), True),
        (record(Action.CHECK, noted=True), True),
        (record(Action.UPDATE, F, noted=True), True),
        (record(Action.DELETE, F, noted=True), False),
    ],
)
def test_the_state_or_the_note_tells_whether_it_is_asleep(before, sleeps):
    assert asleep(before) is sleeps


def test_a_later_state_does_not_hide_that_it_is_asleep():
    hidden = kept_asleep(record(Action.SUSPEND)).having(action=Action.CHECK, status=F)
    assert asleep(hidden)
    assert unhealthy(hidden)
    assert kept_asleep(hidden) is hidden
    again = said_by_state(hidden).having(action=Action.RESUME, status=C)
    assert not asleep(again)


def test_nothing_is_noted_of_one_that_is_awake():
    awake = record(Action.RESUME)
    assert kept_asleep(awake) is awake
    assert said_by_state(awake) is awake


@pytest.mark.parametrize("status", [C, F])
@pytest.mark.parametrize("before", [Action.CHECK, Action.UPDATE])
@pytest.mark.parametrize(
    ("action", "done"),
    [
        (Action.CHECK, WalkVerdict.LEAVE),
        (Action.SNAPSHOT, WalkVerdict.LEAVE),
        (Action.RESUME, WalkVerdict.CARRY_OUT),
        (Action.SUSPEND, WalkVerdict.CARRY_OUT),
    ],
)
def test_only_a_resume_or_a_suspend_reaches_it(before, status, action, done):
    assert verdict(record(before, status, noted=True), action, handled=True) is done


def test_without_the_note_the_same_states_are_awake():
    unwell = record(Action.CHECK, F)
    assert verdict(unwell, Action.RESUME, handled=True) is WalkVerdict.LEAVE
    assert verdict(unwell, Action.CHECK, handled=True) is WalkVerdict.CARRY_OUT
    assert verdict(unwell, Action.SUSPEND, handled=True) is WalkVerdict.REFUSE


def test_one_that_is_being_deleted_is_not_woken():
    leaving = record(Action.DELETE, F, noted=True)
    assert verdict(leaving, Action.RESUME, handled=True) is WalkVerdict.LEAVE
