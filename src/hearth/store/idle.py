"""Idle connections and idle transactions of a database server."""

import time
from functools import partial
from typing import Any

import sqlalchemy as sa

IDLE_S = 15  # as long as a lease
PING_AFTER_S = 5.0
"""The idle time after which a connection is tested before its next use, in seconds. A connection
that breaks in a shorter time fails at its first statement, and the store repeats the transaction.
"""

SESSION_NAME = "hearth"


def watch(engine: sa.Engine) -> None:
    """Test each connection of a pool before it is used after an idle time.

    If the test fails, the pool replaces all connections.
    """
    sa.event.listen(engine, "checkin", _note)
    sa.event.listen(engine, "checkout", partial(_test, engine.dialect))


def _note(_raw: Any, record: Any) -> None:
    """Record the time of the last use of a connection."""
    record.info["used_at"] = time.monotonic()


def _test(dialect: sa.Dialect, raw: Any, record: Any, _proxy: Any) -> None:
    """Raise InvalidatePoolError if a connection that was idle is broken."""
    used_at = record.info.get("used_at")
    if used_at is None or time.monotonic() - used_at < PING_AFTER_S:
        return
    try:
        dialect.do_ping(raw)
    except dialect.loaded_dbapi.Error as problem:
        raise sa.exc.InvalidatePoolError(str(problem)) from problem


def bound(raw: Any, dialect: str) -> None:
    """Set the limit for idle transactions on a new connection of the database driver.

    On PostgreSQL, also give the session the name by which `standstill` finds it.
    """
    if dialect == "mysql":
        settings = [f"SESSION idle_transaction_timeout = {IDLE_S}"]
    else:
        idle = f"SESSION idle_in_transaction_session_timeout = '{IDLE_S}s'"
        settings = [idle, f"SESSION application_name = '{SESSION_NAME}'"]
    with raw.cursor() as cursor:
        for setting in settings:
            cursor.execute(f"SET {setting}")
    raw.commit()
