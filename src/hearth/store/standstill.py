"""What a process had locked when it was stopped, or its machine was, keeps nobody out for long.

Others must be able to take its stacks over once its lease has run out, so a server is told to end a
transaction that is idle for as long as a lease. PostgreSQL forgets that while a batch comes in and,
as psycopg sends batches, after one: with each beat an engine ends what stands still there.
"""

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from hearth.store.database import Tx

IDLE_S = 15  # as long as a lease
SESSION_NAME = "hearth"

_END = sa.text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name = :name
    AND xact_start IS NOT NULL AND wait_event = 'ClientRead'
    AND state_change < clock_timestamp() - make_interval(secs => :idle_s)
""")


def bound(raw: Any, dialect: str) -> None:
    """Tell the server, through a new connection, how long its transactions may stand still."""
    if dialect == "mysql":
        settings = [f"SESSION idle_transaction_timeout = {IDLE_S}"]
    else:
        idle = f"SESSION idle_in_transaction_session_timeout = '{IDLE_S}s'"
        settings = [idle, f"SESSION application_name = '{SESSION_NAME}'"]
    with raw.cursor() as cursor:
        for setting in settings:
            cursor.execute(f"SET {setting}")
    raw.commit()


def end_all(tx: "Tx") -> None:
    """End the transactions that stand still. A process that wakes up carries its own out anew."""
    if tx.dialect == "postgresql":
        tx.execute(_END, {"name": SESSION_NAME, "idle_s": IDLE_S})
