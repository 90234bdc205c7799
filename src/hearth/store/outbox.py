"""The outbox: messages to other services, stored in the transaction of the change that they report.

One process at a time sends them: the running engine with the smallest id. Notifications are sent in
the order of their rows, so those of a stack or cluster have the order of its states. Each is sent
at least once.

Events for event sinks are sent in lanes. A lane is the sequence of the rows for one tree of stacks
and one sink; its rows are sent in order. A failure delays only its own lane. The column `lane` has
the same value in all rows of a lane.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct, structs

from hearth.clusters.notifications import Notification
from hearth.model.state import Status
from hearth.store import credentials
from hearth.store.claim import LIVE
from hearth.store.database import Tx
from hearth.store.prepared import NOW, Listed, Prepared
from hearth.store.rows import Event, cut, stack_row
from hearth.store.tables import credential, engine, outbox, revision, stack

STATE = "state"
CLUSTER = "cluster"
EVENT = "event"
_STATUSES = frozenset(status.value for status in Status)
_INSERT = Prepared(lambda: outbox.insert())
_DELETE = Prepared(lambda: outbox.delete().where(outbox.c.id == sa.bindparam("b_id")))
_STACKS = Listed(
    lambda ids: (
        sa.select(stack, credential.c.body.label("facts"))
        .outerjoin(credential, credential.c.id == stack.c.credential_id)
        .where(stack.c.id.in_(ids))
    )
)
_FIRST_ALIVE = sa.select(sa.func.min(engine.c.id)).where(LIVE).scalar_subquery()
_MINE = sa.bindparam("me", type_=sa.String()) == _FIRST_ALIVE
_MOST = sa.bindparam("most", type_=sa.Integer())
_PENDING = Prepared(
    lambda: (
        sa.select(outbox).where(outbox.c.lane.is_(None), _MINE).order_by(outbox.c.id).limit(_MOST)
    )
)
_ROOT = Prepared(
    lambda: (
        sa.select(
            revision.c.stack_id,
            revision.c.number,
            revision.c.body.label("asked"),
            credential.c.id.label("credential_id"),
            credential.c.body.label("facts"),
        )
        .select_from(stack)
        .join(
            revision,
            sa.and_(revision.c.stack_id == stack.c.id, revision.c.number == stack.c.revision),
        )
        .outerjoin(credential, credential.c.id == stack.c.credential_id)
        .where(stack.c.id == sa.bindparam("b_root", type_=sa.String()))
    )
)
_LANED = outbox.alias("laned")
_HEADS = (
    sa.select(sa.func.min(_LANED.c.id)).where(_LANED.c.lane.is_not(None)).group_by(_LANED.c.lane)
)
_DUE = Prepared(
    lambda: (
        sa.select(outbox.c.lane)
        .where(outbox.c.id.in_(_HEADS), outbox.c.due_at <= NOW, _MINE)
        .order_by(outbox.c.due_at)
        .limit(_MOST)
    )
)
_LANE = Prepared(
    lambda: (
        sa.select(outbox)
        .where(outbox.c.lane == sa.bindparam("b_lane", type_=sa.String()))
        .order_by(outbox.c.id)
        .limit(_MOST)
    )
)
_LATER = Prepared(
    lambda: (
        outbox.update()
        .where(outbox.c.id == sa.bindparam("b_id"))
        .values(
            attempts=outbox.c.attempts + 1, due_at=NOW + sa.bindparam("b_pause", type_=sa.Double())
        )
    )
)


class Leaving(Struct, frozen=True):
    """A row of the outbox: a message that must still be sent.

    `kind` is `STATE`, `CLUSTER` or `EVENT`. `attempts` counts the failed attempts to send it.
    """

    id: int
    kind: str
    body: Any
    attempts: int


class ScalingNotice(Struct, frozen=True):
    """A notification about the start, the end or the failure of a scaling of a group.

    `id` is the message id. `status` is IN_PROGRESS, COMPLETE or FAILED. `facts` are added to the
    message.
    """

    id: str
    time: float
    stack_id: str
    status: Status
    facts: Mapping[str, Any]


def put_scalings(tx: Tx, notices: Sequence[ScalingNotice]) -> None:
    """Store notifications about scalings, if notifications are enabled."""
    if not notices or not tx.notifies:
        return
    ids = sorted({notice.stack_id for notice in notices})
    rows_by_id = {row.id: row for row in tx.listed(_STACKS, ids)}
    for notice in notices:
        columns = rows_by_id[notice.stack_id]
        scaling = {"status": notice.status.value, "facts": dict(notice.facts)}
        body = {
            **_state(tx, notice.id, notice.time, stack_row(tx, columns[:-1]), columns),
            "scaling": scaling,
        }
        tx.many(_INSERT, [_row(tx, STATE, notice.time, body)])


def put_states(tx: Tx, events: Iterable[Event]) -> None:
    """Store a notification for each of the events that reports a new state of a stack.

    Events about drift report no state. The caller checks whether notifications are enabled.
    """
    stack_events = [
        event
        for event in events
        if event.physical_id == event.stack_id and event.status in _STATUSES
    ]
    if not stack_events:
        return
    rows_by_id = {
        row.id: row
        for row in tx.listed(_STACKS, sorted({event.stack_id for event in stack_events}))
    }
    tx.many(
        _INSERT,
        [
            _row(
                tx,
                STATE,
                event.time,
                _state(tx, event.id, event.time, event, rows_by_id[event.stack_id]),
            )
            for event in stack_events
        ],
    )


def put_cluster(tx: Tx, ident: str, notification: Notification, now: float) -> None:
    """Store a notification about a cluster, if notifications are enabled; `ident` is the message
    id.
    """
    if not tx.notifies:
        return
    body = {"id": ident, "time": now, **msgspec.to_builtins(notification)}
    tx.many(_INSERT, [_row(tx, CLUSTER, now, body)])


def put_events(tx: Tx, root_id: str, events: Iterable[Event]) -> None:
    """Store the events of a tree of stacks once for each event sink that the root stack has now.

    Each row includes the credential, because the stack and its credential may be deleted before the
    event is posted.
    """
    root = tx.first(_ROOT, {"b_root": root_id})
    content = tx.unseal(root.asked, "revision.body", root.stack_id, root.number)
    sinks = content["environment"].get("event_sinks") or []
    if not sinks:
        return
    has_credential = root.facts is not None
    credential = credentials.opened(tx, root.facts, root.credential_id) if has_credential else None
    lanes = [tx.sealer.fingerprint([root_id, sink["type"], sink["target"]]) for sink in sinks]
    rows = []
    for event in events:
        body = {"root_id": root_id, "credential": credential, "event": structs.asdict(event)}
        for lane, sink in zip(lanes, sinks, strict=True):
            row = _row(tx, EVENT, event.time, {**body, "sink": sink})
            rows.append({**row, "lane": lane})
    tx.many(_INSERT, rows)


def _row(tx: Tx, kind: str, now: float, body: Any) -> dict[str, Any]:
    return {"kind": kind, "body": tx.seal(body, "outbox.body", kind), "due_at": now, "attempts": 0}


def _state(tx: Tx, ident: str, time: float, event: Any, row: Any) -> dict[str, Any]:
    """Return the content of a notification about the stack event `event`; `row` is the row of the
    stack.
    """
    has_credential = row.facts is not None
    user_id = (
        credentials.opened(tx, row.facts, row.credential_id).user_id if has_credential else None
    )
    return {
        "id": ident,
        "time": time,
        "action": event.action,
        "status": event.status,
        "reason": cut(event.reason),
        "stack_id": row.id,
        "stack_name": row.name,
        "project_id": row.project_id,
        "user_id": user_id or None,
        "user_name": row.creator,
        "tags": row.tags.split(",") if row.tags else [],
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "revision": row.revision,
    }


def pending(tx: Tx, engine_id: str, limit: int) -> list[Leaving]:
    """Return the oldest notifications in the outbox, at most `limit`.

    The list is empty if another engine is currently the sender.
    """
    return _leaving(tx, tx.rows(_PENDING, {"me": engine_id, "most": limit}))


def due_lanes(tx: Tx, engine_id: str, limit: int) -> list[str]:
    """Return at most `limit` lanes whose first row is due, by their values in the column `lane`.

    A lane is a sequence of rows that are sent in order. The list is empty if another engine is
    currently the sender.
    """
    return [row.lane for row in tx.rows(_DUE, {"me": engine_id, "most": limit})]


def of_lane(tx: Tx, lane: str, limit: int) -> list[Leaving]:
    """Return the first rows of a lane in the order in which they must be sent, at most `limit`."""
    return _leaving(tx, tx.rows(_LANE, {"b_lane": lane, "most": limit}))


def later(tx: Tx, row_id: int, pause_s: float) -> None:
    """Delay a row and the later rows of its lane by `pause_s` seconds, and count the attempt.

    Call this for the first row of a lane if it could not be sent.
    """
    tx.do(_LATER, {"b_id": row_id, "b_pause": pause_s})


def _leaving(tx: Tx, rows: Iterable[Any]) -> list[Leaving]:
    return [
        Leaving(row.id, row.kind, tx.unseal(row.body, "outbox.body", row.kind), row.attempts)
        for row in rows
    ]


def sent(tx: Tx, ids: Sequence[int]) -> None:
    """Delete rows that were sent, or that are given up, by their ids."""
    if ids:
        tx.many(_DELETE, [{"b_id": i} for i in ids])
