"""The outbox on every database."""

import time
import uuid

from hearth.model.state import Action
from hearth.store import accept, claim, outbox
from hearth.store.database import Store
from hearth.store.rows import Revision


def new_id() -> str:
    return str(uuid.uuid4())


def test_the_states_of_a_stack_lie_there_in_order_for_the_first_living_engine(store: Store) -> None:
    store.notifies = True
    facts = {"auth_url": "u", "token": "t", "user_id": "u1"}
    new = accept.NewStack(
        id=new_id(), project_id="p", name="s", revision=Revision(template="t"), tags=("a", "b"),
        credential=(new_id(), "token", facts), creator="demo",
    )  # fmt: skip
    store.transact(lambda tx: accept.create(tx, new, time.time(), new_id))
    delete = accept.Operation(Action.DELETE)
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
