"""What a process had locked when it was stopped, or its machine was, keeps nobody out for long.

Others must be able to take its stacks over once its lease has run out, so a server is told to end a
transaction that is idle for as long as a lease. PostgreSQL forgets that while a batch comes in and,
as psycopg sends batches, after one: with each heartbeat an engine ends what stands still there.
"""

import sqlalchemy as sa

from hearth.store import idle
from hearth.store.database import Tx

_END = sa.text("""
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND usename = current_user AND application_name = :name
    AND xact_start IS NOT NULL AND wait_event = 'ClientRead'
    AND state_change < clock_timestamp() - make_interval(secs => :idle_s)
""")


def end_all(tx: Tx) -> None:
    """End the transactions that stand still. A process that wakes up carries its own out anew."""
    if tx.dialect == "postgresql":
        tx.execute(_END, {"name": idle.SESSION_NAME, "idle_s": idle.IDLE_S})
