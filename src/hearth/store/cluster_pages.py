"""Pages of the tables of the cluster service: a part of the rows, sorted, after a marker."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sqlalchemy as sa

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup, Quota
from hearth.store.cluster_rows import TABLES, object_of
from hearth.store.database import Tx

T = TypeVar("T", Cluster, ClusterTemplate, Federation, NodeGroup, Quota)

INTERNAL = frozenset(
    {
        "body", "version", "seen", "health_at", "identity_id", "ca_cert_ref", "magnum_cert_ref",
        "etcd_ca_cert_ref", "front_proxy_ca_cert_ref", "member_ids",
    }
)  # fmt: skip
"""Columns by which lists cannot be sorted, because they are encrypted or not shown."""


class NoMarker(Exception):
    """The marker names no row of the list."""


@dataclass(frozen=True)
class Page:
    """Which rows to return: at most `limit` rows, after the row with the UUID `marker`.

    For rows without a UUID, `marker` is the number of the row.
    """

    limit: int
    marker: str | int | None = None
    sort_key: str = "id"
    descending: bool = False


def sort_keys(kind: type) -> list[str]:
    """Return the columns by which a list can be sorted."""
    return [column.name for column in TABLES[kind].columns if column.name not in INTERNAL]


def page(tx: Tx, kind: type[T], wanted: Page, *visible: sa.ColumnElement[bool]) -> Sequence[T]:
    """Return a page of the rows that fulfil the conditions. Rows with equal values are sorted by
    their number; rows without a value are the lowest. Raises NoMarker.
    """
    table = TABLES[kind]
    key, number = table.c[wanted.sort_key], table.c.id
    query = sa.select(table).where(*visible)
    if wanted.marker is not None:
        named = table.c.uuid if "uuid" in table.c else number
        last = tx.first(sa.select(table).where(named == wanted.marker, *visible))
        if last is None:
            raise NoMarker
        query = query.where(_after(key, number, last, wanted))
    turn = sa.desc if wanted.descending else sa.asc
    there = sa.case((key.is_(None), 0), else_=1)
    rows = tx.rows(query.order_by(turn(there), turn(key), turn(number)).limit(wanted.limit))
    return [object_of(tx, kind, row) for row in rows]


def _after(
    key: sa.Column[Any], number: sa.Column[Any], last: Any, wanted: Page
) -> sa.ColumnElement[bool]:
    value = getattr(last, key.name)
    down = wanted.descending
    later = number < last.id if down else number > last.id
    if value is None:
        same = sa.and_(key.is_(None), later)
        return same if down else sa.or_(same, key.is_not(None))
    beyond = key < value if down else key > value
    found = sa.or_(beyond, sa.and_(key == value, later))
    return sa.or_(found, key.is_(None)) if down else found
