"""Clusters and their node groups: create, read, change.

A change first locks the row of its cluster, so that two processes never change a cluster or its
groups at the same time. `version` counts the changes. A result that was computed without the lock
is stored only if the version is still the same.
"""

import uuid as uuids
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct, field

from hearth.clusters import notifications
from hearth.clusters.conditions import observed
from hearth.clusters.notifications import DELETE, SUCCESS, Notification
from hearth.clusters.objects import Cluster, ClusterTemplate, NodeGroup
from hearth.clusters.states import BUSY, DELETE_COMPLETE
from hearth.store import outbox
from hearth.store.clusters import rows as cluster_rows
from hearth.store.clusters.tables import (
    cluster,
    cluster_count,
    cluster_event,
    cluster_quota,
    cluster_template,
    node_group,
)
from hearth.store.database import Tx
from hearth.store.prepared import Listed, Prepared
from hearth.store.tables import stack

_CLUSTERS = Listed(lambda ids: sa.select(cluster).where(cluster.c.uuid.in_(ids)))
_LOCKED = Listed(
    lambda ids: (
        sa.select(cluster)
        .where(cluster.c.uuid.in_(ids))
        .order_by(cluster.c.uuid)  # so that two transactions never wait for each other
        .with_for_update()
    )
)
_TEMPLATES = Listed(lambda ids: sa.select(cluster_template).where(cluster_template.c.uuid.in_(ids)))
_GROUPS = Listed(
    lambda ids: (
        sa.select(node_group).where(node_group.c.cluster_id.in_(ids)).order_by(node_group.c.id)
    )
)
_EVENTS_KEPT = 200  # of each cluster


class FullCluster(Struct, frozen=True):
    """A cluster with its template and its node groups, read in one transaction.

    `version` counts the changes of the cluster. `seen` is the state of a group's stack at the last
    synchronisation; None if the group must be examined again.
    """

    cluster: Cluster
    template: ClusterTemplate
    groups: tuple[NodeGroup, ...]
    version: int
    seen: Mapping[str, str | None] = field(default_factory=dict)  # by the uuid of the group

    @property
    def defaults(self) -> list[NodeGroup]:
        """Return the two default groups, which share the stack of the cluster."""
        return [group for group in self.groups if group.is_default]

    @property
    def extras(self) -> list[NodeGroup]:
        """Return the additional groups, each of which has its own stack."""
        return [group for group in self.groups if not group.is_default]


def groups_of(tx: Tx, cluster_ids: Sequence[str]) -> dict[str, list[NodeGroup]]:
    """Return the node groups of clusters in the order of their creation, by UUID of the cluster."""
    groups: dict[str, list[NodeGroup]] = {uuid: [] for uuid in cluster_ids}
    if cluster_ids:
        for row in tx.listed(_GROUPS, list(cluster_ids)):
            groups[row.cluster_id].append(cluster_rows.object_of(tx, NodeGroup, row))
    return groups


def load(tx: Tx, uuid: str, *, lock: bool = False) -> FullCluster | None:
    """Return a cluster with its template and its node groups, or None if it does not exist.

    If `lock` is true, the row of the cluster is locked.
    """
    return load_many(tx, [uuid], lock=lock).get(uuid)


def load_many(tx: Tx, uuids: Sequence[str], *, lock: bool = False) -> dict[str, FullCluster]:
    """Return the clusters that exist, each with its template and its node groups, by UUID.

    If `lock` is true, the rows of the clusters are locked.
    """
    rows = tx.listed(_LOCKED if lock else _CLUSTERS, sorted(uuids))
    if not rows:
        return {}
    templates = {
        row.uuid: cluster_rows.object_of(tx, ClusterTemplate, row)
        for row in tx.listed(_TEMPLATES, sorted({row.cluster_template_id for row in rows}))
    }
    groups: dict[str, list[Any]] = {row.uuid: [] for row in rows}
    for row in tx.listed(_GROUPS, list(groups)):
        groups[row.cluster_id].append(row)
    return {
        row.uuid: FullCluster(
            cluster_rows.object_of(tx, Cluster, row),
            templates[row.cluster_template_id],
            tuple(
                cluster_rows.object_of(tx, NodeGroup, group_row) for group_row in groups[row.uuid]
            ),
            row.version,
            {group_row.uuid: group_row.seen for group_row in groups[row.uuid]},
        )
        for row in rows
    }


