"""Looking for work costs what there is to do, not what rests."""

import time
from pathlib import Path

import pytest

from hearth.store import accept, claim, tables
from hearth.store.database import Store, Tx
from hearth.store.messages import Signalled
from hearth.store.rows import Revision
from hearth.store.seal import sealer_from_secret


@pytest.fixture
def store(tmp_path: Path):
    store = Store(f"sqlite:///{tmp_path / 'hearth.db'}", sealer_from_secret("test"), durable=False)
    store.create_tables()
    yield store
    store.close()


def rest(store: Store, names: range) -> None:
    """Stacks that nobody has to do anything for."""
    ids = iter(range(10**6))

    def made(tx: Tx) -> None:
        for name in names:
            new = accept.NewStack(f"id{name}", "project", f"s{name}", Revision("x"))
            accept.create(tx, new, time.time(), lambda: f"{names}-{next(ids)}")
        tx.execute(tables.stack.update().values(due_at=None, status="COMPLETE"))

    store.transact(made)


def steps(store: Store) -> int:
    """What the database does for a look and a claim, in steps of its machine."""

    def looked(tx: Tx) -> int:
        count = 0

        def step() -> int:
            nonlocal count
            count += 1
            return 0

        link = tx._cursor.connection
        link.set_progress_handler(step, 1)
        assert not claim.look(tx, "me").claimable
        claim.claim(tx, "me", 10)
        link.set_progress_handler(None, 0)
        return count

    store.transact(lambda tx: claim.announce(tx, "me", "here", 1))
    return store.transact(looked)


def test_stacks_that_rest_are_not_passed_by(store):
    rest(store, range(20))
    few = steps(store)
    rest(store, range(20, 500))
    assert steps(store) <= 1.2 * few


def test_one_that_is_due_or_has_mail_is_found_among_them(store):
    rest(store, range(100))
    due = tables.stack.update().where(tables.stack.c.id == "id7").values(due_at=1.0)
    store.transact(lambda tx: tx.execute(due))
    store.transact(lambda tx: accept.send(tx, "id9", Signalled("r"), 1.0))
    store.transact(lambda tx: claim.announce(tx, "me", "here", 1))
    assert store.transact(lambda tx: claim.look(tx, "me")).claimable
    found = store.transact(lambda tx: claim.claim(tx, "me", 10).stacks)
    assert [one.stack_id for one in found] == ["id7", "id9"]
