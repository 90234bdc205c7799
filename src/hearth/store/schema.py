"""All tables of every part of Hearth."""

from sqlalchemy import MetaData

from hearth.store.tables import metadata


def all_tables() -> MetaData:
    """Return the tables, including those of the cluster service, which few commands import."""
    from hearth.store.clusters import key_table, tables  # noqa: F401

    return metadata
