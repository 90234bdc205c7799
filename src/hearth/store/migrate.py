"""Bringing a database to the schema of this release (Alembic)."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from hearth.store.database import Store


def config() -> Config:
    """Alembic's configuration; nothing of it is in a file."""
    configured = Config()
    configured.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    configured.set_main_option("path_separator", "os")
    return configured


def upgrade(store: Store) -> None:
    """Carry out the migrations that are missing."""
    configured = config()
    with store.sync_engine.connect() as connection:
        configured.attributes["connection"] = connection
        command.upgrade(configured, "head")


def is_current(store: Store) -> bool:
    """Whether the database is at this release's schema."""
    head = ScriptDirectory.from_config(config()).get_current_head()
    with store.sync_engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision() == head
