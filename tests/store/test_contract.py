"""One contract on all three databases: sealing, operations, claims, and commits under an epoch."""

import asyncio
import itertools
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from hearth.engine.core.record import Held, Record
from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.store import accept, claim, events, idle, reads, tables, texts
from hearth.store.clusters import clusters
from hearth.store.clusters.tables import cluster_event
from hearth.store.commit import Changes, CommitPart, Fate, commit
from hearth.store.config import StoreConfig
from hearth.store.credentials import Requester
from hearth.store.database import Store, Tx
from hearth.store.engines import drain, held_on
from hearth.store.messages import Signalled
from hearth.store.migrate import upgrade
from hearth.store.prepared import Prepared
from hearth.store.rows import COLUMNS, AttemptRow, Event, Revision, record_of, stack_row
from hearth.store.seal import sealer_from_secret
from tests.conftest import drop_database, fresh_database

STILL_S = 3.0
NO_ENGINE = Prepared(tables.engine.delete().where(tables.engine.c.id == sa.bindparam("b_id")))


def new_id() -> str:
    return str(uuid.uuid4())


def test_a_stack_is_read_column_by_column() -> None:
    assert [column.key for column in tables.stack.c] == list(COLUMNS)


def new_stack(name: str = "web", **more: object) -> accept.NewStack:
    revision = Revision(
        "heat_template_version: 2018-08-31", {"a.sh": "echo hällo ☃"}, {}, {"p": "s3cret"}
    )
    return accept.NewStack(new_id(), "project", name, revision, **more)


def made(store: Store, name: str = "web", **more: object) -> str:
    new = new_stack(name, **more)
    store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))
    return new.id


def an_engine(store: Store) -> str:
    engine_id = new_id()
    store.transact(lambda tx: claim.announce(tx, engine_id, "host", 1))
    return engine_id


def claimed(store: Store, engine_id: str) -> list[claim.Claim]:
    return store.transact(lambda tx: claim.claim(tx, engine_id, 10).stacks)


def part(
    store: Store, engine_id: str, one: claim.Claim, always=None, if_current=None
) -> CommitPart:
    row = loaded(store, one.stack_id).stack
    return CommitPart(
        one.stack_id, engine_id, one.epoch, row.traversal, always or Changes(),
        if_current or Changes(), time.time(),
    )  # fmt: skip


def written(store: Store, one: CommitPart) -> Fate:
    return store.transact(lambda tx: commit(tx, [one], new_id))[one.stack_id]


def loaded(store: Store, stack_id: str) -> claim.Loaded:
    found = store.transact(lambda tx: claim.load(tx, stack_id), write=False)
    assert found is not None
    return found


def event(stack_id: str, name: str) -> Event:
    return Event(
        new_id(), stack_id, stack_id, 1.5, name, "T", None, "CREATE", "COMPLETE", "ok", {"x": 1}
    )


def test_a_stack_and_its_revision_come_back_as_they_were_given(store: Store) -> None:
    stack_id = made(store, timeout_mins=5, tags=("a", "b"))
    found = loaded(store, stack_id)
    assert found.stack.state == "CREATE_IN_PROGRESS"
    assert found.stack.tags == "a,b"
    assert found.revision.files == {"a.sh": "echo hällo ☃"}
    assert found.revision.parameters == {"p": "s3cret"}


def test_no_user_value_lies_open_in_any_row(store: Store) -> None:
    made(store, credential=(new_id(), Requester(token="s3cret-token")))

    def everything(tx) -> bytes:
        rows = itertools.chain.from_iterable(
            tx.rows(sa.select(table)) for table in tables.metadata.sorted_tables
        )
        return repr([tuple(row) for row in rows]).encode()

    dump = store.transact(everything, write=False)
    for secret in (b"s3cret", b"heat_template_version", b"echo h"):
        assert secret not in dump


