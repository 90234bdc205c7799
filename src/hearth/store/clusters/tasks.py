"""The tasks of conductors: the remaining work for the accepted requests for clusters.

A task is stored in the transaction that accepts its request, and removed in the transaction that
finishes it. A conductor claims a task for a limited time, which it extends while it works. `epoch`
counts the claims, and each commit checks it, so a conductor that lost its task cannot commit. Only
the oldest task of a cluster can be claimed. Claims and due times are times of the database.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa

from hearth.clusters.task_content import TaskContent, UnknownTask, kind_of, packed, unpacked
from hearth.store.clusters.tables import cluster_task as task
from hearth.store.clusters.tables import conductor
from hearth.store.credentials import Requester
from hearth.store.database import Tx
from hearth.store.prepared import NOW, Prepared

LEASE_S = 15.0
BINARY = "magnum-conductor"


class Lost(Exception):
    """The task no longer belongs to this conductor: it was finished, removed or claimed by another
    one.
    """


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task for a conductor.

    `content` has the arguments of the request and what earlier steps have stored. `step` is the
    next step; the empty step is the first one. `requester` is the token and the rights of the user
    who made the request; it is empty if Hearth itself stored the task. `attempts` counts the failed
    attempts of the step.
    """

    cluster_id: str
    content: TaskContent
    id: int = 0
    step: str = ""
    epoch: int = 0
    attempts: int = 0
    requester: Requester = Requester()
    created_at: float = 0.0

    @property
    def kind(self) -> str:
        """The name of the request, as the row stores it."""
        content = self.content
        return content.kind if isinstance(content, UnknownTask) else kind_of(type(content))


def put(tx: Tx, new: Task, now: float, delay_s: float = 0.0) -> None:
    """Store a new task, which becomes due after `delay_s` seconds."""
    values = {
        "cluster_id": new.cluster_id,
        "kind": new.kind,
        "step": new.step,
        "body": _sealed(tx, new),
        "epoch": 0,
        "attempts": 0,
        "due_at": NOW + delay_s,
        "created_at": now,
    }
    tx.execute(task.insert().values(values))


_OF_CLUSTER = Prepared(
    lambda: (
        sa.select(task)
        .where(task.c.cluster_id == sa.bindparam("cluster_id", type_=sa.String()))
        .order_by(task.c.id)
    )
)


def of_cluster(tx: Tx, cluster_id: str) -> list[Task]:
    """Return the tasks of a cluster, the oldest first."""
    return [_task(tx, row) for row in tx.rows(_OF_CLUSTER, {"cluster_id": cluster_id})]


def drop_of_cluster(tx: Tx, cluster_id: str) -> None:
    """Remove all tasks of a cluster.

    A conductor that works on one of them gets Lost at its next commit.
    """
    tx.execute(task.delete().where(task.c.cluster_id == cluster_id))


def drop_kind(tx: Tx, cluster_id: str, content_type: type[TaskContent]) -> None:
    """Remove the tasks of this kind of a cluster."""
    kind = kind_of(content_type)
    tx.execute(task.delete().where(task.c.cluster_id == cluster_id, task.c.kind == kind))


def drop(tx: Tx, task_id: int) -> None:
    """Remove a task."""
    tx.execute(task.delete().where(task.c.id == task_id))


_FREE = sa.or_(task.c.owner.is_(None), task.c.leased_until < NOW)


def claimable(tx: Tx, limit: int) -> list[tuple[int, int]]:
    """Return (id, epoch) of at most `limit` tasks that a conductor can claim, in the order of their
    due times.

    Such a task is due, is the oldest of its cluster, and has no owner or an expired claim.
    """
    older = task.alias("older")
    first = ~sa.exists().where(older.c.cluster_id == task.c.cluster_id, older.c.id < task.c.id)
    query = sa.select(task.c.id, task.c.epoch).where(_FREE, task.c.due_at <= NOW, first)
    return [(row.id, row.epoch) for row in tx.rows(query.order_by(task.c.due_at).limit(limit))]


def claim(tx: Tx, owner: str, candidates: Sequence[tuple[int, int]]) -> list[Task]:
    """Claim those of the given tasks that are still free, and return them.

    `candidates` are pairs (id, epoch) from `claimable`.
    """
    tasks: list[Task] = []
    for task_id, epoch in candidates:
        condition = sa.and_(task.c.id == task_id, task.c.epoch == epoch)
        values = {"owner": owner, "epoch": epoch + 1, "leased_until": NOW + LEASE_S}
        if tx.execute(task.update().where(condition, _FREE).values(values)).rowcount == 1:
            claimed = tx.first(sa.select(task).where(task.c.id == task_id))
            tasks.append(_task(tx, claimed))
    return tasks


