"""The same rows with plain executemany: what the database alone would take."""

import sqlite3
import time
from pathlib import Path

TABLES = ("resource", "event")


def bare_s(path: Path, stack_id: str) -> float:
    """Seconds to insert the stack's resources and events, as they are in `path`, into fresh tables
    of the same shape in one synced transaction, by the driver alone."""
    source = sqlite3.connect(path)
    target = sqlite3.connect(path.with_name("bare.db"), isolation_level=None)
    try:
        target.execute("PRAGMA journal_mode=WAL")
        target.execute("PRAGMA synchronous=FULL")
        for (sql,) in source.execute(
            "SELECT sql FROM sqlite_master WHERE tbl_name IN ('resource', 'event') AND sql NOT NULL"
        ):
            target.execute(sql)
        rows = {name: _rows(source, name, stack_id) for name in TABLES}
        start = time.perf_counter()
        target.execute("BEGIN IMMEDIATE")
        for name, values in rows.items():
            marks = ",".join("?" * len(values[0]))
            target.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
        target.execute("COMMIT")
        return time.perf_counter() - start
    finally:
        source.close()
        target.close()
        for left in path.parent.glob("bare.db*"):
            left.unlink()


def _rows(source: sqlite3.Connection, table: str, stack_id: str) -> list[tuple[object, ...]]:
    return list(source.execute(f"SELECT * FROM {table} WHERE stack_id = ?", (stack_id,)))