def test_an_error_of_the_database_does_not_tell_values(store: Store) -> None:
    one = sa.text("INSERT INTO engine (id, nothing) VALUES (:id, :nothing)")
    with pytest.raises(sa.exc.DBAPIError) as error:
        store.transact(lambda tx: tx.execute(one, {"id": "a", "nothing": "s3cret"}))
    assert "s3cret" not in str(error.value)


def test_two_live_stacks_cannot_share_a_name_and_a_deleted_one_frees_it(store: Store) -> None:
    stack_id = made(store)
    with pytest.raises(Rejected) as refused:
        made(store)
    assert refused.value.problems[0].kind == "StackExists"
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    row = loaded(store, stack_id).stack
    gone = row.having(deleted_at=1.0, live_name=None)
    assert written(store, part(store, engine_id, one, Changes(stack=gone))) is Fate.DONE
    made(store)


def test_equal_texts_are_stored_once(store: Store) -> None:
    made(store, "one")
    made(store, "two")
    count = store.transact(
        lambda tx: tx.execute(sa.select(sa.func.count(tables.blob.c.hash))).scalar()
    )
    assert count == 2


def test_a_stack_is_claimed_by_one_engine_only(store: Store) -> None:
    stack_id = made(store)
    first, second = an_engine(store), an_engine(store)
    assert [c.stack_id for c in claimed(store, first)] == [stack_id]
    assert claimed(store, second) == []


def test_an_engine_may_announce_itself_again(store: Store) -> None:
    engine_id = an_engine(store)
    store.transact(lambda tx: claim.announce(tx, engine_id, "host", 1))  # the answer was lost
    assert store.transact(lambda tx: claim.heartbeat(tx, engine_id))


def died(store: Store, engine_id: str) -> None:
    """The engine has not been heard of for long."""
    silent = tables.engine.update().where(tables.engine.c.id == engine_id)
    store.transact(lambda tx: tx.execute(silent.values(beat_at=claim.DIED)))


def test_a_graceful_stop_never_counts_as_a_death(store: Store) -> None:
    stack_id = made(store)
    for _ in range(5):  # a call was in progress each time, so something may be there
        one = an_engine(store)
        claimed(store, one)
        store.transact(lambda tx, one=one: claim.resign(tx, one))
    claimed(store, last := an_engine(store))
    assert loaded(store, stack_id).stack.takeovers == 1
    died(store, last)
    claimed(store, an_engine(store))
    assert loaded(store, stack_id).stack.takeovers == 2


def test_the_oldest_stacks_are_claimed_first(store: Store) -> None:
    ids = [made(store, f"s{number}") for number in range(6)]
    for number, stack_id in enumerate(ids):
        due = tables.stack.update().where(tables.stack.c.id == stack_id)
        store.transact(lambda tx, d=due, n=number: tx.execute(d.values(due_at=100.0 - n)))
    one = an_engine(store)
    found = store.transact(lambda tx: claim.claim(tx, one, 2))
    assert {claim.stack_id for claim in found.stacks} == {ids[5], ids[4]}


def test_engines_share_what_waits(store: Store) -> None:
    names = [made(store, f"s{number}") for number in range(12)]
    engines = [an_engine(store) for _ in range(3)]
    taken = [store.transact(lambda tx, e=e: claim.claim(tx, e, 200)) for e in engines]
    assert [len(found.stacks) for found in taken] == [4, 4, 4]
    assert [found.has_more for found in taken[:2]] == [True, True]
    all_ids = [one.stack_id for found in taken for one in found.stacks]
    assert sorted(all_ids) == sorted(names)


def test_stacks_of_a_dead_engine_are_shared_too(store: Store) -> None:
    for number in range(12):
        made(store, f"s{number}")
    first = an_engine(store)
    assert len(store.transact(lambda tx: claim.claim(tx, first, 200)).stacks) == 12
    died(store, first)
    one, two = an_engine(store), an_engine(store)
    assert len(claimed(store, one)) == 6
    assert len(claimed(store, two)) == 6


