"""Credentials of stacks, encrypted. A root stack and its nested stacks share one row.

The row has two writers: requests store the token of the last requester, and the owner of the root
stores the facts about the trust. Each changes only its own facts.
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
    """Return the facts in a row's body, or None if there is no row."""
    return tx.unseal(body, _BODY, credential_id)


def change(tx: Tx, credential_id: str, changed: Mapping[str, Any]) -> bool:
    """Merge facts into a credential, where None removes one; return False if it has no row."""
    row = tx.first(_LOCK, {"b_id": credential_id})
    if row is None:
        return False
    facts = changed_facts(opened(tx, row.body, credential_id), changed)
    tx.do(_WRITE, {"b_id": credential_id, "b_body": tx.seal(facts, _BODY, credential_id)})
    return True


def next_key(tx: Tx, credential_id: str, wanted: str) -> str:
    """Return the key for the next trust; store `wanted` if none is stored."""
    row = tx.first(_LOCK, {"b_id": credential_id})
    known: str | None = None if row is None else opened(tx, row.body, credential_id).get("next_key")
    if known is None:
        change(tx, credential_id, {"next_key": wanted})
    return known or wanted


def changed_facts(facts: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts merged with others, where None removes one."""
    return {name: fact for name, fact in {**facts, **changed}.items() if fact is not None}
