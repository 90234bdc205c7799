"""Many stacks in one transaction, and the guilty one alone."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from msgspec import structs

from hearth.engine.worker.committer import Committer
from hearth.store import accept, claim, tables
from hearth.store.commit import Changes, CommitPart, Fate, Outgoing
from hearth.store.database import Store
from hearth.store.messages import OperationBegun
from hearth.store.migrate import upgrade
from hearth.store.rows import Event, Revision
from hearth.store.seal import sealer_from_secret

ENGINE = "engine"


def new_id() -> str:
    return str(uuid.uuid4())


def a_store(folder: Path) -> Store:
    store = Store(f"sqlite:///{folder}/hearth.db", sealer_from_secret("secret"))
    upgrade(store)
    store.transact(lambda tx: claim.announce(tx, ENGINE, "host", 1))
    return store


def owned(store: Store, count: int) -> list[CommitPart]:
    """Parts of so many claimed stacks, each with one event."""
    for i in range(count):
        new = accept.NewStack(new_id(), "p", f"s{i}", Revision("template"))
        store.transact(lambda tx, new=new: accept.create(tx, new, 1.0, new_id))
    claims = store.transact(lambda tx: claim.claim(tx, ENGINE, count).stacks)
    parts = []
    for one in claims:
        loaded: Any = store.transact(lambda tx, one=one: claim.load(tx, one.stack_id))
        event = Event(new_id(), one.stack_id, one.stack_id, 1.0, "r", "T", None, "X", "Y", "ok")
        changes = Changes(events=[event])
        traversal = loaded.stack.traversal
        parts.append(
            CommitPart(one.stack_id, ENGINE, one.epoch, traversal, changes, Changes(), 2.0)
        )
    return parts


def poisoned(part: CommitPart) -> None:
    """An event that no database takes: its id is null."""
    (event,) = part.always.events
    part.always.events[:] = [structs.replace(event, id=None)]


async def submitted(committer: Committer, parts: list[CommitPart]) -> list[Any]:
    waiting = [committer.submit(part, part.stack_id) for part in parts]
    return await asyncio.gather(*waiting, return_exceptions=True)


def resource_events(store: Store) -> set[str]:
    query = sa.select(tables.event.c.stack_id).where(tables.event.c.resource_name == "r")
    return {row.stack_id for row in store.transact(lambda tx: tx.rows(query), write=False)}


def test_what_gathers_while_one_commit_runs_is_one_transaction(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    parts = owned(store, 9)
    committer = Committer(store, new_id, asyncio.create_task)
    fates = asyncio.run(submitted(committer, parts))
    assert fates == [Fate.DONE] * 9
    assert committer.commits == 1
    assert resource_events(store) == {part.stack_id for part in parts}
    store.close()


def test_a_batch_that_fails_is_halved_until_the_guilty_stack_is_alone(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    parts = owned(store, 9)
    poisoned(parts[4])
    committer = Committer(store, new_id, asyncio.create_task)
    fates = asyncio.run(submitted(committer, parts))
    assert isinstance(fates[4], sa.exc.IntegrityError)
    assert [fate for i, fate in enumerate(fates) if i != 4] == [Fate.DONE] * 8
    assert resource_events(store) == {p.stack_id for i, p in enumerate(parts) if i != 4}
    store.close()


def test_small_changes_do_not_wait_for_many_large_ones(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    *large, small = owned(store, 7)
    for part in large:
        event = part.always.events[0]
        part.always.events[:] = [structs.replace(event, id=new_id()) for _ in range(3000)]
    committer, order = Committer(store, new_id, asyncio.create_task), []

    async def one(part: CommitPart) -> None:
        await committer.submit(part, part.stack_id)
        order.append(part)

    async def story() -> None:
        first = asyncio.create_task(one(large[0]))
        await asyncio.sleep(0)  # it is being written when the others come
        await asyncio.gather(first, *(one(part) for part in (*large[1:], small)))

    asyncio.run(story())
    assert order.index(small) <= 1
    store.close()


def test_what_an_outage_met_is_not_written_again(tmp_path: Path) -> None:
    """It may be committed: whoever wanted it reads what there is."""
    store = a_store(tmp_path)
    parts = owned(store, 4)
    run, calls = store.run, 0

    async def cut(fn: Any) -> Any:
        nonlocal calls
        calls += 1
        await run(fn)
        raise sa.exc.OperationalError("COMMIT", None, ConnectionError("cut"))

    store.run = cut  # type: ignore[method-assign]
    fates = asyncio.run(submitted(Committer(store, new_id, asyncio.create_task), parts))
    assert [type(fate) for fate in fates] == [sa.exc.OperationalError] * 4
    assert calls == 1
    assert resource_events(store) == {part.stack_id for part in parts}
    store.close()


def test_others_are_told_of_commits_that_may_give_them_work(tmp_path: Path) -> None:
    store = a_store(tmp_path)
    woken: list[str] = []
    alone, sending = owned(store, 2)
    sending.always.messages.append(Outgoing(alone.stack_id, OperationBegun()))
    committer = Committer(store, new_id, asyncio.create_task, lambda: woken.append("others"))
    assert asyncio.run(submitted(committer, [alone])) == [Fate.DONE]
    assert woken == []
    assert asyncio.run(submitted(committer, [sending])) == [Fate.DONE]
    assert woken == ["others"]
    store.close()
