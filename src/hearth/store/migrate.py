"""Bringing a database to the schema of this release.

Alembic carries out what is missing. Where nothing is missing it is not even imported, which spares
every start a quarter of a second; a new SQLite file gets its tables directly (a test holds both
ways against each other).
"""

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from hearth.store.database import Store
from hearth.store.tables import metadata

SCRIPTS = Path(__file__).parent / "migrations"


def head() -> str:
    """The newest migration: each file's name begins with its number."""
    return max(path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))


def upgrade(store: Store) -> None:
    """Carry out the migrations that are missing."""
    if is_current(store) or (store.dialect == "sqlite" and _made_anew(store)):
        return
    from alembic import command

    configured = config()
    with store.sync_engine.connect() as connection:
        configured.attributes["connection"] = connection
        command.upgrade(configured, "head")


def is_current(store: Store) -> bool:
    """Whether the database is at this release's schema."""
    try:
        return version(store) == head()
    except DBAPIError:
        return False


def version(store: Store) -> str | None:
    """The newest migration that the database has seen. Raises DBAPIError where it has no tables."""
    with store.sync_engine.connect() as connection:
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        return found.scalar()


def config() -> Any:
    """Alembic's configuration; nothing of it is in a file."""
    from alembic.config import Config

    configured = Config()
    configured.set_main_option("script_location", str(SCRIPTS))
    configured.set_main_option("path_separator", "os")
    return configured


def _made_anew(store: Store) -> bool:
    """Make all tables in an empty SQLite file; False if it is not empty."""
    with store.sync_engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        if sa.inspect(connection).get_table_names():
            connection.exec_driver_sql("ROLLBACK")
            return False
        metadata.create_all(connection)
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (head(),))
        connection.exec_driver_sql("COMMIT")
        return True
