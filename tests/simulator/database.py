"""In-memory databases that are created once and reused by several histories."""

from collections.abc import Callable
from functools import cache
from typing import Any

from sqlalchemy.pool import PoolProxiedConnection

from hearth.store.database import Store
from hearth.store.schema import all_tables
from hearth.store.seal import sealer_from_secret
from tests.simulator.loop import EPOCH_S

SEALER = sealer_from_secret("simulation")
_WIPE = [str(table.delete()) for table in reversed(all_tables().sorted_tables)]


class SimStore(Store):
    """An in-memory store in which a COMMIT can fail.

    If `commit` is set, it is called instead of each COMMIT of a write transaction. Its arguments
    are a function that commits and a function that rolls back.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__("sqlite://", SEALER, clock=clock, inline=True, receipts=True)
        self.commit: Callable[[Callable[[], None], Callable[[], None]], None] | None = None

    def _commit(self, link: PoolProxiedConnection, *, write: bool) -> None:
        if self.commit is None or not write:
            return super()._commit(link, write=write)
        raw: Any = link.dbapi_connection
        return self.commit(raw.commit, raw.rollback)


class Database:
    """An in-memory store that uses the clock of its current history."""

    def __init__(self) -> None:
        self.now: Callable[[], float] = lambda: EPOCH_S
        self.store = SimStore(lambda: self.now())
        source, target = (one.sync_engine.raw_connection() for one in (_empty(), self.store))
        source.driver_connection.backup(target.driver_connection)  # type: ignore[union-attr]

    def give_back(self) -> None:
        """Empty the database and make it available to the next history."""
        self.store.commit = None
        raw: Any = self.store.sync_engine.raw_connection().driver_connection
        raw.rollback()
        for statement in _WIPE:
            raw.execute(statement)
        _FREE.append(self)


_FREE: list[Database] = []


def database(now: Callable[[], float]) -> Database:
    """Return an empty database; the function `now` is its clock."""
    taken = _FREE.pop() if _FREE else Database()
    taken.now = now
    return taken


@cache
def _empty() -> Store:
    """Return a store with empty tables. Copying it is a hundred times faster than creating the
    tables.
    """
    store = Store("sqlite://", SEALER, inline=True)
    store.create_tables()
    return store