def test_an_engine_that_is_drained_claims_nothing_until_it_is_undone(store: Store) -> None:
    made(store)
    one = an_engine(store)
    assert store.transact(lambda tx: drain(tx, "host", draining=True)) == 1
    assert store.transact(lambda tx: claim.heartbeat(tx, one)).draining
    assert claimed(store, one) == []
    assert store.transact(lambda tx: drain(tx, "elsewhere", draining=False)) == 0
    store.transact(lambda tx: drain(tx, "host", draining=False))
    assert len(claimed(store, one)) == 1
    assert store.transact(lambda tx: held_on(tx, "host"), write=False) == 1


def test_a_dead_engine_loses_its_stacks_and_its_commits(store: Store) -> None:
    stack_id = made(store)
    first, second = an_engine(store), an_engine(store)
    (old,) = claimed(store, first)
    died(store, first)
    (new,) = claimed(store, second)
    assert new.epoch == old.epoch + 1
    assert loaded(store, stack_id).stack.takeovers == 1
    late = part(store, first, old, Changes(events=[event(stack_id, "late")]))
    assert written(store, late) is Fate.LOST
    assert [e.resource_name for e in events_of(store, stack_id)] == ["web"]


@pytest.mark.slow
@pytest.mark.parametrize("batch", [[], ["a", "b"]], ids=["after one row", "after a batch"])
@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_an_engine_that_stands_still_in_a_transaction_keeps_nobody_out(
    kind: str, batch: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idle, "IDLE_S", 1)
    url, name = fresh_database(kind)
    asleep, other = (Store(url, sealer_from_secret("test secret")) for _ in range(2))
    upgrade(asleep)
    stack_id = made(asleep)
    mine = an_engine(asleep)
    (one,) = claimed(asleep, mine)
    asleep_now, awake = threading.Event(), []

    def stands_still(tx: Tx) -> None:
        tx.execute(sa.select(tables.stack.c.id).with_for_update())
        if batch:
            tx.many(NO_ENGINE, [{"b_id": name} for name in batch])
        if not asleep_now.is_set():
            asleep_now.set()
            time.sleep(STILL_S)  # as if the whole process had been stopped
        awake.append(tx.value(sa.select(tables.stack.c.epoch)))

    thread = threading.Thread(target=lambda: asleep.transact(stands_still))
    thread.start()
    try:
        asleep_now.wait(10)
        other.transact(lambda tx: claim.resign(tx, mine))
        heir = an_engine(other)
        while not (found := claimed(other, heir)) and not awake:
            other.transact(lambda tx: claim.heartbeat(tx, heir))
            time.sleep(0.05)
        assert not awake
        assert [(it.stack_id, it.epoch) for it in found] == [(stack_id, one.epoch + 1)]
    finally:
        thread.join()
        other.close()
        asleep.close()
        drop_database(kind, name)
    assert awake == [one.epoch + 1]  # it was carried out anew


@pytest.mark.parametrize("due_at", [None, float("inf")])
def test_a_message_makes_an_unowned_stack_claimable(store: Store, due_at: float | None) -> None:
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    assert written(store, part(store, engine_id, one, Changes(release=(due_at,)))) is Fate.DONE
    assert store.transact(lambda tx: tx.value(sa.select(tables.stack.c.due_at))) is None
    assert claimed(store, engine_id) == []
    store.transact(lambda tx: accept.send(tx, stack_id, Signalled("a"), 1.0))
    assert [c.stack_id for c in claimed(store, engine_id)] == [stack_id]
    there = store.transact(lambda tx: claim.inbox_of(tx, engine_id), write=False)
    assert [of for _, of in there] == [stack_id]
    messages = store.transact(lambda tx: claim.messages(tx, [i for i, _ in there]), write=False)
    assert [(of, one.content) for of, one in messages] == [(stack_id, Signalled("a"))]


