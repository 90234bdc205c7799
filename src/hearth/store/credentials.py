"""Credentials of stacks, encrypted. A root stack and its nested stacks share one row.

Two processes write the row: a request stores the token of the last requester, and the owner of the
root stack stores the stack's trust. Each of them changes only its own fields.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import structs

from hearth.store.database import Tx
from hearth.store.prepared import Prepared
from hearth.store.tables import credential

_BODY = "credential.body"
_ID = credential.c.id == sa.bindparam("b_id", type_=sa.String())
_INSERT = Prepared(lambda: credential.insert())
_LOCK = Prepared(lambda: sa.select(credential).where(_ID).with_for_update())
_WRITE = Prepared(lambda: credential.update().where(_ID).values(body=sa.bindparam("b_body")))


class Requester(msgspec.Struct, frozen=True, omit_defaults=True):
    """The token of the last requester, and the facts about it that Hearth needs later.

    `delegated`: whether a trust or which kind of application credential issued the token, see
    `service.caller`; None for neither. `rights`: the requester's attributes that policy rules use,
    for the resource types in nested stacks; None allows all types, for a request from the command
    line. `traceparent` is the trace of the request, as W3C Trace Context
    writes it.
    """

    auth_url: str = ""
    token: str = ""
    user_id: str = ""
    delegated: str | None = None
    rights: Mapping[str, Any] | None = None
    request_id: str | None = None
    traceparent: str | None = None


class FormerTrust(msgspec.Struct, frozen=True, array_like=True):
    """A replaced trust or application credential that must still be deleted.

    `key` finds it in Keystone: the expiry time of a trust and the name of an application credential
    are computed from the key. `owner` is None for a trust. For an application credential it is the
    id of the user who created the credential.
    """

    id: str
    key: str
    owner: str | None = None


class StackCredential(Requester, frozen=True, omit_defaults=True):
    """The requester's token, and the trust that remains valid after the token expires, if it
    exists.

    The user `trustor` created the trust, and `trust_key` finds it in Keystone: its expiry time is
    computed from the key. If there is an `app_secret`, the stack has an application credential
    instead of a trust, and `trust_id` is its id. The key of a new trust is stored in `next_key`
    before the trust is created. `former` are replaced trusts.
    """

    trust_id: str | None = None
    app_secret: str | None = None
    trustor: str | None = None
    trust_key: str | None = None
    next_key: str | None = None
    former: tuple[FormerTrust, ...] = ()


def put(tx: Tx, credential_id: str, new: Requester, now: float) -> None:
    """Store a new credential."""
    body = tx.seal(new, _BODY, credential_id)
    tx.do(_INSERT, {"id": credential_id, "kind": "token", "body": body, "created_at": now})


def opened(tx: Tx, body: bytes, credential_id: str) -> StackCredential:
    """Decrypt the body of a row and return the credential in it."""
    return msgspec.convert(tx.unseal(body, _BODY, credential_id), StackCredential)


def change(tx: Tx, credential_id: str, changes: Mapping[str, Any]) -> bool:
    """Change fields of a credential; return False if its row does not exist."""
    row = tx.first(_LOCK, {"b_id": credential_id})
    if row is None:
        return False
    new = structs.replace(opened(tx, row.body, credential_id), **changes)
    tx.do(_WRITE, {"b_id": credential_id, "b_body": tx.seal(new, _BODY, credential_id)})
    return True


def next_key(tx: Tx, credential_id: str, new_key: str) -> str:
    """Return the stored key for the next trust; if there is none, store and return `new_key`.

    If the credential does not exist, nothing is stored.
    """
    row = tx.first(_LOCK, {"b_id": credential_id})
    stored_key = None if row is None else opened(tx, row.body, credential_id).next_key
    if stored_key is None:
        change(tx, credential_id, {"next_key": new_key})
    return stored_key or new_key
