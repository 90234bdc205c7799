"""Deleted stacks are forgotten with all that is theirs, and nothing else is."""

import time

import sqlalchemy as sa

from hearth.store import accept, claim, drift_checks, tables
from hearth.store.commit import Changes, Fate
from hearth.store.credentials import Requester
from hearth.store.database import Store, Tx
from hearth.store.engines import clean, engines
from hearth.store.purge import purge
from tests.store.test_contract import an_engine, claimed, loaded, made, new_id, part, written

DAY_S = 86400.0


def deleted(store: Store, name: str, age_s: float, **more: object) -> str:
    """A stack that was deleted so long ago."""
    stack_id = made(store, name, **more)
    forget(store, stack_id, age_s)
    return stack_id


def forget(store: Store, stack_id: str, age_s: float) -> None:
    engine_id = an_engine(store)
    (one,) = [one for one in claimed(store, engine_id) if one.stack_id == stack_id]
    store.transact(lambda tx: drift_checks.schedule(tx, {stack_id: 0.0}))
    row = loaded(store, stack_id).stack
    gone = row.having(deleted_at=time.time() - age_s, live_name=None)
    assert written(store, part(store, engine_id, one, Changes(stack=gone))) is Fate.DONE
    store.transact(lambda tx: claim.resign(tx, engine_id))


def rows(store: Store) -> dict[str, int]:
    """How many rows each table has that knows stacks."""

    def count(tx: Tx) -> dict[str, int]:
        return {
            table.name: tx.value(sa.select(sa.func.count()).select_from(table))
            for table in tables.metadata.sorted_tables
            if table.name not in ("blob", "engine")
        }

    return store.transact(count, write=False)


def purged(store: Store, days: float, project: str | None = None, most: int = 20) -> int:
    return store.transact(lambda tx: purge(tx, age_s=days * DAY_S, project_id=project, limit=most))


def test_everything_of_an_old_stack_goes_and_of_a_living_one_nothing(store: Store) -> None:
    requester = Requester("u", "t", "u1")
    made(store, "alive", credential=(new_id(), requester))
    before = rows(store)
    deleted(store, "old", 100 * DAY_S, credential=(new_id(), requester))
    young = deleted(store, "young", 10 * DAY_S)
    assert purged(store, 90) == 1
    assert purged(store, 90) == 0
    assert store.transact(lambda tx: tx.rows(sa.select(tables.stack.c.id))) is not None
    assert purged(store, 9) == 1
    assert rows(store) == before
    assert young


def test_only_those_of_a_project_and_only_so_many_at_a_time(store: Store) -> None:
    for number in range(3):
        deleted(store, f"s{number}", 5.0)
    assert purged(store, 0, "stranger") == 0
    assert purged(store, 0, "project", most=2) == 2
    assert purged(store, 0, most=2) == 1


def test_a_nested_stack_goes_and_its_trees_credential_stays(store: Store) -> None:
    requester = Requester("u", "t", "u1")
    credential = new_id()
    root = made(store, "root", credential=(credential, requester))
    before = rows(store)
    parent = loaded(store, root).stack
    deleted(store, "child", 5.0, parent=parent, credential_id=credential)
    assert purged(store, 0) == 1
    after = rows(store)
    assert after["credential"] == before["credential"] == 1
    assert after["tree"] == 1
    assert after["stack"] == 1


def test_a_stack_that_an_engine_still_holds_stays(store: Store) -> None:
    stack_id = made(store)
    engine_id = an_engine(store)
    (one,) = claimed(store, engine_id)
    gone = loaded(store, stack_id).stack.having(deleted_at=1.0, live_name=None)
    assert written(store, part(store, engine_id, one, Changes(stack=gone))) is Fate.DONE
    assert purged(store, 0) == 0
    store.transact(lambda tx: claim.resign(tx, engine_id))
    assert purged(store, 0) == 1


def test_an_engine_that_is_gone_is_forgotten_once_nobody_is_its(store: Store) -> None:
    made(store)
    dead, living = an_engine(store), an_engine(store)
    claimed(store, dead)
    other = an_engine(store)
    for one in (dead, other):
        store.transact(lambda tx, one=one: claim.resign(tx, one))
    assert store.transact(clean) == (1, 1)
    claimed(store, living)
    assert store.transact(clean)[1] == 0
    assert [one.id for one in store.transact(engines)] == [living]


def test_a_stack_may_be_made_again_after_it_was_purged(store: Store) -> None:
    deleted(store, "web", 5.0)
    purged(store, 0)
    accepted = made(store, "web")
    assert store.transact(lambda tx: accept.lock(tx, accepted)).name == "web"
