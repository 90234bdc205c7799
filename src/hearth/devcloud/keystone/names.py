"""Names in Keystone: upper and lower case are the same, as in the databases it is installed on."""

from __future__ import annotations

from typing import Any

from hearth.devcloud.store import Store, Thing


def same_name(one: object, other: object) -> bool:
    """Return whether two names stand for the same thing."""
    return str(one).casefold() == str(other).casefold()


def named(store: Store, table: str, name: object, **more: Any) -> list[Thing]:
    """Return the things of a table with that name, and with those other values."""
    exact = store.where(table, name=name, **more)
    if exact:
        return exact
    return [one for one in store.where(table, **more) if same_name(one.body["name"], name)]
