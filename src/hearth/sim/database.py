"""Databases in memory: made once with their statements, then used by one history after another."""

from collections.abc import Callable
from functools import cache
from typing import Any

from hearth.sim.loop import EPOCH_S
from hearth.store.database import Store
from hearth.store.seal import sealer_from_secret
from hearth.store.tables import metadata

SEALER = sealer_from_secret("simulation")
_WIPE = [str(table.delete()) for table in reversed(metadata.sorted_tables)]


class Database:
    """A store in memory whose clock is that of the history that has it."""

    def __init__(self) -> None:
        self.now: Callable[[], float] = lambda: EPOCH_S
        self.store = Store("sqlite://", SEALER, clock=lambda: self.now(), inline=True)
        source, target = (one.sync_engine.raw_connection() for one in (_empty(), self.store))
        source.driver_connection.backup(target.driver_connection)  # type: ignore[union-attr]

    def give_back(self) -> None:
        """Nobody uses it any more."""
        raw: Any = self.store.sync_engine.raw_connection().driver_connection
        raw.rollback()
        for statement in _WIPE:
            raw.execute(statement)
        _FREE.append(self)


_FREE: list[Database] = []


def database(now: Callable[[], float]) -> Database:
    """An empty one."""
    taken = _FREE.pop() if _FREE else Database()
    taken.now = now
    return taken


@cache
def _empty() -> Store:
    """Tables to be copied: that is a hundred times faster than to make them."""
    store = Store("sqlite://", SEALER, inline=True)
    store.create_tables()
    return store