def test_an_advance_of_an_older_traversal_is_left_out_and_what_is_sure_is_kept(
    store: Store,
) -> None:
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    always = Changes(events=[event(stack_id, "ended")])
    if_current = Changes(events=[event(stack_id, "started")])
    mine = part(store, engine_id, one, always, if_current)
    wanted = accept.OperationRequest(Action.UPDATE, Revision("other"))
    store.transact(lambda tx: accept.operate(tx, stack_id, wanted, 2.0, new_id))
    assert written(store, mine) is Fate.SUPERSEDED
    names = [e.resource_name for e in events_of(store, stack_id)]
    assert names == ["web", "web", "ended"]


def test_a_stack_whose_operation_is_newer_than_its_owner_knows_is_released_as_due(
    store: Store,
) -> None:
    """Also if the owner takes the message about the operation with it."""
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    mine = part(store, engine_id, one, Changes(release=(None,)))
    wanted = accept.OperationRequest(Action.UPDATE, Revision("other"))
    store.transact(lambda tx: accept.operate(tx, stack_id, wanted, 2.0, new_id))
    there = store.transact(lambda tx: claim.inbox_of(tx, engine_id), write=False)
    mine.always.handled.extend(message_id for message_id, _ in there)
    assert there
    assert written(store, mine) is Fate.SUPERSEDED
    assert [c.stack_id for c in claimed(store, engine_id)] == [stack_id]


@pytest.mark.parametrize("number", range(6))
def test_a_message_that_is_read_with_a_stack_is_about_an_operation_in_its_row(
    store: Store, number: int
) -> None:
    """Servers take a snapshot for each statement, and an operation may begin between any two."""
    stack_id = made(store)
    engine_id = an_engine(store)
    claimed(store, engine_id)
    wanted = accept.OperationRequest(Action.UPDATE, Revision("other"))

    def interrupted(tx: Tx) -> claim.Loaded | None:
        listed, seen = tx.listed, itertools.count()

        def later(statement: Any, ids: Any) -> Any:
            if next(seen) == number:
                store.transact(lambda tx: accept.operate(tx, stack_id, wanted, 2.0, new_id))
            return listed(statement, ids)

        tx.listed = later  # type: ignore[method-assign]
        return claim.load(tx, stack_id)

    found = store.transact(interrupted, write=False)
    assert found is not None
    newest = loaded(store, stack_id)
    assert newest.messages
    assert not found.messages or found.stack.traversal == newest.stack.traversal


def test_events_of_a_tree_are_numbered_without_gaps(store: Store) -> None:
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    for batch in (["a", "b"], ["c"]):
        changes = Changes(events=[event(stack_id, name) for name in batch])
        assert written(store, part(store, engine_id, one, changes)) is Fate.DONE
    assert [e.seq for e in events_of(store, stack_id)] == [1, 2, 3, 4]


def test_records_nodes_and_data_are_written_moved_and_removed(store: Store) -> None:
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    record = Record(new_id(), "port", "OS::Neutron::Port", 1, 1.0, requires=frozenset({"x", "y"}))
    node = AttemptRow(record.id, "t", "update", "CREATE", "intent", "create", 0, 1.0, {"w": [1]})
    first = Changes(
        insert={record.id: record},
        nodes=[node],
        data={record.id: {"k": "v", "gone": "x"}},
        metadata={record.id: {"m": 1}},
    )
    assert written(store, part(store, engine_id, one, first)) is Fate.DONE
    held = Held(definition="d", properties={"name": "n"}, attributes={"ip": ["10.0.0.3"]})
    after = record.having(
        action=Action.CREATE, status=Status.COMPLETE, physical_id="p-1", held=held
    )
    second = Changes(
        full={after.id: after}, moved=[node], data={record.id: {"gone": None, "new": "y"}}
    )
    assert written(store, part(store, engine_id, one, second)) is Fate.DONE
    found = loaded(store, stack_id)
    assert found.records == [after]
    assert found.data == {record.id: {"k": "v", "new": "y"}}
    assert found.metadata == {record.id: {"m": 1}}
    assert found.in_flight[0].wanted == {"w": [1]}
    third = Changes(delete=[record.id], ended=[record.id])
    assert written(store, part(store, engine_id, one, third)) is Fate.DONE
    found = loaded(store, stack_id)
    assert (found.records, found.in_flight, found.data) == ([], [], {})


