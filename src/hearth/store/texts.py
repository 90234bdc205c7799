"""Templates and files, stored once by content, and the revisions made of them."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from hearth.store.database import Tx
from hearth.store.rows import Revision
from hearth.store.tables import blob, revision


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
    tx.execute(
        revision.insert(),
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
    row = tx.first(_revision(stack_id, number))
    values = {**row._mapping, "number": as_number, "created_at": now}
    tx.execute(revision.insert(), values)


def get_revision(tx: Tx, stack_id: str, number: int) -> Revision:
    """A revision with its texts."""
    row = tx.first(_revision(stack_id, number))
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
    row = tx.first(
        sa.select(revision.c.content).where(
            revision.c.stack_id == stack_id, revision.c.number == number
        )
    )
    return row.content if row else None


def put_texts(tx: Tx, texts: dict[str, str]) -> None:
    there = {
        row.hash for row in tx.rows(sa.select(blob.c.hash).where(blob.c.hash.in_(sorted(texts))))
    }
    rows = [
        {"hash": key, "body": tx.sealer.seal_bytes(text.encode())}
        for key, text in sorted(texts.items())
        if key not in there
    ]
    if not rows:
        return
    match tx.dialect:
        case "sqlite":
            tx.execute(blob.insert().prefix_with("OR IGNORE"), rows)
        case "postgresql":
            from sqlalchemy.dialects import postgresql

            tx.execute(postgresql.insert(blob).on_conflict_do_nothing(), rows)
        case _:
            tx.execute(blob.insert().prefix_with("IGNORE"), rows)


def get_texts(tx: Tx, keys: Iterable[str]) -> dict[str, str]:
    rows = tx.rows(sa.select(blob).where(blob.c.hash.in_(sorted(set(keys)))))
    return {row.hash: tx.sealer.unseal_bytes(row.body).decode() for row in rows}


def _revision(stack_id: str, number: int) -> sa.Select[Any]:
    return sa.select(revision).where(revision.c.stack_id == stack_id, revision.c.number == number)
