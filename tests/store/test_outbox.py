"""The outbox on every database."""

import time
import uuid

import sqlalchemy as sa
from msgspec import to_builtins

from hearth.model.state import Action
from hearth.store import accept, claim, outbox
from hearth.store.credentials import Requester
from hearth.store.database import Store
from hearth.store.rows import Revision
from hearth.store.tables import outbox as table


def new_id() -> str:
    return str(uuid.uuid4())


def test_the_states_of_a_stack_lie_there_in_order_for_the_first_living_engine(store: Store) -> None:
    store.notifies = True
    requester = Requester("u", "t", "u1")
    new = accept.NewStack(
        id=new_id(), project_id="p", name="s", revision=Revision(template="t"), tags=("a", "b"),
        credential=(new_id(), requester), creator="demo",
    )  # fmt: skip
    store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))
    delete = accept.OperationRequest(Action.DELETE)
    store.transact(lambda tx: accept.operate(tx, new.id, delete, time.time(), new_id))
    for engine in ("1", "2"):
        store.transact(lambda tx, engine=engine: claim.announce(tx, engine, "h", 1))

    def seen(engine: str) -> list[outbox.Leaving]:
        return store.transact(lambda tx: outbox.pending(tx, engine, 10))

    assert seen("2") == []
    rows = seen("1")
    assert [f"{row.body['action']}_{row.body['status']}" for row in rows] == [
        "CREATE_IN_PROGRESS", "CREATE_FAILED", "DELETE_IN_PROGRESS",
    ]  # fmt: skip
    assert rows[0].body["user_id"] == "u1"
    assert rows[0].body["tags"] == ["a", "b"]
    store.transact(lambda tx: outbox.sent(tx, [row.id for row in rows[:2]]))
    store.transact(lambda tx: claim.resign(tx, "1"))
    assert seen("1") == []
    assert [row.id for row in seen("2")] == [rows[2].id]


def test_events_wait_in_lanes_one_for_each_tree_and_sink(store: Store) -> None:
    sinks = [{"type": "zaqar-queue", "target": name} for name in ("a", "b")]
    requester = Requester("u", "t0ken", "u1")
    new = accept.NewStack(
        id=new_id(), project_id="p", name="s", credential=(new_id(), requester),
        revision=Revision(template="t", environment={"event_sinks": sinks}),
    )  # fmt: skip
    store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))

    def operate(action: Action, *now: dict[str, str]) -> None:
        environment = {"event_sinks": list(now)}
        revision = Revision(template="t", environment=environment) if now else None
        wanted = accept.OperationRequest(action, revision)
        store.transact(lambda tx: accept.operate(tx, new.id, wanted, time.time(), new_id))

    for engine in ("1", "2"):
        store.transact(lambda tx, engine=engine: claim.announce(tx, engine, "h", 1))

    def due(engine: str = "1") -> list[str]:
        return store.transact(lambda tx: outbox.due_lanes(tx, engine, 10))

    def lane(name: str) -> list[outbox.Leaving]:
        return store.transact(lambda tx: outbox.of_lane(tx, name, 10))

    operate(Action.UPDATE, sinks[0])
    operate(Action.DELETE)
    lanes = {lane(name)[0].body["sink"]["target"]: name for name in due()}
    assert (sorted(lanes), due("2")) == (["a", "b"], [])
    rows = {target: lane(name) for target, name in lanes.items()}
    told = {t: [row.body["event"]["action"] for row in found] for t, found in rows.items()}
    assert told == {"a": ["CREATE", "UPDATE", "UPDATE", "DELETE"], "b": ["CREATE"]}
    assert rows["a"][0].body["credential"] == to_builtins(requester)
    assert store.transact(lambda tx: outbox.pending(tx, "1", 10)) == []

    store.transact(lambda tx: outbox.later(tx, rows["a"][0].id, 60.0))
    assert due() == [lanes["b"]]
    assert lane(lanes["a"])[0].attempts == 1
    store.transact(lambda tx: outbox.sent(tx, [rows["a"][0].id, rows["b"][0].id]))
    assert due() == [lanes["a"]]


def test_what_waits_for_a_sink_is_sealed(store: Store) -> None:
    requester = Requester("u", "t0ken", "u1")
    sink = {"type": "zaqar-queue", "target": "my-queue"}
    new = accept.NewStack(
        id=new_id(), project_id="p", name="my-stack", credential=(new_id(), requester),
        revision=Revision(template="t", environment={"event_sinks": [sink]}),
    )  # fmt: skip
    store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))
    row = store.transact(lambda tx: tx.first(sa.select(table)))
    assert not any(word in repr(row) for word in ("t0ken", "my-queue", "my-stack"))
