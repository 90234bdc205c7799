"""Both ways to a schema end at the same one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from hearth.store.database import Store
from hearth.store.migrate import SINCE, TooNew, config, head, is_usable, upgrade, version
from hearth.store.seal import sealer_from_secret


def is_current(store: Store) -> bool:
    return version(store) == head()


def test_the_newest_migration_is_known_by_its_file_name():
    assert ScriptDirectory.from_config(config()).get_current_head() == head()


def test_a_new_file_has_the_same_schema_as_a_migrated_one(tmp_path):
    schemas = []
    for name in ("direct", "migrated"):
        store = Store(f"sqlite:///{tmp_path}/{name}.db", sealer_from_secret("s"))
        if name == "direct":
            upgrade(store)
        else:
            configured = config()
            with store.sync_engine.connect() as connection:
                configured.attributes["connection"] = connection
                command.upgrade(configured, "head")
        assert is_current(store)
        with store.sync_engine.connect() as connection:
            rows = connection.execute(
                sa.text("SELECT type, name, tbl_name, sql FROM sqlite_master")
            )
            schemas.append({(r.type, r.name, r.tbl_name, _words(r.sql)) for r in rows})
        store.close()
    assert schemas[0] == schemas[1]


def test_an_upgrade_of_what_is_current_changes_nothing(store: Store):
    assert is_current(store)
    upgrade(store)
    assert is_current(store)


def _words(sql: str | None) -> str:
    return " ".join((sql or "").replace("(", " ( ").replace(")", " ) ").replace(",", " ").split())


def test_many_processes_that_start_on_an_empty_database_do_not_disturb_each_other(
    database_url: str,
) -> None:
    """Each of them migrates if it is the first; also while one of them takes long."""
    stores = [Store(database_url, sealer_from_secret("test")) for _ in range(6)]
    try:
        with ThreadPoolExecutor(len(stores)) as threads:
            done = [threads.submit(upgrade, store) for store in stores]
            assert [one.result(60) for one in done] == [None] * len(stores)
        assert all(is_current(store) for store in stores)
    finally:
        for store in stores:
            store.close()


@pytest.fixture
def fresh(database_url: str) -> Iterator[Store]:
    store = Store(database_url, sealer_from_secret("test"))
    upgrade(store)
    yield store
    store.close()


def test_a_newer_database_is_used_if_its_migrations_say_so(fresh: Store) -> None:
    with fresh.sync_engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9998'"))
    upgrade(fresh)
    assert is_usable(fresh)
    assert not is_current(fresh)  # and it was not touched
    with fresh.sync_engine.begin() as connection:
        connection.execute(sa.text("UPDATE compatible SET since = '9997'"))
    with pytest.raises(TooNew, match="schema 9998, which needs a release with schema 9997"):
        upgrade(fresh)


def test_the_table_says_the_same_as_the_code(fresh: Store) -> None:
    with fresh.sync_engine.connect() as connection:
        assert connection.execute(sa.text("SELECT since FROM compatible")).scalar() == SINCE
    assert head() >= SINCE
