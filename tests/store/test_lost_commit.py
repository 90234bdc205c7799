"""A COMMIT whose answer is lost, through a proxy in front of the real servers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy as sa

from hearth.store import claim, tables
from hearth.store.database import Store, Tx, Unanswered, drop_receipts, is_outage
from hearth.store.migrate import upgrade
from hearth.store.seal import sealer_from_secret
from tests.conftest import drop_database, fresh_database
from tests.faults.proxy import Loss, LossyProxy, in_front_of

BOTH = pytest.mark.parametrize("carried_out", [True, False], ids=["carried out", "not"])
BEATS = sa.select(tables.engine.c.beat_at).order_by(tables.engine.c.beat_at)


@pytest.fixture(params=["postgresql", "mariadb"])
def through(request: pytest.FixtureRequest) -> Iterator[tuple[Store, LossyProxy]]:
    """A store that reaches its database by way of a proxy."""
    url, name = fresh_database(request.param)
    with in_front_of(url) as (by_proxy, proxy):
        store = Store(by_proxy, sealer_from_secret("test secret"))
        upgrade(store)
        yield store, proxy
        store.close()
    drop_database(request.param, name)


def counting(store: Store) -> tuple[list[float], object]:
    """A transaction whose second run has another answer: it adds one to what it finds."""
    runs: list[float] = []

    def add(tx: Tx) -> float:
        count = float(len(tx.rows(BEATS)))
        runs.append(count)
        row = {"id": f"e{len(runs)}", "host": "h", "pid": 1, "started_at": 0.0, "beat_at": count}
        tx.execute(tables.engine.insert(), row)
        return count

    return runs, add


def beats(store: Store) -> list[float]:
    return store.transact(lambda tx: [row.beat_at for row in tx.rows(BEATS)], write=False)


@BOTH
def test_the_store_does_not_repeat_what_may_be_committed(through, carried_out: bool) -> None:
    store, proxy = through
    runs, add = counting(store)
    proxy.lose(Loss(carried_out))
    with pytest.raises(Unanswered) as raised:
        asyncio.run(store.run(add))
    assert is_outage(raised.value)
    assert (proxy.lost, len(runs), len(beats(store))) == (1, 1, int(carried_out))


@BOTH
def test_a_request_is_carried_out_once_and_gets_its_first_answer(through, carried_out: bool):
    store, proxy = through
    runs, add = counting(store)
    asyncio.run(store.run_once(add))
    proxy.lose(Loss(carried_out))
    assert asyncio.run(store.run_once(add)) == 1.0
    assert proxy.lost == 1
    assert beats(store) == [0.0, 1.0]
    assert len(runs) == (2 if carried_out else 3)


def test_an_answer_that_is_lost_again_and_again_is_waited_for(through) -> None:
    store, proxy = through
    for losses in itertools.product([True, False], repeat=3):
        before = len(beats(store))
        proxy.lose(*(Loss(one) for one in losses))
        _, add = counting(store)
        store.transact(_renamed(add, before), once=True)
        assert len(beats(store)) == before + 1
        proxy._losses.clear()


def _renamed(add, before):
    def transaction(tx: Tx) -> None:
        row = {"id": f"x{before}", "host": "h", "pid": 1, "started_at": 0.0, "beat_at": 9.0}
        tx.execute(tables.engine.insert(), row)

    return transaction


def test_a_refusal_is_told_whatever_was_lost_before(through) -> None:
    """The first COMMIT never came to the server; by then somebody else was faster."""
    store, proxy = through
    proxy.lose(Loss(carried_out=False))
    calls = 0

    def taken(tx: Tx) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise ValueError("taken")

    with pytest.raises(ValueError, match="taken"):
        store.transact(taken, once=True)


def test_a_claim_without_an_answer_is_found_in_the_rows(through) -> None:
    store, proxy = through
    store.transact(lambda tx: claim.announce(tx, "me", "host", 1))
    proxy.lose(Loss())
    with pytest.raises(Unanswered):
        store.transact(lambda tx: claim.heartbeat(tx, "me"))
    assert store.transact(lambda tx: claim.heartbeat(tx, "me"))


def test_receipts_go_when_nobody_can_ask_for_them(store: Store, monkeypatch) -> None:
    monkeypatch.setattr(store, "receipts", True)
    store.transact(lambda tx: None, once=True)
    old = sa.update(tables.receipt).values(at=tables.receipt.c.at - 4000)
    store.transact(lambda tx: tx.execute(old))
    store.transact(lambda tx: None, once=True)
    store.transact(drop_receipts)
    left = sa.select(sa.func.count()).select_from(tables.receipt)
    assert store.transact(lambda tx: tx.value(left), write=False) == 1


def test_a_client_without_memory_for_an_answer_counts_as_an_outage():
    words = "out of memory for query result"
    assert is_outage(sa.exc.DatabaseError("SELECT 1", {}, psycopg.DatabaseError(words)))
    assert not is_outage(sa.exc.DatabaseError("SELECT 1", {}, psycopg.DatabaseError("a bug")))
    assert not is_outage(sa.exc.DataError("SELECT 1", {}, psycopg.DataError(words)))