def test_what_has_ended_moves_no_more_and_the_next_intent_stays_as_it_is(store: Store) -> None:
    """One flight ends and the next of the same record begins in one commit."""
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    record = Record(new_id(), "port", "OS::Neutron::Port", 1, 1.0)
    old = AttemptRow(record.id, "t", "update", "CREATE", "intent", "create", 0, 1.0, {"w": [1]})
    first = Changes(insert={record.id: record}, nodes=[old])
    assert written(store, part(store, engine_id, one, first)) is Fate.DONE
    accepted = AttemptRow(record.id, "t", "update", "CREATE", "accepted", "create", 0, 1.0, {})
    following = AttemptRow(record.id, "u", "cleanup", "DELETE", "intent", "delete", 0, 2.0, {})
    second = Changes(moved=[accepted], ended=[record.id])
    if_current = Changes(nodes=[following])
    assert written(store, part(store, engine_id, one, second, if_current)) is Fate.DONE
    (row,) = loaded(store, stack_id).in_flight
    assert (row.action, row.phase, row.step) == ("DELETE", "intent", "delete")


def test_what_a_nested_stack_is_asked_for_outlasts_its_own_part_of_the_commit(store: Store) -> None:
    """The parent asks in the same transaction in which the child tells its end."""
    parent_id = made(store)
    engine_id = an_engine(store)
    (of_parent,) = claimed(store, engine_id)
    parent_row = loaded(store, parent_id).stack
    child = accept.NewStack(
        new_id(), "project", "web-child", Revision("t"), parent=parent_row, parent_record="r"
    )
    store.transact(lambda tx: accept.create(tx, child, time.time(), new_id))
    (of_child,) = claimed(store, engine_id)
    row = loaded(store, child.id).stack
    ended = row.having(status=Status.COMPLETE, reason="done")
    asks = Changes(
        operate=[(child.id, accept.OperationRequest(Action.DELETE, parent_traversal="p"))]
    )
    tells = CommitPart(
        child.id, engine_id, of_child.epoch, row.traversal, Changes(stack=ended), Changes(), 2.0
    )
    parts = [part(store, engine_id, of_parent, asks), tells]
    store.transact(lambda tx: commit(tx, parts, new_id))
    assert loaded(store, child.id).stack.state == "DELETE_IN_PROGRESS"


def test_an_operation_is_refused_where_the_state_forbids_it(store: Store) -> None:
    stack_id = made(store)
    with pytest.raises(Rejected) as refused:
        store.transact(lambda tx: accept.cancel(tx, stack_id, True, 1.0))
    assert refused.value.problems[0].kind == "NotSupported"
    store.transact(
        lambda tx: accept.operate(tx, stack_id, accept.OperationRequest(Action.DELETE), 1.0, new_id)
    )
    wanted = accept.OperationRequest(Action.UPDATE, Revision("t"))
    with pytest.raises(Rejected) as refused:
        store.transact(lambda tx: accept.operate(tx, stack_id, wanted, 1.0, new_id))
    assert refused.value.problems[0].kind == "NotSupported"


def test_a_failing_transaction_leaves_nothing(store: Store) -> None:
    def half(tx) -> None:
        accept.create(tx, new_stack(), 1.0, new_id)
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        store.transact(half)
    assert store.transact(lambda tx: tx.rows(sa.select(tables.stack)), write=False) == []


