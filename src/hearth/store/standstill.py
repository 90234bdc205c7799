"""End idle transactions, so that a process or machine that stands still does not keep its locks.

Other engines must be able to take over the stacks of such a process when its lease has expired.
Therefore the database server ends a transaction that is idle for as long as a lease. PostgreSQL
does not do so if the transaction is idle during or after a batch of statements from psycopg. There,
each heartbeat of an engine ends such transactions.
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
    """On PostgreSQL, end all transactions of Hearth that have been idle for too long.

    The processes that began them repeat them. On other databases, do nothing.
    """
    if tx.dialect == "postgresql":
        tx.execute(_END, {"name": idle.SESSION_NAME, "idle_s": idle.IDLE_S})
