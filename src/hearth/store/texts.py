"""Templates and files, stored once by content, and the revisions made of them."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from hearth.store.database import Tx
from hearth.store.prepared import Listed, Prepared
from hearth.store.rows import Revision
from hearth.store.tables import blob, revision

_INSERT = Prepared(revision.insert())
_NUMBERED = (
    revision.c.stack_id == sa.bindparam("stack_id", type_=sa.String()),
    revision.c.number == sa.bindparam("number", type_=sa.Integer()),
)
_REVISION = Prepared(sa.select(revision).where(*_NUMBERED))
_CONTENT = Prepared(sa.select(revision.c.content).where(*_NUMBERED))
_KNOWN = Listed(lambda keys: sa.select(blob.c.hash).where(blob.c.hash.in_(keys)))
_TEXTS = Listed(lambda keys: sa.select(blob).where(blob.c.hash.in_(keys)))
_PUT = {  # others may put the same text at the same time
    "sqlite": Prepared(blob.insert().prefix_with("OR IGNORE")),
    "postgresql": Prepared(postgresql.insert(blob).on_conflict_do_nothing()),
    "mysql": Prepared(blob.insert().prefix_with("IGNORE")),
}


def put_revision(
    tx: Tx, stack_id: str, number: int, wanted: Revision, now: float, created_by: str | None
) -> None:
    """Store a revision and the texts that are not there yet."""
    texts = {
        tx.sealer.fingerprint(text): text for text in (wanted.template, *wanted.files.values())
    }
    put_texts(tx, texts)
    by_text = {text: key for key, text in texts.items()}
    body = {
        "files": {name: by_text[text] for name, text in wanted.files.items()},
        "environment": wanted.environment,
        "parameters": wanted.parameters,
        "exports": wanted.exports,
        "facade": wanted.facade,
        "given": wanted.given,
    }
    template = by_text[wanted.template]
    tx.do(
        _INSERT,
        {
            "stack_id": stack_id,
            "number": number,
            "content": tx.sealer.fingerprint([template, body]),
            "template": template,
            "body": tx.seal(body),
            "created_at": now,
            "created_by": created_by,
        },
    )


def copy_revision(tx: Tx, stack_id: str, number: int, as_number: int, now: float) -> None:
    """The same content again under a new number (a rollback's revision)."""
    row = tx.first(_REVISION, {"stack_id": stack_id, "number": number})
    tx.do(_INSERT, {**row._asdict(), "number": as_number, "created_at": now})


def get_revision(tx: Tx, stack_id: str, number: int) -> Revision:
    """A revision with its texts."""
    row = tx.first(_REVISION, {"stack_id": stack_id, "number": number})
    body: dict[str, Any] = tx.unseal(row.body)
    texts = get_texts(tx, {row.template, *body["files"].values()})
    return Revision(
        template=texts[row.template],
        files={name: texts[key] for name, key in body["files"].items()},
        environment=body["environment"],
        parameters=body["parameters"],
        exports=body["exports"],
        facade=body["facade"],
        given=body.get("given", {}),
    )


def revision_content(tx: Tx, stack_id: str, number: int) -> str | None:
    """The keyed hash of a revision's content; equal means equal."""
    found: str | None = tx.value(_CONTENT, {"stack_id": stack_id, "number": number})
    return found


def put_texts(tx: Tx, texts: dict[str, str]) -> None:
    there = {row.hash for row in tx.rows(*_KNOWN.of(sorted(texts)))}
    rows = [
        {"hash": key, "body": tx.sealer.seal_bytes(text.encode())}
        for key, text in sorted(texts.items())
        if key not in there
    ]
    if rows:
        tx.many(_PUT[tx.dialect], rows)


def get_texts(tx: Tx, keys: Iterable[str]) -> dict[str, str]:
    rows = tx.rows(*_TEXTS.of(sorted(set(keys))))
    return {row.hash: tx.sealer.unseal_bytes(row.body).decode() for row in rows}
