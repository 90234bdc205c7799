"""Find objects of the cluster service by UUID or name."""

from typing import TypeVar

import sqlalchemy as sa

from hearth.clusters.objects import Cluster, ClusterTemplate, Federation, NodeGroup
from hearth.store.clusters.rows import TABLES, object_of
from hearth.store.clusters.tables import cluster, cluster_template
from hearth.store.database import Tx

T = TypeVar("T", Cluster, ClusterTemplate, Federation, NodeGroup)

NAMESAKES_MAX = 2  # several objects are an error, so two are enough


def by_ident(
    tx: Tx, kind: type[T], ident: str, *visible: sa.ColumnElement[bool], lock: bool = False
) -> list[T]:
    """Return the objects with the UUID or name `ident` that meet the conditions `visible`.

    At most one is found by UUID; otherwise up to two are found by name, so that the caller can
    detect an ambiguous name. If `lock` is true, their rows are locked.
    """
    table = TABLES[kind]
    for column in (table.c.uuid, table.c.name):
        query = sa.select(table).where(column == ident, *visible).order_by(table.c.id)
        query = query.limit(NAMESAKES_MAX)
        rows = tx.rows(query.with_for_update() if lock else query)
        if rows:
            return [object_of(tx, kind, row) for row in rows]
    return []


def in_project(kind: type, project_id: str | None) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for objects of a project; none if `project_id` is None (all
    projects).
    """
    return [] if project_id is None else [TABLES[kind].c.project_id == project_id]


def usable_templates(project_id: str | None) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for the templates that a project can use: its own, and public ones that
    are not hidden.

    There are no conditions if `project_id` is None (all projects).
    """
    if project_id is None:
        return []
    columns = cluster_template.c
    public = sa.and_(columns.public.is_(sa.true()), columns.hidden.is_(sa.false()))
    return [sa.or_(columns.project_id == project_id, public)]


def readable_templates(tx: Tx, ident: str, project_id: str | None) -> list[ClusterTemplate]:
    """Return the templates with the UUID or name `ident` that a project can read: its own, and
    public ones.

    Public templates that are hidden are found only if there is no other one, so a new template can
    have the name of a retired one. If `project_id` is None, all projects are searched.
    """
    public = cluster_template.c.public.is_(sa.true())
    return by_ident(tx, ClusterTemplate, ident, *usable_templates(project_id)) or by_ident(
        tx, ClusterTemplate, ident, public
    )


def hold_template(tx: Tx, uuid: str) -> bool:
    """Protect a template from changes until the transaction ends; return whether it exists.

    Several transactions can do so at the same time.
    """
    query = sa.select(cluster_template.c.id).where(cluster_template.c.uuid == uuid)
    return tx.first(query.with_for_update(read=True)) is not None


def in_use(tx: Tx, template_uuid: str) -> bool:
    """Return whether a cluster uses a template."""
    query = sa.select(cluster.c.id).where(cluster.c.cluster_template_id == template_uuid).limit(1)
    return tx.first(query) is not None
