"""Pages of lists of the cluster service: sorted rows that follow a marker."""

from collections.abc import Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from msgspec import Struct

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup, Quota
from hearth.store.clusters.rows import TABLES, object_of
from hearth.store.database import Tx

T = TypeVar("T", Cluster, ClusterTemplate, Federation, NodeGroup, Quota)

INTERNAL = frozenset(
    {
        "body",
        "version",
        "seen",
        "health_at",
        "identity_id",
        "ca_cert_ref",
        "magnum_cert_ref",
        "etcd_ca_cert_ref",
        "front_proxy_ca_cert_ref",
        "member_ids",
    }
)
"""Columns by which lists cannot be sorted, because they are encrypted or not public."""


class NoMarker(Exception):
    """The marker of a page does not exist, or its row does not meet the conditions of the list."""


class Page(Struct, frozen=True):
    """The description of a page: at most `limit` rows that follow the row with the UUID `marker`.

    For tables without UUIDs, `marker` is the `id` of the row.
    """

    limit: int
    marker: str | int | None = None
    sort_key: str = "id"
    descending: bool = False


def sort_keys(kind: type) -> list[str]:
    """Return the names of the columns by which a list can be sorted."""
    return [column.name for column in TABLES[kind].columns if column.name not in INTERNAL]


def page(tx: Tx, kind: type[T], request: Page, *visible: sa.ColumnElement[bool]) -> Sequence[T]:
    """Return the rows of a page that meet the conditions `visible`. Raises NoMarker.

    Rows with equal values are sorted by their `id`. Rows without a value come first in ascending
    order.
    """
    table = TABLES[kind]
    key, number = table.c[request.sort_key], table.c.id
    query = sa.select(table).where(*visible)
    if request.marker is not None:
        ident = table.c.uuid if "uuid" in table.c else number
        last = tx.first(sa.select(table).where(ident == request.marker, *visible))
        if last is None:
            raise NoMarker
        query = query.where(_after(key, number, last, request))
    turn = sa.desc if request.descending else sa.asc
    presence = sa.case((key.is_(None), 0), else_=1)
    rows = tx.rows(query.order_by(turn(presence), turn(key), turn(number)).limit(request.limit))
    return [object_of(tx, kind, row) for row in rows]


def _after(
    key: sa.Column[Any], number: sa.Column[Any], last: Any, request: Page
) -> sa.ColumnElement[bool]:
    value = getattr(last, key.name)
    down = request.descending
    later = number < last.id if down else number > last.id
    if value is None:
        without_value = sa.and_(key.is_(None), later)
        return without_value if down else sa.or_(without_value, key.is_not(None))
    beyond = key < value if down else key > value
    condition = sa.or_(beyond, sa.and_(key == value, later))
    return sa.or_(condition, key.is_(None)) if down else condition
