"""Keys of a database: the wrong one is noticed, and a new one takes over."""

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa

from hearth.store import reads
from hearth.store.database import Store
from hearth.store.keyring import BATCH, WrongKey, rekey, sealed_columns, unlock
from hearth.store.migrate import upgrade
from hearth.store.seal import keys_in, sealer_of
from hearth.store.tables import SEALED, SEALED_TEXT, metadata, software_config
from tests.store.test_contract import made, new_id

OLD, NEW, OTHER = ("o" * 32, "n" * 32, "x" * 32)
MANY = BATCH + 50


def opened(url: str, *keys: str) -> Store:
    store = Store(url, sealer_of(keys))
    upgrade(store)
    try:
        unlock(store, keys)
    except WrongKey:
        store.close()
        raise
    return store


def configs(store: Store, number: int) -> None:
    """So many rows with a sealed value."""

    def put(tx):
        for i in range(number):
            row = {"id": new_id(), "project_id": "p", "tool": "t", "created_at": 1.0}
            body = tx.seal({"n": i}, "software_config.body", row["id"])
            tx.execute(software_config.insert(), {**row, "body": body})

    store.transact(put)


def key_ids(store: Store) -> set[str]:
    """The ids of the keys that sealed what is stored."""
    found = set()
    for _, column in sealed_columns():
        if column.type is not SEALED:
            continue
        rows = store.transact(
            lambda tx, c=column: [
                bytes(r.body) for r in tx.rows(sa.select(c.label("body"))) if r.body
            ]
        )
        found |= {store.sealer.key_id(one) for one in rows}
    return found


def test_a_wrong_key_is_refused_and_nothing_is_written(database_url: str):
    opened(database_url, OLD).close()
    for _ in range(2):
        with pytest.raises(WrongKey, match="none of its keys decrypts this database"):
            opened(database_url, NEW)
    for keys in [(OLD,), (OLD, NEW), (NEW, OLD)]:
        opened(database_url, *keys).close()


def test_every_sealed_column_is_sealed_anew_while_others_write(database_url: str):
    store = opened(database_url, OLD)
    configs(store, MANY)
    ident = made(store, "web")
    fingerprint = store.sealer.fingerprint("x")
    before = store.transact(lambda tx: reads.find_stack(tx, None, ident))
    store.close()

    store, beside = opened(database_url, NEW, OLD), opened(database_url, NEW, OLD)
    going = rekey(store)
    next(going)  # broken off after one column
    going.close()
    writing = threading.Thread(target=configs, args=(beside, 20))
    writing.start()
    told = dict(rekey(store))
    writing.join()
    assert told["software_config.body"] == MANY
    assert told["keyring.body"] == 1
    assert key_ids(store) == {store.sealer.key_id(store.sealer.seal_bytes(b"", ""))}
    assert sum(dict(rekey(store)).values()) == 0
    store.close()
    beside.close()

    store = opened(database_url, NEW)
    assert store.sealer.fingerprint("x") == fingerprint
    assert store.transact(lambda tx: reads.find_stack(tx, None, ident)) == before
    rows = store.transact(
        lambda tx: [
            tx.unseal(r.body, "software_config.body", r.id)
            for r in tx.rows(sa.select(software_config))
        ]
    )
    assert sorted(one["n"] for one in rows) == sorted([*range(MANY), *range(20)])
    store.close()
    with pytest.raises(WrongKey):
        opened(database_url, OLD)


def test_a_key_that_is_still_needed_cannot_be_taken_away(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/hearth.db"
    opened(url, OLD).close()
    store = opened(url, NEW, OLD)
    configs(store, 1)  # by the new one
    store.close()
    with pytest.raises(WrongKey):
        opened(url, NEW)


def test_all_columns_that_say_so_are_sealed():
    said = {
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.columns
        if str(column.comment or "").startswith("sealed")
    }
    assert said == {f"{table.name}.{column.name}" for table, column in sealed_columns()}
    assert [table.name for table, _ in sealed_columns()][-1] == "keyring"
    assert all(column.type in (SEALED, SEALED_TEXT) for _, column in sealed_columns())
    words = {"reason", "first_failure", "properties", "data", "metadata", "body", "state", "facts"}
    kept = {c.name for table in metadata.sorted_tables for c in table.columns if c.name in words}
    assert kept == words
    every = [c for table in metadata.sorted_tables for c in table.columns if c.name in words]
    assert {id(c) for c in every} <= {id(c) for _, c in sealed_columns()}


@pytest.mark.parametrize(
    ("setting", "keys"),
    [
        (OLD, (OLD,)),
        ("short", ("short",)),
        (f"{NEW},{OLD}", (NEW, OLD, f"{NEW},{OLD}")),
        (f" {NEW} , short ", (NEW, "short", f" {NEW} , short ")),
        ("a,b" + OLD, ("a,b" + OLD,)),  # one key, as in Heat
    ],
)
def test_keys_are_separated_by_commas(setting: str, keys: tuple[str, ...]):
    assert keys_in(setting) == keys