def create(
    tx: Tx, new: Cluster, groups: Iterable[NodeGroup], limit: int
) -> tuple[Cluster, list[NodeGroup]] | None:
    """Store a new cluster with its groups and return both; return None if that would exceed the
    quota.

    The limit is the quota of the project, or `limit` if it has none. Concurrent creates in a
    project wait for each other, so together they cannot exceed it. If the first two creates of a
    project run at the same time, the later one raises IntegrityError and must be repeated.
    """
    _lock_count(tx, new.project_id)
    if count(tx, new.project_id) >= quota_of(tx, new.project_id, limit):
        return None
    members = list(groups)
    created = cluster_rows.insert(tx, observed(None, new, members, new.created_at), version=0)
    return created, [cluster_rows.insert(tx, group) for group in members]


def count(tx: Tx, project_id: str) -> int:
    """Return the number of clusters of a project."""
    query = sa.select(sa.func.count()).where(cluster.c.project_id == project_id)
    return int(tx.execute(query).scalar_one())


def quota_of(tx: Tx, project_id: str, default: int) -> int:
    """Return the maximum number of clusters of a project: its quota, or `default` if it has
    none.
    """
    query = sa.select(cluster_quota.c.hard_limit).where(
        cluster_quota.c.project_id == project_id, cluster_quota.c.resource == "Cluster"
    )
    row = tx.first(query)
    return default if row is None else int(row.hard_limit)


def _lock_count(tx: Tx, project_id: str) -> None:
    """Lock the row that makes concurrent creates of a project wait for each other."""
    condition = cluster_count.c.project_id == project_id
    update = cluster_count.update().where(condition).values(clusters=cluster_count.c.clusters + 1)
    if not tx.execute(update).rowcount:
        tx.execute(cluster_count.insert().values(project_id=project_id, clusters=1))


_SEEN = Prepared(
    lambda: (
        node_group.update()
        .where(node_group.c.uuid == sa.bindparam("b_uuid", type_=sa.String()))
        .values(seen=sa.bindparam("b_seen", type_=sa.String()))
    )
)


def save(
    tx: Tx,
    before: FullCluster,
    after: Cluster,
    groups: Iterable[NodeGroup] = (),
    *,
    now: float,
    seen: Mapping[str, str] | None = None,
) -> None:
    """Write the new version `after` of a locked cluster, and its changed `groups`.

    `before` is the cluster as it is stored. The conditions of the cluster are updated. `seen` maps
    the UUID of a group to the state of its stack that was copied into the group. If a status
    becomes final and notifications are enabled, a notification is stored.
    """
    changed_groups = {group.uuid: group for group in groups}
    states = {**before.seen, **(seen or {})}
    members = [changed_groups.get(group.uuid, group) for group in before.groups]
    gone_ids = [uuid for uuid, state in states.items() if state == GONE]
    after = observed(before.cluster, after, members, now, lost_uuids=gone_ids)
    cluster_rows.update(tx, after, version=before.version + 1)
    for group in changed_groups.values():
        cluster_rows.update(tx, group)
    for uuid, state in (seen or {}).items():
        tx.do(_SEEN, {"b_uuid": uuid, "b_seen": state})
    if tx.notifies:
        notices = notifications.of_change(
            before.cluster, before.groups, after, changed_groups.values()
        )
        notify(tx, before.version + 1, notices, now)


def notify(tx: Tx, version: int, notices: Iterable[Notification], now: float) -> None:
    """Store notifications about this version of a cluster, if notifications are enabled.

    A repeated call for the same version gives a notification the same message id.
    """
    for notice in notices:
        name = f"{notice.about} {notice.target_id} {notice.action} {notice.outcome} {version}"
        outbox.put_cluster(tx, str(uuids.uuid5(uuids.NAMESPACE_OID, name)), notice, now)


def template(tx: Tx, uuid: str) -> ClusterTemplate | None:
    """Return the cluster template with this UUID, or None."""
    row = tx.first(sa.select(cluster_template).where(cluster_template.c.uuid == uuid))
    return None if row is None else cluster_rows.object_of(tx, ClusterTemplate, row)


def drop_group(tx: Tx, of: FullCluster, group: NodeGroup, now: float) -> None:
    """Delete the row of an additional group of a cluster, and store a notification about it."""
    cluster_rows.delete(tx, group)
    notice = notifications.of_group(DELETE, SUCCESS, group, of.cluster)
    notify(tx, of.version, [notice], now)


def look_again(tx: Tx, cluster_id: str) -> None:
    """Make the next synchronisation examine a cluster even if its stacks do not change.

    This counts as a change of the cluster, so that a synchronisation that has read its stacks
    before does not store what it has read.
    """
    condition = node_group.c.cluster_id == cluster_id
    tx.execute(node_group.update().where(condition).values(seen=None))
    of = cluster.c.uuid == cluster_id
    tx.execute(cluster.update().where(of).values(version=cluster.c.version + 1))


