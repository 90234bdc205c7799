"""Migration of a database to the schema of this release.

Alembic runs the missing migrations. If none is missing, Alembic is not even imported, which saves a
quarter of a second at every start. The tables of a new SQLite file are created without migrations;
a test checks that the result is the same.
"""

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from hearth.store.database import Store
from hearth.store.schema import all_tables
from hearth.store.tables import compatible, metadata

log = logging.getLogger(__name__)

SCRIPTS = Path(__file__).parent / "migrations"
SINCE = "0001"
"""The oldest schema whose release can work with a database of this release. A migration that
removes or changes what older releases use must raise this number, here and in the table
`compatible`.
"""
OTHERS_S = 600.0  # how long to wait for the migrations of another process
_NAME = "concat('hearth-', left(sha1(database()), 40))"  # the locks of MariaDB are the server's
_LOCKS = {
    "postgresql": (
        sa.text("SELECT pg_try_advisory_lock(7310593858020254308)"),  # of this database only
        sa.text("SELECT pg_advisory_unlock(7310593858020254308)"),
    ),
    "mysql": (
        sa.text(f"SELECT get_lock({_NAME}, 0)"),
        sa.text(f"SELECT release_lock({_NAME})"),
    ),
}
"""The SQL statements that take and release the lock of migrations, by database dialect."""


def head() -> str:
    """Return the newest migration of this release; its name is the number with which its file
    begins.
    """
    return max(path.name.partition("_")[0] for path in (SCRIPTS / "versions").glob("[0-9]*.py"))


class TooNew(Exception):
    """A newer release has changed the database in a way that this release does not support."""


def upgrade(store: Store) -> None:
    """Run the missing migrations.

    During a rolling upgrade the database can be newer than this release. Then nothing is migrated,
    and this release works with the database if the table `compatible` allows that. Raises TooNew if
    it does not.
    """
    if is_usable(store) or (store.dialect == "sqlite" and _made_anew(store)):
        return
    from alembic import command

    configured = config()
    with store.sync_engine.connect() as connection, _alone(connection, store.dialect):
        if is_usable(store):  # another process was faster
            return
        configured.attributes["connection"] = connection
        command.upgrade(configured, "head")


@contextlib.contextmanager
def _alone(connection: sa.Connection, dialect: str) -> Iterator[None]:
    """Let one process migrate at a time. Raises TimeoutError if another process does not end its
    migrations.

    SQLite needs no lock: its first statement locks the whole file.
    """
    if dialect == "sqlite":
        yield
        return
    take, give = _LOCKS[dialect]
    ends = time.monotonic() + OTHERS_S
    while not connection.execute(take).scalar():
        connection.rollback()
        if time.monotonic() > ends:
            raise TimeoutError(
                f"another process has been migrating the database for {OTHERS_S:.0f} s: "
                "wait until it has ended, then start this process again"
            )
        time.sleep(0.1)
    connection.commit()
    try:
        yield
    finally:
        connection.rollback()
        connection.execute(give)
        connection.commit()


def is_usable(store: Store) -> bool:
    """Return whether the database has this release's schema, or a newer one that this release
    supports.

    Return False if the schema is older, if there are no tables, and if the database cannot be read.
    Raises TooNew for a newer schema that this release does not support.
    """
    try:
        schema = version(store)
        if schema is None or schema <= head():
            return schema == head()
        with store.sync_engine.connect() as connection:
            since = connection.execute(sa.select(compatible.c.since)).scalar()
    except DBAPIError:
        return False
    if since is None or since > head():
        required = since or schema
        raise TooNew(
            f"the database has schema {schema}, which needs a release with schema {required} "
            f"or later; this release has schema {head()}"
        )
    log.warning("the database has schema %s, this release has %s", schema, head())
    return True


def version(store: Store) -> str | None:
    """Return the newest migration that was run on the database, or None if none was.

    Raises DBAPIError if the database has no tables or cannot be read.
    """
    with store.sync_engine.connect() as connection:
        cursor = connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        return cursor.scalar()


def config() -> Any:
    """Return a configuration of Alembic, which needs no file."""
    from alembic.config import Config

    configured = Config()
    configured.set_main_option("script_location", str(SCRIPTS))
    configured.set_main_option("path_separator", "os")
    return configured


def create_for_plans(store: Store) -> None:
    """Create the tables of stacks in an empty database in memory, which only plans read."""
    with store.sync_engine.begin() as connection:
        metadata.create_all(connection, checkfirst=False)


def _made_anew(store: Store) -> bool:
    """Create all tables if the database is an empty SQLite file; return whether it was."""
    with store.sync_engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        if sa.inspect(connection).get_table_names():
            connection.exec_driver_sql("ROLLBACK")
            return False
        all_tables().create_all(connection, checkfirst=False)
        connection.exec_driver_sql(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (head(),))
        connection.execute(compatible.insert().values(since=SINCE))
        connection.exec_driver_sql("COMMIT")
        return True
