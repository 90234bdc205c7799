"""Memory is ahead of the rows by what is put, and goes back when a commit is refused."""

import pytest

from hearth.model.state import Action, Status
from hearth.store.claim import Loaded, Orphan
from hearth.store.commit import Changes
from tests.engine.worker.owned import Owned, record, stack_row

BEGUN = {"action": Action.UPDATE, "status": Status.IN_PROGRESS, "reason": "state changed"}


@pytest.fixture
def memory():
    return Owned(stack_row(), record("a"), record("b")).memory


def test_what_is_put_is_seen_at_once_and_written_with_the_next_commit(memory):
    after = record("a", **BEGUN)
    memory.put(after)
    assert memory.records["a-1"] is after
    traversal, always, if_current = memory.take()
    assert (traversal, always.state, bool(if_current)) == ("t1", {"a-1": after}, False)
    assert not memory.always


def test_a_refused_commit_takes_back_what_it_had_only_if_current(memory):
    memory.put(record("a", **BEGUN), if_current=True)
    memory.drop(record("b"), if_current=True)
    memory.add(record("c"))
    memory.take()
    memory.refused()
    assert {one.name: one.state for one in memory.records.values()} == {
        "a": "CREATE_COMPLETE",
        "b": "CREATE_COMPLETE",
    }


def test_a_refused_commit_takes_back_what_was_put_while_it_was_under_way(memory):
    memory.put(record("a", **BEGUN), if_current=True)
    memory.take()
    memory.put(record("a", **(BEGUN | {"status": Status.COMPLETE})), if_current=True)
    memory.put(record("b", **BEGUN), if_current=True)
    memory.refused()
    assert [one.state for one in memory.records.values()] == ["CREATE_COMPLETE"] * 2
    assert not memory.if_current


def test_what_is_certain_is_not_taken_back(memory):
    """A node ended while the intent of the next one was under way."""
    memory.put(record("a", **BEGUN), if_current=True)
    memory.take()
    ended = record("a", physical_id="new", **(BEGUN | {"status": Status.COMPLETE}))
    memory.put(ended)
    memory.drop(record("b"))
    memory.refused()
    assert memory.records == {"a-1": ended}
    assert memory.always.delete == ["b-1"]


def test_what_is_certain_holds_all_that_was_to_be_written_if_current(memory):
    moved = record("a", requires=frozenset({"b-1"}))
    memory.put(moved, full=True, if_current=True)
    memory.put(moved.having(**BEGUN))
    assert memory.always.full.keys() == {"a-1"}
    assert not memory.if_current


def test_a_new_record_that_is_dropped_leaves_nothing_to_write(memory):
    memory.add(record("c"))
    memory.drop(record("c"), if_current=True)
    assert not memory.if_current


def test_data_is_merged_wherever_it_is_noted(memory):
    assert memory.note_data("a-1", {"key": "1", "old": "x"}) == {"key": "1", "old": "x"}
    assert memory.note_data("a-1", {"old": None, "more": "2"}) == {"key": "1", "more": "2"}
    assert memory.data["a-1"] == {"key": "1", "more": "2"}
    assert memory.always.data["a-1"] == {"key": "1", "old": None, "more": "2"}


def test_rows_read_anew_do_not_undo_what_is_not_written_yet(memory):
    memory.note_data("a-1", {"key": "mine"})
    memory.note_metadata("a-1", {"m": 1})
    memory.note_user_project("users")
    rows = {"a-1": {"key": "row", "signal": "5"}}
    stack = stack_row(traversal="t2", owner=None)
    memory.reload(Loaded(stack, None, [], rows, {"a-1": {}}, [], [], None, []), owner="e", epoch=7)
    assert memory.data["a-1"] == {"key": "mine", "signal": "5"}
    assert memory.metadata["a-1"] == {"m": 1}
    assert (memory.stack.user_project_id, memory.stack.owner, memory.stack.epoch) == (
        "users",
        "e",
        7,
    )
    assert memory.traversal_in_row == "t2"


def test_the_traversal_of_the_row_moves_with_the_commit_that_writes_it(memory):
    memory.set_stack(memory.stack.having(traversal="t2"))
    assert memory.take()[0] == "t1"
    assert memory.take()[0] == "t2"


def test_reasons_and_events_show_no_hidden_value(memory):
    memory.mask = lambda reason: reason.replace("s3cret", "******")
    held = record("a").held.having(properties={"value": "s3cret", "n": 1}, secret=("value",))
    memory.put(record("a", held=held, reason="s3cret was refused"))
    memory.event(memory.records["a-1"], Status.FAILED, "s3cret was refused")
    assert memory.records["a-1"].reason == "****** was refused"
    event = memory.always.events[0]
    assert (event.reason, event.properties["n"]) == ("****** was refused", 1)
    assert "s3cret" not in str(event.properties)
    memory.all_hidden = True
    memory.event(memory.records["a-1"], Status.COMPLETE)
    assert set(memory.always.events[1].properties) == {"value", "n"}
    assert memory.always.events[1].properties["n"] != 1


def test_an_orphan_is_noted_and_forgotten_once(memory):
    orphan = Orphan("s", "a-1", "OS::Nova::Server", 0.0, {})
    memory.note_orphan(orphan)
    memory.forget_orphan(orphan)
    memory.forget_orphan(orphan)
    assert memory.orphans == []
    assert (memory.always.orphans, memory.always.orphans_gone) == ([orphan], ["s"])


def test_nothing_put_is_nothing_to_write(memory):
    assert memory.take() == ("t1", Changes(), Changes())
