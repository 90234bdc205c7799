"""Conversion between the objects of the cluster service and their rows.

Every object has a numeric `id`, which the database assigns, and most have a `uuid`. Fields with
user values are stored together in the column `body`, which is encrypted.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup, Quota
from hearth.store.clusters.tables import (
    cluster,
    cluster_quota,
    cluster_template,
    federation,
    node_group,
)
from hearth.store.database import Tx

Stored = Cluster | ClusterTemplate | Federation | NodeGroup | Quota
T = TypeVar("T", bound=Stored)

TABLES: Mapping[type[Any], sa.Table] = {
    Cluster: cluster,
    ClusterTemplate: cluster_template,
    Federation: federation,
    NodeGroup: node_group,
    Quota: cluster_quota,
}
_SEALED: Mapping[type[Any], tuple[str, ...]] = {
    kind: tuple(
        field.name for field in msgspec.structs.fields(kind) if field.name not in table.columns
    )
    for kind, table in TABLES.items()
}
_JSON = {"member_ids"}  # lists in a column of their own
_COLUMNS: Mapping[type[Any], tuple[str, ...]] = {
    kind: tuple(field.name for field in msgspec.structs.fields(kind) if field.name in table.columns)
    for kind, table in TABLES.items()
}
_BOOLEANS: Mapping[type[Any], tuple[str, ...]] = {
    kind: tuple(n for n in names if isinstance(TABLES[kind].c[n].type, sa.Boolean))
    for kind, names in _COLUMNS.items()
}


def values_of(tx: Tx, entity: Stored) -> dict[str, Any]:
    """Return the values of the columns for an object, without `id`."""
    kind = type(entity)
    sealed = _SEALED[kind]
    values = {name: getattr(entity, name) for name in _COLUMNS[kind] if name != "id"}
    for name in _JSON & values.keys():
        values[name] = msgspec.json.encode(values[name]).decode()
    if sealed:
        body = {name: getattr(entity, name) for name in sealed}
        values["body"] = tx.seal(body, f"{TABLES[kind].name}.body", values["uuid"])
    return values


def object_of(tx: Tx, kind: type[T], row: Any) -> T:
    """Return the object of this class that a row contains."""
    values = {name: getattr(row, name) for name in _COLUMNS[kind]}
    for name in _BOOLEANS[kind]:  # SQLite and MariaDB have numbers there
        values[name] = bool(values[name])
    for name in _JSON & values.keys():
        values[name] = msgspec.json.decode(values[name])
    if _SEALED[kind]:
        values |= tx.unseal(row.body, f"{TABLES[kind].name}.body", values["uuid"])
    return kind(**values)


def insert(tx: Tx, entity: T, **columns: Any) -> T:
    """Store a new object and return it with its `id`; `columns` are the values of more columns."""
    table = TABLES[type(entity)]
    done = tx.execute(table.insert().values({**values_of(tx, entity), **columns}))
    number = done.inserted_primary_key
    assert number is not None
    return msgspec.structs.replace(entity, id=number[0])


def update(tx: Tx, entity: Stored, **columns: Any) -> None:
    """Write all fields of a stored object, whose row the caller has locked.

    `columns` are the values of further columns.
    """
    table = TABLES[type(entity)]
    values = {**values_of(tx, entity), **columns}
    tx.execute(table.update().where(table.c.id == entity.id).values(values))


def delete(tx: Tx, entity: Stored) -> None:
    """Delete the row of an object."""
    table = TABLES[type(entity)]
    tx.execute(table.delete().where(table.c.id == entity.id))
