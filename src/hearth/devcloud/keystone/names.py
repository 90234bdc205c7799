"""Names in Keystone: comparisons ignore case, as in the databases that Keystone usually has."""

from __future__ import annotations

from typing import Any

from hearth.devcloud.store import Store, Thing


def same_name(one: object, other: object) -> bool:
    """Return whether two names are equal, without regard to case."""
    return str(one).casefold() == str(other).casefold()


def named(store: Store, table: str, name: object, **more: Any) -> list[Thing]:
    """Return the objects of a table that have this name and the other given values."""
    exact = store.where(table, name=name, **more)
    if exact:
        return exact
    return [one for one in store.where(table, **more) if same_name(one.body["name"], name)]
