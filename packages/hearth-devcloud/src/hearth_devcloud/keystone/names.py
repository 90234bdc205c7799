"""Comparison of names in Keystone: it ignores case, like MySQL, Keystone's usual database."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.store import Store, Thing


def same_name(one: object, other: object) -> bool:
    """Return whether two names are equal if case is ignored."""
    return str(one).casefold() == str(other).casefold()


def named(store: Store, table: str, name: object, **more: Any) -> list[Thing]:
    """Return the objects of a table with this name and the field values in `more`."""
    exact = store.where(table, name=name, **more)
    if exact:
        return exact
    return [one for one in store.where(table, **more) if same_name(one.body["name"], name)]
