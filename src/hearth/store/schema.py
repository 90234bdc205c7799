"""All tables: importing this module registers the tables of every part of Hearth."""

from hearth.store import cluster_key_table, cluster_tables
from hearth.store.tables import metadata

__all__ = ["cluster_key_table", "cluster_tables", "metadata"]