def test_concurrent_transactions_all_come_through(store: Store) -> None:
    async def together() -> None:
        await asyncio.gather(
            *(store.run(adder(f"s{i}")) for i in range(12)), *(store.run(bumper) for _ in range(12))
        )

    def adder(name: str) -> Callable:
        new = new_stack(name)
        return lambda tx: accept.create(tx, new, 1.0, new_id)

    made(store, "counted")
    root = store.transact(lambda tx: stack_row(tx, tx.first(sa.select(tables.stack)))).root_id

    def bumper(tx) -> None:
        tx.execute(
            tables.tree.update()
            .where(tables.tree.c.root_id == root)
            .values(resources=tables.tree.c.resources + 1)
        )

    asyncio.run(together())
    count = sa.select(tables.tree.c.resources).where(tables.tree.c.root_id == root)
    assert store.transact(lambda tx: tx.execute(count).scalar()) == 12
    assert len(store.transact(lambda tx: tx.rows(sa.select(tables.stack.c.id)))) == 13


def test_a_rolled_back_revision_is_the_same_content_under_a_new_number(store: Store) -> None:
    stack_id = made(store)
    store.transact(lambda tx: texts.copy_revision(tx, stack_id, 1, 2, 5.0))
    one = store.transact(lambda tx: texts.get_revision(tx, stack_id, 1))
    assert store.transact(lambda tx: texts.get_revision(tx, stack_id, 2)) == one
    of = tables.revision.c.stack_id == stack_id
    contents = store.transact(lambda tx: tx.rows(sa.select(tables.revision.c.content).where(of)))
    assert contents[0] == contents[1]


def test_the_migrations_make_exactly_the_tables_that_are_declared(store: Store) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with store.sync_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = compare_metadata(context, tables.metadata)
    assert [d for d in found if not _is_comment(d)] == []


def _is_comment(difference) -> bool:
    kind = difference[0][0] if isinstance(difference, list) else difference[0]
    return kind == "modify_comment"


def events_of(store: Store, stack_id: str) -> list:
    query = sa.select(tables.event).where(tables.event.c.stack_id == stack_id)
    return store.transact(lambda tx: tx.rows(query.order_by(tables.event.c.seq)), write=False)


def test_a_record_reads_back_whatever_its_values(store: Store) -> None:
    made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    values = {"text": "ü'\"\\\n\x00☃", "n": 1.5, "none": None, "deep": {"l": [1, {"b": True}]}}
    record = Record(new_id(), "x", "T", 1, 1.0, held=Held(properties=values, written=values))
    assert (
        written(store, part(store, engine_id, one, Changes(insert={record.id: record})))
        is Fate.DONE
    )
    row = sa.select(tables.resource)
    back = store.transact(lambda tx: record_of(tx, tx.first(row)), write=False)
    assert back == record


def appended(
    store: Store, stack_ids: list[str], root_id: str, count: int, **more: Any
) -> list[str]:
    """Names of the events that were appended to stacks of a tree in turn, one transaction each."""
    names = []
    for i in range(count):
        one = event(stack_ids[i % len(stack_ids)], f"e{i}")
        one = Event(**{**{n: getattr(one, n) for n in Event.__slots__}, "root_id": root_id, **more})
        store.transact(lambda tx, one=one: events.append(tx, [one]))
        names.append(one.resource_name)
    return names


def test_the_oldest_events_of_a_stack_go_in_batches_and_numbers_go_on(store: Store) -> None:
    store.config = StoreConfig(max_events_per_stack=10, event_purge_batch_size=4)
    stack_id = made(store)
    appended(store, [stack_id], stack_id, 30)
    kept = events_of(store, stack_id)
    assert 10 <= len(kept) < 14
    seqs = [e.seq for e in kept]
    assert seqs == list(range(seqs[0], 32))  # the first is that of the create


