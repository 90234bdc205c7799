"""The keys of a database: check that a process can decrypt its values, and encrypt with a new key.

The row `pepper` of the table `keyring` contains the key of all fingerprints, encrypted like user
data. So a process whose keys cannot decrypt it fails before it writes anything, and fingerprints
stay the same when keys change. `rekey` encrypts that row last. Until then a process needs the old
key to start, because some values are still encrypted with it.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from hearth.store.database import Store, Tx
from hearth.store.schema import all_tables
from hearth.store.seal import Sealer, Unsealable, pepper_of
from hearth.store.tables import SEALED, SEALED_TEXT, key_of, keyring

PEPPER = "pepper"
BATCH = 200  # rows per transaction

_PLACE = ("keyring.body", PEPPER)
_ITS = sa.select(keyring.c.body).where(keyring.c.name == PEPPER)


class WrongKey(Exception):
    """No configured key decrypts this database; the message explains what to do."""

    def __init__(self) -> None:
        super().__init__(
            "auth_encryption_key: none of its keys decrypts this database, which was encrypted "
            "with another key; append that key to the option, after a comma"
        )


def unlock(store: Store, secrets: Sequence[str]) -> None:
    """Check the configured keys against the database, and read the key for fingerprints from it.

    `secrets` are the keys, the newest first. If the database has no key for fingerprints yet, it is
    derived from the newest key and stored. Raises WrongKey if no key decrypts it.
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
    pepper = pepper_of(secrets[0])
    row = {"name": PEPPER, "body": store.sealer.seal_bytes(pepper, *_PLACE)}
    try:
        store.transact(lambda tx: tx.execute(keyring.insert(), row))
    except IntegrityError:  # another process has stored one
        pepper = store.transact(_pepper, write=False) or pepper
    return pepper


def _place(table: sa.Table, column: sa.Column[Any], row: Any) -> tuple[str, ...]:
    """Return the place for which a value is encrypted: its column, followed by the key of its
    row.
    """
    return f"{table.name}.{column.name}", *(str(getattr(row, name)) for name in key_of(table))


def sealed_columns() -> Iterator[tuple[sa.Table, sa.Column[Any]]]:
    """Yield every column that contains encrypted values; that of the key for fingerprints comes
    last.
    """
    for table in sorted(all_tables().sorted_tables, key=lambda table: table is keyring):
        for column in table.columns:
            if column.type is SEALED or column.type is SEALED_TEXT:
                yield table, column


def rekey(store: Store) -> Iterator[tuple[str, int]]:
    """Encrypt all values with the newest key; yield (table.column, number of values) per column.

    The number counts the values that were encrypted with another key before. The service may run at
    the same time: if a process changes a value, that process encrypts it. If this is interrupted, a
    second call continues with the remaining values. Raises Unsealable if no key decrypts a value.
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
    """Encrypt the values in the next rows with the newest key.

    `after` is the primary key of the row before them; None is the start of the table. Return the
    number of values encrypted, and the primary key of the last row; None at the end of the table.
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
        condition = sa.and_(
            *(key == getattr(row, key.name) for key in keys), column == row.sealed_body
        )
        tx.execute(table.update().where(condition).values({column.name: body}))
        done += 1
    last = tuple(getattr(rows[-1], key.name) for key in keys) if len(rows) == BATCH else None
    return done, last


def _anew(sealer: Sealer, sealed: Any, place: tuple[str, ...]) -> bytes | str | None:
    """Return the value encrypted with the newest key for the same place; None if it already is."""
    if isinstance(sealed, str):
        if sealer.is_newest_text(sealed):
            return None
        return sealer.seal_text(sealer.unseal_text(sealed, *place), *place)
    if sealed is None or sealer.is_newest(bytes(sealed)):
        return None
    return sealer.seal_bytes(sealer.unseal_bytes(bytes(sealed), *place), *place)


def _behind(keys: Sequence[sa.Column[object]], after: tuple[object, ...]) -> sa.ColumnElement[bool]:
    """Return the condition for the rows that come after a primary key, in the order of primary
    keys.
    """
    first, *tail = keys
    further = first > after[0]
    if not tail:
        return further
    return sa.or_(further, sa.and_(first == after[0], _behind(tail, after[1:])))
