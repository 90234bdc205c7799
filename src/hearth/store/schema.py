"""All tables of every part of Hearth."""

from sqlalchemy import MetaData

from hearth.store.tables import metadata


def all_tables() -> MetaData:
    """Return the tables, including those of the cluster service, which few commands import."""
    from hearth.store import cluster_key_table, cluster_tables  # noqa: F401

    return metadata