def test_a_stack_with_few_events_keeps_them_whatever_its_siblings_do(store: Store) -> None:
    store.config = StoreConfig(max_events_per_stack=10, event_purge_batch_size=4)
    stack_id, child = made(store), new_id()
    appended(store, [child], stack_id, 5)
    appended(store, [stack_id], stack_id, 40)
    assert len(events_of(store, child)) == 5
    appended(store, [child, stack_id], stack_id, 40)
    assert 10 <= len(events_of(store, child)) < 14


def test_events_are_kept_for_ever_where_there_is_no_bound(store: Store) -> None:
    store.config = StoreConfig(max_events_per_stack=0, event_purge_batch_size=4)
    stack_id = made(store)
    appended(store, [stack_id], stack_id, 30)
    assert len(events_of(store, stack_id)) == 31


def test_a_follower_sees_each_event_once_though_its_marker_was_purged(store: Store) -> None:
    store.config = StoreConfig(max_events_per_stack=10, event_purge_batch_size=4)
    stack_id = made(store)
    seen: list[str] = []
    marker = None
    for count in (3, 2, 40, 1, 30, 5):  # the longer bursts purge the marker
        appended(store, [stack_id], stack_id, count)
        while True:
            wanted = reads.EventFilter((stack_id,), limit=3, marker=marker, descending=False)
            page = store.transact(lambda tx, w=wanted: reads.list_events(tx, w), write=False)
            if not page:
                break
            marker = page[-1].event.id
            seen += [one.event.id for one in page]
    assert len(seen) == len(set(seen))
    assert seen[-10:] == [e.id for e in events_of(store, stack_id)][-10:]


def paged(listed: Callable[..., list[str]], size: int) -> list[str]:
    """All ids, read page by page."""
    seen = page = listed(limit=size)
    while page:
        page = listed(limit=size, marker=page[-1])
        seen = seen + page
    return seen


@pytest.mark.parametrize("descending", [False, True])
def test_pages_of_stacks_by_their_update_have_each_stack_once(
    store: Store, *, descending: bool
) -> None:
    ids = [made(store, name=f"s{number}") for number in range(5)]
    for ident, at in ((ids[1], 7.0), (ids[3], 5.0)):
        change = tables.stack.update().where(tables.stack.c.id == ident).values(updated_at=at)
        store.transact(lambda tx, change=change: tx.execute(change))

    def listed(**more: Any) -> list[str]:
        wanted = reads.StackFilter(None, sort_keys=("updated_time",), descending=descending, **more)
        found = store.transact(lambda tx: reads.list_stacks(tx, wanted), write=False)
        return [row.id for row in found]

    every = listed()
    assert sorted(every) == sorted(ids)
    assert (every[:2] if descending else every[:-3:-1]) == [ids[1], ids[3]]
    assert [paged(listed, size) for size in (1, 2, 3)] == [every] * 3


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("keys", [("resource_type",), ("resource_type", "event_time"), ()])
def test_pages_of_sorted_events_have_each_event_once(
    store: Store, keys: tuple[str, ...], *, descending: bool
) -> None:
    store.config = StoreConfig()
    stack_id = made(store)
    for number, rtype in enumerate(["T::B", "T::A", "T::B", "T::C", "T::A", "T::B", "T::A"]):
        appended(store, [stack_id], stack_id, 1, resource_type=rtype, time=float(number))

    def listed(**more: Any) -> list[str]:
        wanted = reads.EventFilter((stack_id,), sort_keys=keys, descending=descending, **more)
        found = store.transact(lambda tx: reads.list_events(tx, wanted), write=False)
        return [one.event.id for one in found]

    every = listed()
    assert [paged(listed, size) for size in (1, 2, 3)] == [every] * 3


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"equal": {"name": ("WEB",)}}, {"web", "Web"}),
        ({"equal": {"action": ("create",)}}, {"web", "Web", "db"}),
        ({"equal": {"reason": ("STACK create STARTED",)}}, {"web", "Web", "db"}),
        ({"equal": {"reason": ("stack",)}}, set()),
        ({"equal": {"name": ("Web",), "reason": ("Stack CREATE started",)}}, {"web", "Web"}),
        ({"equal": {"disable_rollback": (True, False)}}, {"web", "Web", "db"}),
    ],
)
def test_the_case_of_letters_does_not_count_in_filters_of_stacks(
    store: Store, more: dict[str, Any], names: set[str]
) -> None:
    for name in ("web", "Web", "db"):
        made(store, name=name)
    wanted = reads.StackFilter(None, **more)
    found = store.transact(lambda tx: reads.list_stacks(tx, wanted), write=False)
    assert {row.name for row in found} == names
    assert store.transact(lambda tx: reads.count_stacks(tx, wanted), write=False) == len(names)
    paged = reads.StackFilter(None, limit=1, **more)
    assert len(store.transact(lambda tx: reads.list_stacks(tx, paged), write=False)) == bool(names)


