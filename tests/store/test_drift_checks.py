"""The schedule of drift checks: each is made by one process, and again if that process dies."""

import threading
import time

import pytest
import sqlalchemy as sa

from hearth.model.problem import Rejected
from hearth.model.state import Action, Status
from hearth.store import accept, drift_checks, events, outbox, reads, tables
from hearth.store.credentials import Requester
from hearth.store.database import Store
from hearth.store.drift_checks import DriftCheck, Last, Result
from tests.store.test_contract import an_engine, made, new_id

DRIFTED = Result("drifted", {"drifted": 1}, [{"resource_name": "net"}])


def scheduled(store: Store, *names: str) -> list[str]:
    ids = [made(store, name, credential=(new_id(), Requester(token="t"))) for name in names]
    store.transact(lambda tx: drift_checks.schedule(tx, dict.fromkeys(ids, -10.0)))
    return ids


def claimed(store: Store, stack_id: str) -> DriftCheck | None:
    claim_id = new_id()
    return store.transact(lambda tx: drift_checks.claim(tx, stack_id, claim_id))


def due(store: Store, late_s: float = 0.0) -> list[str]:
    return store.transact(lambda tx: drift_checks.due(tx, 10, late_s))


def finished(store: Store, check: DriftCheck, result: Result = DRIFTED, event: str = "") -> bool:
    told = (new_id(), time.time(), "CHECK", "DRIFTED", event)
    one = events.of_stack(check.row, *told) if event else None
    return store.transact(
        lambda tx: drift_checks.finish(tx, check, result, 60.0, announced=bool(event), event=one)
    )


def moved(store: Store, stack_id: str, **values: object) -> None:
    mine = tables.stack.update().where(tables.stack.c.id == stack_id)
    store.transact(lambda tx: tx.execute(mine.values(values)))


def late(store: Store, stack_id: str, by_s: float) -> None:
    mine = tables.drift_check.update().where(tables.drift_check.c.stack_id == stack_id)
    store.transact(lambda tx: tx.execute(mine.values(due_at=tables.drift_check.c.due_at - by_s)))


def test_one_engine_schedules_each_root_stack_once(store: Store):
    first, second = sorted([an_engine(store), an_engine(store)])
    ids = {made(store, "one"), made(store, "two")}
    nested = made(store, "nested")
    moved(store, nested, parent_id=min(ids))
    gone = made(store, "gone")
    moved(store, gone, deleted_at=1.0)
    new = lambda me: store.transact(lambda tx: drift_checks.unscheduled(tx, me, 10))  # noqa: E731
    assert new(second) == []
    assert set(new(first)) == ids
    store.transact(lambda tx: drift_checks.schedule(tx, dict.fromkeys(ids, 5.0)))
    assert new(first) == []
    assert due(store) == []


def test_a_check_belongs_to_one_process(store: Store):
    (ident,) = scheduled(store, "web")
    assert due(store) == [ident]
    found: list[DriftCheck | None] = []
    threads = [threading.Thread(target=lambda: found.append(claimed(store, ident))) for _ in "1234"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in found if one is not None]) == 1
    assert due(store) == []


def test_a_check_of_a_dead_process_is_repeated_and_its_late_result_is_not_stored(store: Store):
    (ident,) = scheduled(store, "web")
    lost = claimed(store, ident)
    assert lost is not None
    late(store, ident, drift_checks.LEASE_S - 10)
    assert due(store) == []
    late(store, ident, 20)
    assert due(store) == [ident]
    again = claimed(store, ident)
    assert again is not None
    assert not finished(store, lost, event="of the dead one")
    assert finished(store, again)
    assert store.transact(lambda tx: reads.list_events(tx, reads.EventFilter((ident,)))) != []
    told = store.transact(lambda tx: tx.rows(sa.select(tables.event.c.status)))
    assert "DRIFTED" not in [row.status for row in told]


def test_a_result_is_stored_with_its_event_and_changes_no_state(store: Store):
    (ident,) = scheduled(store, "web")
    check = claimed(store, ident)
    assert check is not None
    assert (check.attempts, check.announced) == (0, False)
    before = store.transact(lambda tx: accept.lock(tx, ident))
    store.notifies = True
    engine = an_engine(store)
    assert finished(store, check, event="Drift: net")
    assert store.transact(lambda tx: outbox.pending(tx, engine, 10)) == []  # no state has changed
    assert store.transact(lambda tx: accept.lock(tx, ident)) == before
    found = store.transact(lambda tx: drift_checks.last(tx, ident))
    assert isinstance(found, Last)
    assert found.result == DRIFTED
    assert abs(found.checked_at - time.time()) < 60
    assert store.transact(drift_checks.states) == {"drifted": 1}
    told = store.transact(lambda tx: reads.list_events(tx, reads.EventFilter((ident,))))
    assert [one.event.reason for one in told if one.event.status == "DRIFTED"] == ["Drift: net"]
    assert due(store) == []
    late(store, ident, 61)
    again = claimed(store, ident)
    assert again is not None
    assert again.announced


@pytest.mark.parametrize("change", [{"status": "IN_PROGRESS"}, {"traversal": "other"}])
def test_a_stack_that_was_changed_meanwhile_gets_no_result(store: Store, change: dict[str, str]):
    (ident,) = scheduled(store, "web")
    nested = made(store, "nested")
    moved(store, nested, parent_id=ident, root_id=ident, status=Status.COMPLETE)
    moved(store, ident, status=Status.COMPLETE, action=Action.CREATE)
    check = claimed(store, ident)
    assert check is not None
    moved(store, nested, **change)
    assert not finished(store, check, event="Drift: net")
    assert store.transact(lambda tx: drift_checks.last(tx, ident)) is None


def test_a_check_without_a_result_is_counted_and_due_again(store: Store):
    (ident,) = scheduled(store, "web")
    check = claimed(store, ident)
    assert check is not None
    store.transact(lambda tx: drift_checks.postpone(tx, check, -5.0, 1))
    assert due(store) == [ident]
    assert due(store, late_s=1000.0) == []
    again = claimed(store, ident)
    assert again is not None
    assert again.attempts == 1


def test_the_row_of_a_deleted_stack_goes(store: Store):
    one, two = scheduled(store, "one", "two")
    check = claimed(store, two)
    assert check is not None
    for ident in (one, two):
        moved(store, ident, deleted_at=1.0)
    assert claimed(store, one) is None
    with pytest.raises(Rejected):
        finished(store, check)
    assert due(store) == []
    left = store.transact(lambda tx: tx.rows(sa.select(tables.drift_check.c.stack_id)))
    assert [row.stack_id for row in left] == [two]
