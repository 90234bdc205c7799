"""Templates and files, stored once per content, and the revisions that use them."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct

from hearth.store.database import Tx
from hearth.store.prepared import Listed, Prepared
from hearth.store.rows import Document, Revision
from hearth.store.tables import blob, resource, revision, stack

_INSERT = Prepared(lambda: revision.insert())
_NUMBERED = (
    revision.c.stack_id == sa.bindparam("stack_id", type_=sa.String()),
    revision.c.number == sa.bindparam("number", type_=sa.Integer()),
)
_REVISION = Prepared(lambda: sa.select(revision).where(*_NUMBERED))
_PRESENT = sa.and_(stack.c.id == revision.c.stack_id, stack.c.revision == revision.c.number)
_PRESENT_OF = Listed(
    lambda ids: sa.select(revision).join(stack, _PRESENT).where(stack.c.id.in_(ids))
)
_CONTENTS = Listed(
    lambda ids: (
        sa.select(revision.c.stack_id, revision.c.content)
        .join(stack, _PRESENT)
        .where(stack.c.id.in_(ids))
    )
)
_NEWEST = Listed(
    lambda ids: (
        sa.select(revision.c.stack_id, sa.func.max(revision.c.number).label("number"))
        .where(revision.c.stack_id.in_(ids))
        .group_by(revision.c.stack_id)
    )
)
_KNOWN = Listed(lambda keys: sa.select(blob.c.hash).where(blob.c.hash.in_(keys)))
_TEXTS = Listed(lambda keys: sa.select(blob).where(blob.c.hash.in_(keys)))


@cache
def _put(dialect: str) -> Prepared:
    """Return the statement that stores texts which other transactions may store at the same
    time.
    """
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # takes two megabytes of memory

        return Prepared(postgresql.insert(blob).on_conflict_do_nothing())
    return Prepared(blob.insert().prefix_with("OR IGNORE" if dialect == "sqlite" else "IGNORE"))


_LIST = Prepared(
    lambda: (
        sa.select(
            revision.c.number, revision.c.created_at, revision.c.created_by, revision.c.copy_of
        )
        .where(_NUMBERED[0])
        .order_by(revision.c.number.desc())
    )
)
_OLD = Prepared(
    lambda: revision.delete().where(
        _NUMBERED[0],
        revision.c.number <= sa.bindparam("last", type_=sa.Integer()),
        *(
            revision.c.number.not_in(
                sa.select(column).where(owner == sa.bindparam("stack_id", type_=sa.String()))
            )
            for column, owner in (
                (resource.c.since, resource.c.stack_id),
                (stack.c.revision, stack.c.id),
                (stack.c.previous_revision, stack.c.id),
            )
        ),
    )
)


class RevisionRow(Struct, frozen=True):
    """The number, the creation time and the creator of a revision.

    `created_by` is the name of the user, if known. `copy_of` is the number of the revision from
    which it was copied, if any.
    """

    number: int
    created_at: float
    created_by: str | None
    copy_of: int | None


def list_revisions(tx: Tx, stack_id: str) -> list[RevisionRow]:
    """Return the stored revisions of a stack, newest first."""
    return [RevisionRow(**row._asdict()) for row in tx.rows(_LIST, {"stack_id": stack_id})]


def put_rows(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store revisions whose texts are already stored, and delete old revisions that are not
    needed.
    """
    if rows:
        tx.many(_INSERT, rows)
        _forget(tx, {row["stack_id"]: row["number"] for row in rows})


def revision_values(
    tx: Tx,
    stack_id: str,
    number: int,
    revision: Revision,
    now: float,
    created_by: str | None,
    copy_of: int | None = None,
) -> dict[str, Any]:
    """Store the texts of a revision, and return the values for its row."""
    texts, template, body = _body(tx, revision)
    put_texts(tx, texts)
    return {
        "stack_id": stack_id,
        "number": number,
        "content": tx.sealer.fingerprint([template, body]),
        "template": template,
        "body": tx.seal(body, "revision.body", stack_id, number),
        "created_at": now,
        "created_by": created_by,
        "copy_of": copy_of,
    }


def content_of(tx: Tx, revision: Revision) -> str:
    """Return the hash of a revision's content; `revision_contents` returns it for stored
    revisions.
    """
    _, template, body = _body(tx, revision)
    return tx.sealer.fingerprint([template, body])


