"""Fingerprints of resources: many in one statement, each of its own rows."""

import sqlalchemy as sa

from hearth.store import reads
from hearth.store.database import Store, Tx
from hearth.store.schema import all_tables

KEYS = [(f"stack{n % 3}", f"name{n}") for n in range(40)]


def filled(store: Store) -> None:
    """Three stacks, of which each has every name; the rows hold what their columns need."""
    tables = all_tables().tables
    with store.sync_engine.begin() as link:
        for n in range(3):
            link.execute(tables["stack"].insert(), row(tables["stack"], id=f"stack{n}"))
            for name in {name for _, name in KEYS}:
                ident = f"{n}-{name}"
                values = row(tables["resource"], id=ident, stack_id=f"stack{n}", name=name)
                link.execute(tables["resource"].insert(), values)


def row(table: sa.Table, **known: str) -> dict[str, object]:
    made: dict[str, object] = {}
    for column in table.columns:
        if not column.nullable:
            kind = column.type.python_type
            made[column.name] = b"" if kind is bytes else kind(0) if kind is not str else ""
    return made | known


def change(store: Store, table: str, **where: str) -> None:
    found = all_tables().tables[table]
    reason = b"changed" if found.c.reason.type.python_type is bytes else "changed"
    with store.sync_engine.begin() as link:
        wanted = [found.c[name] == value for name, value in where.items()]
        assert link.execute(found.update().where(*wanted).values(reason=reason)).rowcount == 1


def seen(store: Store) -> dict[tuple[str, str], int]:
    found = store.transact(lambda tx: reads.fingerprints(tx, KEYS), write=False)
    return dict(zip(KEYS, found, strict=True))


def differing(one: dict[tuple[str, str], int], two: dict[tuple[str, str], int]) -> set[str]:
    return {name for (_, name), value in one.items() if two[_, name] != value}


def test_a_change_is_seen_in_the_resources_that_it_concerns(store: Store) -> None:
    filled(store)
    first = seen(store)
    assert len(set(first.values())) == len(KEYS)
    assert seen(store) == first
    change(store, "resource", stack_id="stack1", name="name4")
    second = seen(store)
    assert differing(first, second) == {"name4"}
    change(store, "resource", stack_id="stack2", name="name4")  # another one of that name
    assert seen(store) == second
    change(store, "stack", id="stack0")
    assert differing(second, seen(store)) == {f"name{n}" for n in range(0, 40, 3)}


def test_one_alone_has_the_number_that_it_has_among_others(store: Store) -> None:
    filled(store)
    among = seen(store)

    def alone(tx: Tx) -> list[int]:
        return [reads.fingerprints(tx, [key])[0] for key in KEYS]

    assert store.transact(alone, write=False) == list(among.values())
    assert store.transact(lambda tx: reads.fingerprints(tx, []), write=False) == []
