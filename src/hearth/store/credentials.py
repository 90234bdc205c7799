"""Credentials of stacks, sealed. A root stack and those below it share one row.

The row has two writers: requests put the token of whoever asked last, the owner of the root what
it knows of the trust. Each changes its own facts and leaves those of the other alone.
"""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.tables import credential

_BODY = "credential.body"
_ID = credential.c.id == sa.bindparam("b_id", type_=sa.String())
_INSERT = Prepared(credential.insert())
_LOCK = Prepared(sa.select(credential).where(_ID).with_for_update())
_WRITE = Prepared(credential.update().where(_ID).values(body=sa.bindparam("b_body")))


def put(tx: Tx, new: tuple[str, str, Any], now: float) -> None:
    """Store a credential: (id, kind, body)."""
    id_, kind, body = new
    tx.do(_INSERT, {"id": id_, "kind": kind, "body": tx.seal(body, _BODY, id_), "created_at": now})


def opened(tx: Tx, body: bytes | None, credential_id: str | None) -> Any:
    """The facts in a row's body; None where there is no row."""
    return tx.unseal(body, _BODY, credential_id)


def change(tx: Tx, credential_id: str, changed: Mapping[str, Any]) -> bool:
    """Lay facts over those of a credential, None takes one away; False if there is no such row."""
    row = tx.first(_LOCK, {"b_id": credential_id})
    if row is None:
        return False
    facts = changed_facts(opened(tx, row.body, credential_id), changed)
    tx.do(_WRITE, {"b_id": credential_id, "b_body": tx.seal(facts, _BODY, credential_id)})
    return True


def next_key(tx: Tx, credential_id: str, wanted: str) -> str:
    """The key under which the next trust is made: the one that is stored, else `wanted`."""
    row = tx.first(_LOCK, {"b_id": credential_id})
    known: str | None = None if row is None else opened(tx, row.body, credential_id).get("next_key")
    if known is None:
        change(tx, credential_id, {"next_key": wanted})
    return known or wanted


def changed_facts(facts: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with others laid over them; None takes one away."""
    return {name: fact for name, fact in {**facts, **changed}.items() if fact is not None}