def test_the_events_of_a_resource_are_not_those_of_another_case(store: Store) -> None:
    store.config = StoreConfig()
    stack_id = made(store)
    for name in ("one", "One"):
        appended(store, [stack_id], stack_id, 1, resource_name=name)
    for more, count in (({"exact": {"resource_name": "one"}}, 1),
                        ({"equal": {"resource_name": ("ONE",)}}, 2)):  # fmt: skip
        wanted = reads.EventFilter((stack_id,), **more)
        found = store.transact(lambda tx, w=wanted: reads.list_events(tx, w), write=False)
        assert len(found) == count


def test_the_last_events_of_a_cluster_are_kept(store: Store) -> None:
    def put(tx: Tx) -> None:
        for number in range(205):
            for cluster in ("one", "two")[: 1 + (number < 3)]:
                clusters.put_event(tx, cluster, "made", {"number": number}, 1.0)

    store.transact(put)
    for cluster, expected in (("one", range(204, 4, -1)), ("two", range(2, -1, -1))):
        found = store.transact(lambda tx, c=cluster: clusters.events_of(tx, c), write=False)
        assert [one["number"] for one in found] == list(expected)
    count = sa.select(sa.func.count()).select_from(cluster_event)
    assert store.transact(lambda tx: tx.value(count), write=False) == 203


def numbers(store: Store, stack_id: str) -> list[int]:
    found = store.transact(lambda tx: texts.list_revisions(tx, stack_id), write=False)
    return [one.number for one in found]


def test_the_last_revisions_are_kept_and_those_still_needed(store: Store) -> None:
    store.config = StoreConfig(revisions=5)
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    record = Record(new_id(), "port", "T", 3, 1.0)
    changes = Changes(insert={record.id: record})
    assert written(store, part(store, engine_id, one, changes)) is Fate.DONE
    for i in range(2, 10):
        wanted = accept.OperationRequest(Action.UPDATE, Revision(f"t{i}"), by="me")
        store.transact(lambda tx, w=wanted: accept.operate(tx, stack_id, w, 2.0, new_id))
    assert numbers(store, stack_id) == [9, 8, 7, 6, 5, 3]
    store.transact(lambda tx: texts.copy_revision(tx, stack_id, 8, 20, 3.0))
    assert numbers(store, stack_id) == [20, 9, 8, 3]  # the stack is in 9 and came from 8
    rows = store.transact(lambda tx: texts.list_revisions(tx, stack_id), write=False)
    assert (rows[0].copy_of, rows[1].copy_of) == (8, None)


def test_all_revisions_are_kept_where_there_is_no_bound(store: Store) -> None:
    store.config = StoreConfig(revisions=0)
    stack_id = made(store)
    for i in range(2, 10):
        wanted = accept.OperationRequest(Action.UPDATE, Revision(f"t{i}"))
        store.transact(lambda tx, w=wanted: accept.operate(tx, stack_id, w, 2.0, new_id))
    assert numbers(store, stack_id) == list(range(9, 0, -1))
