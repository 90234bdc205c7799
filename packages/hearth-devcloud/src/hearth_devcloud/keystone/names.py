"""Comparison of names in Keystone: it ignores case, like MySQL, Keystone's usual database."""

from __future__ import annotations

from typing import Any

from hearth_devcloud.store import Resource, Store


def same_name(first: object, second: object) -> bool:
    """Return whether two names are equal if case is ignored."""
    return str(first).casefold() == str(second).casefold()


def named(store: Store, table: str, name: object, **fields: Any) -> list[Resource]:
    """Return the objects of a table with this name and the field values in `fields`."""
    exact = store.where(table, name=name, **fields)
    if exact:
        return exact
    return [
        resource
        for resource in store.where(table, **fields)
        if same_name(resource.body["name"], name)
    ]
