"""Ownership of stacks: the leases of engines, the claims of stacks, and their release.

All times that are compared come from the database's clock.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa
from msgspec import Struct

from hearth.engine.core.record import Record
from hearth.engine.core.share import share
from hearth.store import credentials, reads
from hearth.store.database import Tx
from hearth.store.messages import Message, unpacked
from hearth.store.prepared import NOW, Listed, Prepared
from hearth.store.rows import (
    DATA,
    METADATA,
    AttemptRow,
    Revision,
    StackRow,
    record_of,
    stack_row,
)
from hearth.store.standstill import end_all
from hearth.store.tables import (
    credential,
    engine,
    inbox,
    node,
    orphan,
    resource_data,
    stack,
)
from hearth.store.texts import get_revisions, get_template

LEASE_S = 15.0
HEARTBEAT_S = 2.0
RESIGNED, DIED = 0.0, 1.0  # instead of the time of a heartbeat


LIVE = engine.c.beat_at >= NOW - LEASE_S
"""The condition that the lease of an engine is valid."""
_ME = sa.bindparam("me", type_=sa.String())
_MINE = engine.c.id == _ME
_LAST_HEARTBEAT = Prepared(
    lambda: sa.select(engine.c.beat_at, engine.c.draining, NOW.label("now")).where(_MINE)
)
_HEARTBEAT = Prepared(lambda: engine.update().where(_MINE).values(beat_at=NOW))
_SILENCES = Listed(
    lambda ids: sa.select(engine.c.id, (NOW - engine.c.beat_at).label("silent_s")).where(
        engine.c.id.in_(ids)
    )
)
_ANNOUNCE = Prepared(lambda: engine.insert())
_BEGIN = Prepared(lambda: engine.update().where(_MINE).values(started_at=NOW, beat_at=NOW))
_RESIGN = Prepared(lambda: engine.update().where(_MINE).values(beat_at=RESIGNED))
_EXPIRE_ALL = Prepared(lambda: engine.update().where(engine.c.beat_at > DIED).values(beat_at=DIED))


def announce(tx: Tx, engine_id: str, host: str, pid: int) -> None:
    """Store an engine with a new lease; if it is already stored, renew its lease."""
    if heartbeat(tx, engine_id) is not None:
        return
    row = {
        "id": engine_id,
        "host": host,
        "pid": pid,
        "started_at": 0.0,
        "beat_at": RESIGNED,
        "draining": False,
    }
    tx.do(_ANNOUNCE, row)
    tx.do(_BEGIN, {"me": engine_id})


class Heartbeat(Struct, frozen=True):
    """The result of a heartbeat.

    `now` is the time, and `silent_s` the seconds since the previous heartbeat, both by the
    database's clock. If `draining` is true, the engine must release its stacks.
    """

    now: float
    silent_s: float
    draining: bool = False


def heartbeat(tx: Tx, engine_id: str) -> Heartbeat | None:
    """Renew the lease of an engine; return None if other engines have declared it dead.

    On PostgreSQL this also ends all transactions that have been idle for too long, including those
    of other engines.
    """
    end_all(tx)
    last = tx.first(_LAST_HEARTBEAT, {"me": engine_id})
    if last is None or not tx.do(_HEARTBEAT, {"me": engine_id}):
        return None
    now = float(last.now)  # MariaDB's is a decimal
    return Heartbeat(now, now - last.beat_at, bool(last.draining))


def silences(tx: Tx, ids: Sequence[str]) -> dict[str, float]:
    """Return the seconds since the last heartbeat of each engine, by engine id.

    Engines without a row are left out.
    """
    return {row.id: row.silent_s for row in tx.listed(_SILENCES, ids)}


def resign(tx: Tx, engine_id: str) -> None:
    """End the lease of an engine at once, so that other engines can claim its stacks."""
    tx.do(_RESIGN, {"me": engine_id})


def expire_all(tx: Tx) -> None:
    """End the leases of all engines. Call this only if no other engine is running."""
    tx.do(_EXPIRE_ALL)


class Claim(Struct, frozen=True):
    """A stack of which this engine has become the owner, with the new epoch."""

    stack_id: str
    epoch: int


_FREE = sa.and_(stack.c.owner.is_(None), stack.c.deleted_at.is_(None))
_DUE = sa.and_(_FREE, stack.c.due_at <= NOW)
_WRITTEN_TO = sa.and_(  # starts from the inbox: few stacks have messages, but most have no owner
    stack.c.id.in_(sa.select(inbox.c.stack_id)),
    sa.func.coalesce(stack.c.owner, "") == "",
    stack.c.deleted_at.is_(None),
)
_STALE = sa.and_(engine.c.beat_at < NOW - LEASE_S, engine.c.id != _ME)


class Workload(Struct, frozen=True):
    """The work that an engine finds in the database.

    `claimable` is true if there may be stacks to claim. `inbox` is true if stacks of this engine
    have messages. `owned` is the pair (number of stacks that this engine owns, sum of their
    epochs).
    """

    claimable: bool
    inbox: bool
    owned: tuple[int, int]


def _wanted(condition: Any) -> Any:
    return sa.exists().where(condition)


def _of_mine(column: Any) -> Any:
    return sa.select(column).where(stack.c.owner == _ME).scalar_subquery()


_LOOK = Prepared(
    lambda: sa.select(
        sa.or_(_wanted(_DUE), _wanted(_WRITTEN_TO), _wanted(_STALE)).label("claimable"),
        sa.exists().where(inbox.c.stack_id == stack.c.id, stack.c.owner == _ME).label("inbox"),
        _of_mine(sa.func.count()).label("owned"),
        _of_mine(sa.func.sum(stack.c.epoch)).label("epochs"),
    )
)


def look(tx: Tx, engine_id: str) -> Workload:
    """Return the work that an engine has, in a single statement that locks nothing."""
    row = tx.first(_LOOK, {"me": engine_id})
    owned = row.owned, int(row.epochs or 0)
    return Workload(bool(row.claimable), bool(row.inbox), owned)


_ENGINES = Prepared(
    lambda: sa.select(
        engine.c.id,
        engine.c.draining,
        LIVE.label("live"),
        (engine.c.beat_at == RESIGNED).label("resigned"),
    )
)
_ROOM = sa.bindparam("room", type_=sa.Integer())
_OLDEST_MESSAGE = (
    sa.select(sa.func.min(inbox.c.id)).where(inbox.c.stack_id == stack.c.id).scalar_subquery()
)


def _claimable(condition: sa.ColumnElement[bool], age: Any) -> sa.Select[Any]:
    """Return a query for stacks that meet the condition, the oldest first according to `age`.

    The query has the parameter `room`, the maximum number of stacks. It locks the rows and skips
    rows that another transaction has locked.
    """
    query = sa.select(stack.c.id, stack.c.epoch).where(condition).order_by(age).limit(_ROOM)
    return query.with_for_update(skip_locked=True)


_CLAIM_DUE = Prepared(_claimable(_DUE, stack.c.due_at))
_CLAIM_WRITTEN_TO = Prepared(_claimable(_WRITTEN_TO, _OLDEST_MESSAGE))
_CLAIM_OF = Listed(lambda owners: _claimable(stack.c.owner.in_(owners), stack.c.started_at))


def _count(condition: sa.ColumnElement[bool]) -> Any:
    rows = sa.select(stack.c.id).where(condition).limit(_ROOM).subquery()
    return sa.select(sa.func.count()).select_from(rows).scalar_subquery()


_OWNED = Listed(
    lambda owners: (
        sa.select(stack.c.owner, sa.func.count().label("stacks"))
        .where(stack.c.owner.in_(owners))
        .group_by(stack.c.owner)
    )
)
_WAITING = Prepared(lambda: sa.select((_count(_DUE) + _count(_WRITTEN_TO)).label("stacks")))
_LEFT_BEHIND = Listed(
    lambda owners: sa.select(sa.func.count().label("stacks")).where(stack.c.owner.in_(owners))
)
_DEATHS = stack.c.takeovers + sa.bindparam("b_deaths", type_=sa.Integer())
_LEAST = sa.bindparam("b_least", type_=sa.Integer())
_TAKE = Prepared(
    lambda: (
        stack.update()
        .where(stack.c.id == sa.bindparam("b_id"), stack.c.epoch == sa.bindparam("b_epoch"))
        .values(
            owner=sa.bindparam("b_owner"),
            epoch=stack.c.epoch + 1,
            takeovers=sa.case((_DEATHS < _LEAST, _LEAST), else_=_DEATHS),
        )
    )
)
_FORGET = Listed(
    lambda ids: engine.delete().where(
        engine.c.id.in_(ids),
        engine.c.id.not_in(sa.select(stack.c.owner).where(stack.c.owner.is_not(None))),
    )
)


class Claims(NamedTuple):
    """The stacks that this engine now owns, and `has_more`, which is true if further stacks need an
    owner.
    """

    stacks: list[Claim]
    has_more: bool


def claim(tx: Tx, engine_id: str, limit: int, *, patient: bool = True) -> Claims:
    """Become the owner of up to `limit` stacks that need one, but of no more than a fair share.

    These are stacks that are due, that have messages, or whose owner has ended. If `patient` is
    false, the engine takes an equal part of the waiting stacks even if it already has its share.
    Nothing is claimed while the engine is draining or its own lease has expired: after a jump of
    the clock, all engines seem dead to each other. If there was nothing to claim, the rows of ended
    engines that own no stack are deleted.
    """
    engines = {row.id: row for row in tx.rows(_ENGINES)}
    claimant = engines.get(engine_id)
    if claimant is None or not claimant.live or claimant.draining:
        return Claims([], has_more=False)
    ended = [row for row in engines.values() if not row.live]
    resigned = sorted(row.id for row in ended if row.resigned)
    died = sorted(row.id for row in ended if not row.resigned)
    available = sorted(row.id for row in engines.values() if row.live and not row.draining)
    fair = waiting = limit  # alone, an engine need not count what waits
    if len(available) > 1:
        owned, waiting = _load(tx, available, resigned + died, limit)
        fair = share(engine_id, owned, waiting, patient=patient)
    chosen: dict[str, tuple[int, int, int]] = {}  # epoch, deaths, the least number of takeovers
    wants: list[tuple[Prepared, dict[str, Any], int, int]] = [
        (_CLAIM_DUE, {}, 0, 0),
        (_CLAIM_WRITTEN_TO, {}, 0, 0),
    ]
    if resigned:  # it left a call unfinished, so it may have created something
        wants.append((*_CLAIM_OF.of(resigned), 0, 1))
    if died:
        wants.append((*_CLAIM_OF.of(died), 1, 1))
    room = min(fair, limit)
    for query, values, deaths, least in wants:
        if room - len(chosen) <= 0:
            break
        for row in tx.rows(query, {**values, "room": room - len(chosen)}):
            chosen.setdefault(row.id, (row.epoch, deaths, least))
    claims = [Claim(stack_id, chosen[stack_id][0] + 1) for stack_id in sorted(chosen)]
    updates = [
        {"b_id": i, "b_epoch": epoch, "b_owner": engine_id, "b_deaths": deaths, "b_least": least}
        for i, (epoch, deaths, least) in sorted(chosen.items())
    ]
    if updates:  # they are locked since they were read
        tx.many(_TAKE, updates)
    if ended and not chosen:
        tx.do(*_FORGET.of(resigned + died))
    left_over = len(chosen) < waiting if len(available) > 1 else len(chosen) == limit
    return Claims(claims, has_more=left_over)


def _load(
    tx: Tx, engines: Sequence[str], ended: Sequence[str], limit: int
) -> tuple[dict[str, int], int]:
    """Return {engine: number of its stacks} for `engines`, and the number of stacks that need an
    owner.

    The stacks of the engines in `ended` also need an owner. Beyond `limit` stacks per engine,
    waiting stacks are not counted.
    """
    owned = dict.fromkeys(engines, 0)
    owned.update((row.owner, row.stacks) for row in tx.listed(_OWNED, engines))
    waiting = tx.first(_WAITING, {"room": limit * len(engines)}).stacks
    if ended:
        waiting += next(iter(tx.listed(_LEFT_BEHIND, ended))).stacks
    return owned, waiting


class Orphan(Struct, frozen=True):
    """A row of the table `stray`: a call whose response was lost may have created an object.

    `since` is the time when the call ended without a response. `facts` are the values that the
    search for the object needs.
    """

    id: str
    resource_id: str
    resource_type: str
    since: float
    facts: Any
    lost_at: float | None = None  # by the monotonic clock, if this process sent the call


class Loaded(Struct, frozen=True):
    """All rows of a stack that its owner needs in memory.

    `data` (private data) and `metadata` are by record id.
    """

    stack: StackRow
    revision: Revision
    records: list[Record]
    data: dict[str, dict[str, str]]
    metadata: dict[str, Any]
    in_flight: list[AttemptRow]
    orphans: list[Orphan]
    credential: credentials.StackCredential | None
    messages: list[Message]


_ID = sa.bindparam("id", type_=sa.String())
_STACK = Prepared(lambda: sa.select(stack).where(stack.c.id == _ID))
_STACKS = Listed(lambda ids: sa.select(stack).where(stack.c.id.in_(ids)))
_DATA = Listed(lambda ids: sa.select(resource_data).where(resource_data.c.stack_id.in_(ids)))
_NODES = Listed(lambda ids: sa.select(node).where(node.c.stack_id.in_(ids)))
_ORPHANS = Listed(lambda ids: sa.select(orphan).where(orphan.c.stack_id.in_(ids)))
_CREDENTIALS = Listed(lambda ids: sa.select(credential).where(credential.c.id.in_(ids)))
_MESSAGES_OF = Listed(
    lambda ids: sa.select(inbox).where(inbox.c.stack_id.in_(ids)).order_by(inbox.c.id)
)


def load(tx: Tx, stack_id: str) -> Loaded | None:
    """Return all rows of a stack for its owner, or None if the stack does not exist."""
    return load_all(tx, [stack_id]).get(stack_id)


def load_all(tx: Tx, ids: Sequence[str]) -> dict[str, Loaded]:
    """Return all rows of each stack for its owner, by stack id; stacks that do not exist are left
    out.

    Servers take a snapshot for each statement. The messages are read first, so that the rows
    contain every operation to which one of them refers. Of an operation that begins later, the
    message comes later, too.
    """
    message_rows = _by_stack(tx.listed(_MESSAGES_OF, ids))
    stacks = {row.id: stack_row(tx, row) for row in tx.listed(_STACKS, ids)}
    if not stacks:
        return {}
    revisions = get_revisions(tx, ids)
    records, data_rows, attempt_rows, orphan_rows = (
        _by_stack(rows)
        for rows in (
            reads.record_rows(tx, ids),
            *(tx.listed(statement, ids) for statement in (_DATA, _NODES, _ORPHANS)),
        )
    )
    of = sorted({row.credential_id for row in stacks.values() if row.credential_id})
    credential_rows = tx.listed(_CREDENTIALS, of)
    opened = {row.id: credentials.opened(tx, row.body, row.id) for row in credential_rows}
    return {
        i: Loaded(
            row,
            revisions[i],
            [record_of(tx, r) for r in records[i]],
            {r.resource_id: tx.unseal(r.data, DATA, r.resource_id) for r in data_rows[i]},
            {r.resource_id: tx.unseal(r.metadata, METADATA, r.resource_id) for r in data_rows[i]},
            [_in_flight(tx, r) for r in attempt_rows[i]],
            [
                Orphan(
                    r.id,
                    r.resource_id,
                    r.resource_type,
                    r.since,
                    tx.unseal(r.facts, "stray.facts", r.id),
                )
                for r in orphan_rows[i]
            ],
            opened.get(row.credential_id or ""),
            [_message(tx, r) for r in message_rows[i]],
        )
        for i, row in stacks.items()
    }


def _by_stack(rows: Iterable[Any]) -> defaultdict[str, list[Any]]:
    rows_by_stack: defaultdict[str, list[Any]] = defaultdict(list)
    for row in rows:
        rows_by_stack[row.stack_id].append(row)
    return rows_by_stack


def _message(tx: Tx, row: Any) -> Message:
    content = unpacked(row.kind, tx.unseal(row.body, "mail.body", row.stack_id))
    return Message(row.id, content, row.created_at)


def _in_flight(tx: Tx, row: Any) -> AttemptRow:
    names = ("resource_id", "traversal", "kind", "action", "phase", "step", "attempt", "started_at")
    return AttemptRow(
        **{name: getattr(row, name) for name in names},
        wanted=tx.unseal(row.wanted, "node.wanted", row.resource_id),
        due_at=row.due_at,
    )


_INBOX_OF = Prepared(
    lambda: (
        sa.select(inbox.c.id, inbox.c.stack_id)
        .join(stack, stack.c.id == inbox.c.stack_id)
        .where(stack.c.owner == _ME)
        .order_by(inbox.c.id)
    )
)
_MESSAGES = Listed(
    lambda ids: sa.select(inbox).where(inbox.c.id.in_(ids)).order_by(inbox.c.id), sa.BigInteger()
)
_TRAVERSAL = Prepared(lambda: sa.select(stack.c.traversal).where(stack.c.id == _ID))
_METADATA = Prepared(
    lambda: sa.select(resource_data.c.metadata).where(resource_data.c.resource_id == _ID)
)
_LIVE = Listed(
    lambda ids: sa.select(stack.c.id).where(stack.c.id.in_(ids), stack.c.deleted_at.is_(None))
)


def inbox_of(tx: Tx, engine_id: str) -> list[tuple[int, str]]:
    """Return (message id, stack id) of all messages for the stacks of an engine, oldest first."""
    return [(row.id, row.stack_id) for row in tx.rows(_INBOX_OF, {"me": engine_id})]


def messages(tx: Tx, ids: Sequence[int]) -> list[tuple[str, Message]]:
    """Return (stack id, message) for those of the messages that still exist, oldest first."""
    return [(row.stack_id, _message(tx, row)) for row in tx.listed(_MESSAGES, ids)]


def traversal(tx: Tx, stack_id: str) -> str | None:
    """Return the traversal in the row of a stack, or None if the stack does not exist."""
    traversal_id: str | None = tx.value(_TRAVERSAL, {"id": stack_id})
    return traversal_id


def metadata(tx: Tx, resource_id: str) -> Any:
    """Return the current metadata of a resource; an empty map if none was ever stored."""
    row = tx.first(_METADATA, {"id": resource_id})
    return tx.unseal(row.metadata, METADATA, resource_id) if row else {}


def alive(tx: Tx, ids: Sequence[str]) -> dict[str, bool]:
    """Return {stack id: True} for those of the stacks that exist and are not deleted."""
    return {row.id: True for row in tx.listed(_LIVE, ids)}


def row(tx: Tx, stack_id: str) -> StackRow | None:
    """Return the row of a stack, even of a deleted one; None if it does not exist."""
    columns = tx.first(_STACK, {"id": stack_id})
    return stack_row(tx, columns) if columns is not None else None


def state(tx: Tx, stack_id: str) -> tuple[str, str] | None:
    """Return (action, status) of a stack, or None if it does not exist or is deleted."""
    alive = sa.and_(stack.c.id == stack_id, stack.c.deleted_at.is_(None))
    row = tx.first(sa.select(stack.c.action, stack.c.status).where(alive))
    return (row.action, row.status) if row is not None else None


def members(tx: Tx, stack_id: str) -> dict[str, Any]:
    """Return the current members of a group's nested stack by name, each as `member` returns it."""
    records = reads.records(tx, stack_id)
    return {record.name: member(record) for record in records if record.until is None}


def definitions(tx: Tx, stack_id: str) -> dict[str, Any]:
    """Return the desired definitions of the members of a group's nested stack, by name.

    Return an empty map if the stack does not exist.
    """
    row = tx.first(_STACK, {"id": stack_id})
    if row is None:
        return {}
    resources: dict[str, Any] = json.loads(get_template(tx, stack_id, row.revision))["resources"]
    return resources


def member(record: Record) -> dict[str, Any]:
    """Return a member of a nested stack in the form in which resource types see it."""
    return {
        "reference": record.held.reference,
        "attributes": record.held.attributes,
        "physical_id": record.physical_id,
        "status": record.status.value,
        "created_at": record.created_at,
    }