def _body(tx: Tx, revision: Revision) -> tuple[dict[str, str], str, dict[str, Any]]:
    """Return (texts by hash, hash of the template, the other content) of a revision."""
    by_text = {text: tx.hash_of(text) for text in (revision.template, *revision.files.values())}
    texts = {key: text for text, key in by_text.items()}
    body = {
        "files": {name: by_text[text] for name, text in revision.files.items()},
        "environment": revision.environment,
        "parameters": revision.parameters,
        "exports": revision.exports,
        "facade": revision.facade,
        "given": msgspec.to_builtins(revision.document) if revision.document else {},
    }
    return texts, by_text[revision.template], body


def _forget(tx: Tx, newest: Mapping[str, int]) -> None:
    """Delete the revisions that `StoreConfig` does not keep, except those that the stack or one of
    its records uses.
    """
    lasts = {i: number - tx.config.revisions for i, number in newest.items()}
    old = [{"stack_id": i, "last": last} for i, last in lasts.items() if 0 < last < newest[i]]
    if old:
        tx.many(_OLD, old)


def copy_revision(tx: Tx, stack_id: str, number: int, as_number: int, now: float) -> None:
    """Store a copy of a revision with a new number, for a rollback."""
    row = tx.first(_REVISION, {"stack_id": stack_id, "number": number})
    body = tx.seal(_opened(tx, row), "revision.body", stack_id, as_number)
    new = {"number": as_number, "body": body, "created_at": now, "copy_of": number}
    put_rows(tx, [{**row._asdict(), **new}])


def _opened(tx: Tx, row: Any) -> Any:
    return tx.unseal(row.body, "revision.body", row.stack_id, row.number)


def get_revision(tx: Tx, stack_id: str, number: int) -> Revision:
    """Return the revision of a stack with this number, with its texts."""
    return _revisions(tx, [tx.first(_REVISION, {"stack_id": stack_id, "number": number})])[stack_id]


def get_revisions(tx: Tx, ids: Sequence[str]) -> dict[str, Revision]:
    """Return the current revisions of the given stacks, with their texts, by stack id."""
    return _revisions(tx, tx.listed(_PRESENT_OF, ids))


def _revisions(tx: Tx, rows: Sequence[Any]) -> dict[str, Revision]:
    bodies = [(row, _opened(tx, row)) for row in rows]
    keys = {key for row, body in bodies for key in (row.template, *body["files"].values())}
    texts = get_texts(tx, keys)
    return {row.stack_id: _revision(row, body, texts) for row, body in bodies}


def _revision(row: Any, body: Mapping[str, Any], texts: Mapping[str, str]) -> Revision:
    return Revision(
        template=texts[row.template],
        files={name: texts[key] for name, key in body["files"].items()},
        environment=body["environment"],
        parameters=body["parameters"],
        exports=body["exports"],
        facade=body["facade"],
        document=msgspec.convert(document, Document) if (document := body.get("given")) else None,
    )


def get_template(tx: Tx, stack_id: str, number: int) -> str:
    """Return the template of a revision, without reading its files."""
    row = tx.first(_REVISION, {"stack_id": stack_id, "number": number})
    return get_texts(tx, {row.template})[row.template]


def revision_contents(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the hashes of the current revisions of the given stacks, by stack id.

    Equal hashes mean equal content.
    """
    return {r.stack_id: r.content for r in tx.listed(_CONTENTS, ids)}


def newest_revisions(tx: Tx, ids: Sequence[str]) -> dict[str, int]:
    """Return the highest number of a revision of each of the given stacks, by stack id."""
    return {r.stack_id: r.number for r in tx.listed(_NEWEST, ids)}


def put_texts(tx: Tx, texts: dict[str, str]) -> None:
    """Store those texts that are not stored yet; `texts` maps the hash of each text to the text."""
    hashes = sorted(texts.keys() - tx.stored)
    known_hashes = {row.hash for row in tx.listed(_KNOWN, hashes)}
    rows = [
        {"hash": key, "body": tx.sealer.seal_bytes(texts[key].encode(), "blob.body", key)}
        for key in hashes
        if key not in known_hashes
    ]
    tx.stored.update(hashes)
    if rows:
        tx.many(_put(tx.dialect), rows)


def get_texts(tx: Tx, keys: Iterable[str]) -> dict[str, str]:
    """Return the stored texts with these hashes, by hash."""
    rows = tx.listed(_TEXTS, sorted(set(keys)))
    return {
        row.hash: tx.sealer.unseal_bytes(row.body, "blob.body", row.hash).decode() for row in rows
    }
