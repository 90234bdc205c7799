"""The limit for idle transactions, which is set on each database connection."""

from typing import Any

IDLE_S = 15  # as long as a lease
SESSION_NAME = "hearth"


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