def remove(tx: Tx, before: FullCluster, now: float) -> None:
    """Delete the rows of a cluster: its groups, its events and the cluster itself. Store a
    notification about the delete.
    """
    uuid = before.cluster.uuid
    for table in (node_group, cluster_event):
        tx.execute(table.delete().where(table.c.cluster_id == uuid))
    tx.execute(cluster.delete().where(cluster.c.uuid == uuid))
    last = at(before.cluster, status=DELETE_COMPLETE)
    done = notifications.of_cluster(DELETE, SUCCESS, last, before.groups)
    notify(tx, before.version, [done], now)


def keep_statuses(tx: Tx, cluster_id: str) -> None:
    """Make the next synchronisation examine a cluster but keep the statuses of its groups.

    The status of a group is updated again when its stack changes.
    """
    state = sa.select(STATE + KEPT).where(
        stack.c.id == node_group.c.stack_id, stack.c.deleted_at.is_(None)
    )
    condition = node_group.c.cluster_id == cluster_id
    tx.execute(node_group.update().where(condition).values(seen=state.scalar_subquery()))


KEPT = "!"
"""The suffix of `nodegroup.seen` if the status of the group must stay unchanged, and only the
outputs of the stack must still be copied.
"""

STATE = stack.c.traversal + ":" + stack.c.action + "_" + stack.c.status
"""An SQL expression for the state of a stack in the format of `nodegroup.seen`."""


def unseen(tx: Tx, *, busy: bool, limit: int) -> list[str]:
    """Return the UUIDs of at most `limit` clusters that the next synchronisation must examine.

    A stack of such a cluster has changed or was deleted since the last synchronisation, or another
    function has requested the examination. If `busy` is true, only clusters in progress are
    considered; the query for these is cheap.
    """
    differs = sa.or_(
        node_group.c.seen.is_(None),
        stack.c.id.is_(None),
        node_group.c.seen != STATE,
    )
    query = (
        sa.select(cluster.c.uuid)
        .distinct()
        .join(node_group, node_group.c.cluster_id == cluster.c.uuid)
        .outerjoin(
            stack, sa.and_(stack.c.id == node_group.c.stack_id, stack.c.deleted_at.is_(None))
        )
        .where(node_group.c.stack_id.is_not(None), differs)
        .where(
            sa.or_(node_group.c.seen.is_(None), node_group.c.seen != GONE, stack.c.id.is_not(None))
        )
    )
    if busy:
        query = query.where(cluster.c.status.in_(sorted(BUSY)))
    return [row.uuid for row in tx.rows(query.limit(limit))]


GONE = "gone"
"""The value of `nodegroup.seen` if the stack no longer exists."""


def put_event(tx: Tx, cluster_id: str, kind: str, body: Mapping[str, Any], now: float) -> None:
    """Store an event of a cluster, and delete its events before the last 200.

    `kind` names what happened, and `body` has the details.
    """
    sealed = tx.seal(body, "cluster_event.body", cluster_id)
    values = {"cluster_id": cluster_id, "time": now, "kind": kind, "body": sealed}
    tx.execute(cluster_event.insert().values(values))
    of_cluster = cluster_event.c.cluster_id == cluster_id
    newest = sa.select(cluster_event.c.id).where(of_cluster).order_by(cluster_event.c.id.desc())
    last = tx.value(newest.offset(_EVENTS_KEPT).limit(1))
    if last is not None:
        tx.execute(cluster_event.delete().where(of_cluster, cluster_event.c.id <= last))


def events_of(tx: Tx, cluster_id: str) -> list[dict[str, Any]]:
    """Return the last 200 events of a cluster at most, the newest first.

    Each is a map with `time`, `event` (its kind) and the details.
    """
    query = sa.select(cluster_event).where(cluster_event.c.cluster_id == cluster_id)
    rows = tx.rows(query.order_by(cluster_event.c.id.desc()).limit(_EVENTS_KEPT))
    return [
        {
            "time": row.time,
            "event": row.kind,
            **tx.unseal(row.body, "cluster_event.body", cluster_id),
        }
        for row in rows
    ]


def changed(
    tx: Tx, uuid: str, change: Callable[[FullCluster], Cluster], now: float
) -> Cluster | None:
    """Lock a cluster, pass it to `change`, and store and return the cluster that `change` returns.

    Return None if the cluster does not exist.
    """
    before = load(tx, uuid, lock=True)
    if before is None:
        return None
    after = change(before)
    save(tx, before, after, now=now)
    return after


def at(original: Cluster, **values: Any) -> Cluster:
    """Return a copy of a cluster in which some fields have other values."""
    return msgspec.structs.replace(original, **values)
