"""The keys of a database: check that a process has the right keys, and re-encrypt with a new key.

The row `pepper` of the table `keyring` contains the key of all fingerprints, encrypted like user
data. So a process without the right key fails before it writes anything, and fingerprints stay the
same when keys change. `rekey` encrypts that row last: while a value still needs an old key, a
process without that key does not start.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from hearth.store.database import Store, Tx
from hearth.store.schema import metadata
from hearth.store.seal import Sealer, Unsealable, key_id_of, pepper_of
from hearth.store.tables import SEALED, SEALED_TEXT, key_of, keyring

PEPPER = "pepper"
BATCH = 200  # rows that one transaction seals anew

_PLACE = ("keyring.body", PEPPER)
_ITS = sa.select(keyring.c.body).where(keyring.c.name == PEPPER)


class WrongKey(Exception):
    """No configured key decrypts this database; the message explains what to do."""

    def __init__(self) -> None:
        super().__init__(
            "auth_encryption_key: none of its keys opens this database, which was encrypted "
            "with another key; append that key to the option, after a comma"
        )


def unlock(store: Store, secrets: Sequence[str]) -> None:
    """Check the keys against the database, and read the key of fingerprints from it.

    Store a new one if the database has none. A database of an earlier release keeps its
    fingerprints: their key is derived from the key that encrypted its values. Raises WrongKey.
    """
    try:
        pepper = store.transact(_pepper, write=False)
        if pepper is None:
            pepper = _first_pepper(store, secrets)
    except Unsealable:
        raise WrongKey from None
    store.sealer = store.sealer.with_pepper(pepper)


def _pepper(tx: Tx) -> bytes | None:
    row = tx.first(_ITS)
    return None if row is None else tx.sealer.unseal_bytes(row.body, *_PLACE)


def _first_pepper(store: Store, secrets: Sequence[str]) -> bytes:
    sample = store.transact(_sample, write=False)
    secret = secrets[0]
    if sample is not None:
        sealed, place = sample
        store.sealer.unseal_bytes(sealed, *place)
        ours = {key_id_of(one): one for one in secrets}
        secret = ours[Sealer.key_id(sealed)]
    pepper = pepper_of(secret)
    row = {"name": PEPPER, "body": store.sealer.seal_bytes(pepper, *_PLACE)}
    try:
        store.transact(lambda tx: tx.execute(keyring.insert(), row))
    except IntegrityError:  # another process was faster
        pepper = store.transact(_pepper, write=False) or pepper
    return pepper


def _sample(tx: Tx) -> tuple[bytes, tuple[str, ...]] | None:
    """Return any encrypted value with the column and row to which it is bound, or None."""
    for table, column in sealed_columns():
        if table is keyring or column.type is not SEALED:
            continue
        keys = [table.c[name] for name in key_of(table)]
        query = sa.select(*keys, column.label("sealed_body")).where(column.is_not(None)).limit(1)
        row = tx.first(query)
        if row is not None:
            return bytes(row.sealed_body), _place(table, column, row)
    return None


def _place(table: sa.Table, column: sa.Column[Any], row: Any) -> tuple[str, ...]:
    """Return the column and the row key to which an encrypted value is bound, in the sealer's
    format.
    """
    return f"{table.name}.{column.name}", *(str(getattr(row, name)) for name in key_of(table))


def sealed_columns() -> Iterator[tuple[sa.Table, sa.Column[Any]]]:
    """Yield every column with encrypted values; the column of the pepper comes last."""
    for table in sorted(metadata.sorted_tables, key=lambda table: table is keyring):
        for column in table.columns:
            if column.type is SEALED or column.type is SEALED_TEXT:
                yield table, column


def rekey(store: Store) -> Iterator[tuple[str, int]]:
    """Encrypt everything with the newest key; yield (table.column, number of values) for each.

    The service may run meanwhile: a value that changes is left to the process that writes it. After
    an interruption, a second run continues with the remaining values. Raises Unsealable.
    """
    for table, column in sealed_columns():
        total, after = 0, None
        while True:
            done, after = store.transact(partial(_batch, table, column, after))
            total += done
            if after is None:
                break
        yield f"{table.name}.{column.name}", total


def _batch(
    table: sa.Table, column: sa.Column[Any], after: tuple[object, ...] | None, tx: Tx
) -> tuple[int, tuple[object, ...] | None]:
    """Encrypt the next rows again; return their number, and the key of the last row (None at the
    end).
    """
    keys = list(table.primary_key.columns)
    of = dict.fromkeys([*keys, *(table.c[name] for name in key_of(table))])
    query = sa.select(*of, column.label("sealed_body")).order_by(*keys).limit(BATCH)
    if after is not None:
        query = query.where(_behind(keys, after))
    rows = tx.rows(query)
    done = 0
    for row in rows:
        body = _anew(tx.sealer, row.sealed_body, _place(table, column, row))
        if body is None:
            continue
        this = sa.and_(*(key == getattr(row, key.name) for key in keys), column == row.sealed_body)
        tx.execute(table.update().where(this).values({column.name: body}))
        done += 1
    last = tuple(getattr(rows[-1], key.name) for key in keys) if len(rows) == BATCH else None
    return done, last


def _anew(sealer: Sealer, stored: Any, place: tuple[str, ...]) -> bytes | str | None:
    """Return the value encrypted with the newest key for the same place, or None if it already
    is.
    """
    if isinstance(stored, str):
        if sealer.is_newest_text(stored):
            return None
        return sealer.seal_text(sealer.unseal_text(stored, *place), *place)
    if stored is None or sealer.is_newest(bytes(stored)):
        return None
    return sealer.seal_bytes(sealer.unseal_bytes(bytes(stored), *place), *place)


def _behind(keys: Sequence[sa.Column[object]], after: tuple[object, ...]) -> sa.ColumnElement[bool]:
    """Return the condition for rows that follow a primary key, in its order."""
    first, *rest = keys
    further = first > after[0]
    if not rest:
        return further
    return sa.or_(further, sa.and_(first == after[0], _behind(rest, after[1:])))