def extend(tx: Tx, owner: str) -> None:
    """Extend the claims of a conductor, except those that have expired."""
    condition = sa.and_(task.c.owner == owner, task.c.leased_until >= NOW)
    tx.execute(task.update().where(condition).values(leased_until=NOW + LEASE_S))


def renew(tx: Tx, claimed: Task) -> bool:
    """Extend the claim of a task; return False if it has expired or another conductor has the
    task.
    """
    condition = sa.and_(
        task.c.id == claimed.id, task.c.epoch == claimed.epoch, task.c.leased_until >= NOW
    )
    return (
        tx.execute(task.update().where(condition).values(leased_until=NOW + LEASE_S)).rowcount == 1
    )


def release(tx: Tx, owner: str) -> None:
    """Release all tasks of a conductor, because it stops."""
    condition = task.c.owner == owner
    tx.execute(task.update().where(condition).values(owner=None, leased_until=None))


def advance(
    tx: Tx, claimed: Task, step: str, content: TaskContent, *, delay_s: float | None = None
) -> Task:
    """Store the next step of a task and its content, with no failed attempts; return the task.
    Raises Lost.

    If `delay_s` is given, the task is released and becomes due again after that time. Otherwise
    this conductor keeps it.
    """
    after = msgspec.structs.replace(claimed, step=step, content=content, attempts=0)
    values: dict[str, Any] = {"step": step, "body": _sealed(tx, after), "attempts": 0}
    if delay_s is not None:
        values |= {"owner": None, "leased_until": None, "due_at": NOW + delay_s}
    _change(tx, claimed, values)
    return after


def retry(tx: Tx, claimed: Task, delay_s: float) -> None:
    """Release a task whose step failed; it becomes due again after `delay_s` seconds. Raises
    Lost.
    """
    free = {"owner": None, "leased_until": None, "due_at": NOW + delay_s}
    _change(tx, claimed, {**free, "attempts": claimed.attempts + 1})


def check(tx: Tx, claimed: Task) -> None:
    """Lock the row of a task. Raises Lost if the task no longer belongs to this conductor."""
    row = tx.first(sa.select(task.c.epoch).where(task.c.id == claimed.id).with_for_update())
    if row is None or row.epoch != claimed.epoch:
        raise Lost


def finish(tx: Tx, claimed: Task) -> None:
    """Remove a task that is complete. Raises Lost."""
    condition = sa.and_(task.c.id == claimed.id, task.c.epoch == claimed.epoch)
    if tx.execute(task.delete().where(condition)).rowcount != 1:
        raise Lost


def beat(tx: Tx, host: str, now: float) -> None:
    """Record that the conductor of this host is alive."""
    condition = sa.and_(conductor.c.host == host, conductor.c.binary == BINARY)
    values = {"last_seen_up": NOW, "updated_at": now, "report_count": conductor.c.report_count + 1}
    if tx.execute(conductor.update().where(condition).values(values)).rowcount:
        return
    first = {
        "host": host,
        "binary": BINARY,
        "disabled": False,
        "last_seen_up": NOW,
        "forced_down": False,
        "report_count": 1,
        "created_at": now,
    }
    tx.execute(conductor.insert().values(first))


def conductors(tx: Tx, down_after_s: float) -> Sequence[Mapping[str, Any]]:
    """Return the rows of all conductors, each with an additional entry `up`.

    `up` is true if the conductor was alive in the last `down_after_s` seconds and is not forced
    down.
    """
    alive = conductor.c.last_seen_up > NOW - down_after_s
    rows = tx.rows(sa.select(conductor, alive.label("alive")).order_by(conductor.c.id))
    return [{**row._mapping, "up": bool(row.alive) and not row.forced_down} for row in rows]


def _change(tx: Tx, claimed: Task, values: Mapping[str, Any]) -> None:
    condition = sa.and_(task.c.id == claimed.id, task.c.epoch == claimed.epoch)
    if tx.execute(task.update().where(condition).values(values)).rowcount != 1:
        raise Lost


def _sealed(tx: Tx, claimed: Task) -> bytes:
    _, content = packed(claimed.content)
    body = {"content": content, "requester": claimed.requester}
    return tx.seal(body, "cluster_task.body", claimed.cluster_id)


def _task(tx: Tx, row: Any) -> Task:
    body = tx.unseal(row.body, "cluster_task.body", row.cluster_id)
    content = unpacked(row.kind, body.get("content"))
    return Task(
        id=row.id,
        cluster_id=row.cluster_id,
        content=content,
        step=row.step,
        epoch=row.epoch,
        attempts=row.attempts,
        created_at=row.created_at,
        requester=msgspec.convert(body["requester"], Requester),
    )
