"""Queries for API requests.

Only functions with a parameter `project_id` limit what they find to a project. The caller of
another function must have checked that the requester may access the stack.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
import sqlalchemy as sa
from msgspec import Struct, field
from msgspec.structs import replace

from hearth.engine.core.record import Record
from hearth.model.problem import RequestLimitExceeded, rejection
from hearth.model.state import Action
from hearth.store import credentials
from hearth.store.database import Tx
from hearth.store.prepared import Listed, Prepared
from hearth.store.rows import DATA, METADATA, Event, Revision, StackRow, record_of, stack_row
from hearth.store.tables import credential, event, node, resource, resource_data, stack
from hearth.store.texts import get_revision

SHAPES_MAX = 64
"""The number of list queries that are kept, which differ in sort keys, page size and the like."""

REASON = "reason"  # an encrypted column
SORT_KEYS = {
    "stack_name": stack.c.name,
    "stack_status": stack.c.status,
    "creation_time": stack.c.created_at,
    # databases sort NULL differently
    "updated_time": sa.func.coalesce(stack.c.updated_at, sa.literal(0.0, sa.Double())),
}


_BY_ID = Prepared(
    lambda: sa.select(stack).where(stack.c.id == sa.bindparam("identity", type_=sa.String()))
)


def find_stack(
    tx: Tx, project_id: str | None, identity: str, *, deleted: bool = False
) -> StackRow | None:
    """Return the stack with this id or name, or None.

    The stack must belong to the project, or have it as domain project; if `project_id` is None, it
    may belong to any project. Of several stacks with the name, the one with the least depth is
    returned. If `deleted` is true, a deleted stack is found by its id, but never by its name.
    """
    row = tx.first(_BY_ID, {"identity": identity})
    if row is not None and (
        (row.deleted_at is not None and not deleted)
        or project_id not in (None, row.project_id, row.user_project_id)
    ):
        row = None
    if row is None:
        row = _by_name(tx, project_id, identity)
    return stack_row(tx, row) if row is not None else None


_STACKS = Listed(
    lambda ids: sa.select(stack).where(stack.c.id.in_(ids), stack.c.deleted_at.is_(None))
)


def stacks_of(tx: Tx, ids: Sequence[str]) -> list[StackRow]:
    """Return those of the stacks with these ids that exist, in no particular order."""
    return [stack_row(tx, row) for row in tx.listed(_STACKS, ids)]


def user_project(tx: Tx, stack_id: str) -> str | None:
    """Return the id of a stack's domain project; None if it has none or does not exist."""
    project_id: str | None = tx.value(
        sa.select(stack.c.user_project_id).where(stack.c.id == stack_id)
    )
    return project_id


def _named(*conditions: sa.ColumnElement[bool]) -> Prepared:
    by_name = stack.c.name == sa.bindparam("name", type_=sa.String())
    query = sa.select(stack).where(by_name, stack.c.deleted_at.is_(None), *conditions)
    return Prepared(query.order_by(stack.c.depth).limit(1))


_PROJECT: sa.BindParameter[str] = sa.bindparam("project_id", type_=sa.String())
_ANYWHERE = _named()
_IN_PROJECT = _named(stack.c.project_id == _PROJECT)
_OF_USERS = _named(stack.c.user_project_id == _PROJECT)


def _by_name(tx: Tx, project_id: str | None, name: str) -> Any:
    """Return the row of the stack with this name, or None; of several, the one with the least
    depth.

    Stacks with the domain project `project_id` are searched only if the project has no such stack.
    These are two queries, so that each of them finds its row by an index.
    """
    if project_id is None:
        return tx.first(_ANYWHERE, {"name": name})
    parameters = {"name": name, "project_id": project_id}
    return tx.first(_IN_PROJECT, parameters) or tx.first(_OF_USERS, parameters)


class StackFilter(Struct, frozen=True):
    """The filters, the order and the page of a list of stacks.

    `project_id` None means all projects. `marker` is the id of the stack that precedes the page.
    `sort_keys` are names in `SORT_KEYS`; others are ignored. Unless `show_nested` is true or
    `equal` has a `parent_id`, only root stacks are listed. `equal` maps columns of the table
    `stack` to their allowed values. A stack must have all of `tags` and at least one of `tags_any`.
    It must not have all of `not_tags`, and none of `not_tags_any`. The case of letters does not
    count, neither in `equal` nor in tags.
    """

    project_id: str | None
    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()
    descending: bool | None = None
    show_deleted: bool = False
    show_nested: bool = False
    equal: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_tags_any: tuple[str, ...] = ()


def list_stacks(tx: Tx, criteria: StackFilter) -> list[StackRow]:
    """Return the matching stacks that follow the marker, at most `limit`.

    Without sort keys the newest stacks come first by default, with sort keys the order is
    ascending. An unknown marker is ignored.
    """
    if REASON in criteria.equal:
        return _with_reason(tx, criteria)
    if criteria.marker is None and not criteria.equal:
        values = {} if criteria.project_id is None else {"project_id": criteria.project_id}
        shape = tuple(getattr(criteria, name) for name in _STACKS_SHAPE)
        rows = tx.rows(_first_stacks(bool(values), shape), values)
    else:
        rows = tx.rows(_stacks(tx, criteria))
    return [stack_row(tx, row) for row in rows]


def _with_reason(tx: Tx, criteria: StackFilter) -> list[StackRow]:
    """Return a list that is filtered by reasons. They are encrypted, so all other matches are
    read.
    """
    reasons = _lowered(criteria.equal[REASON])
    equal = {name: values for name, values in criteria.equal.items() if name != REASON}
    rows = list_stacks(tx, replace(criteria, equal=equal, limit=None))
    return [row for row in rows if row.reason.lower() in reasons][: criteria.limit]


_STACKS_SHAPE = [
    name for name in StackFilter.__struct_fields__ if name not in ("project_id", "marker", "equal")
]


@lru_cache(SHAPES_MAX)
def _first_stacks(of_project: bool, shape: tuple[Any, ...]) -> Prepared:
    """Return the query for a list without a marker and without filters by columns."""
    project = "" if of_project else None
    return Prepared(
        _stacks(None, StackFilter(project, **dict(zip(_STACKS_SHAPE, shape, strict=True))))
    )


def _stacks(tx: Tx | None, criteria: StackFilter) -> sa.Select[Any]:
    """Return the query for a list of stacks. `tx` is needed for a marker."""
    query = _filtered(criteria)
    keys = [SORT_KEYS[name] for name in criteria.sort_keys if name in SORT_KEYS]
    down = criteria.descending
    if down is None:
        down = not keys
    columns = [*(keys or [stack.c.created_at]), stack.c.id]
    if criteria.marker is not None:
        assert tx is not None
        query = _after(tx, query, columns, criteria.marker, down=down)
    query = query.order_by(*(column.desc() if down else column.asc() for column in columns))
    return query if criteria.limit is None else query.limit(criteria.limit)


def count_stacks(tx: Tx, criteria: StackFilter) -> int:
    """Return the number of all matching stacks, regardless of marker and limit."""
    if REASON in criteria.equal:
        return len(_with_reason(tx, replace(criteria, marker=None, limit=None)))
    inner = _filtered(criteria).subquery()
    count: int = tx.execute(sa.select(sa.func.count()).select_from(inner)).scalar_one()
    return count


def _filtered(criteria: StackFilter) -> sa.Select[Any]:
    query = sa.select(stack)
    if criteria.project_id is not None:
        project = sa.bindparam("project_id", criteria.project_id, type_=sa.String())
        query = query.where(stack.c.project_id == project)
    if not criteria.show_deleted:
        query = query.where(stack.c.deleted_at.is_(None))
    if not criteria.show_nested and "parent_id" not in criteria.equal:
        query = query.where(stack.c.parent_id.is_(None))
    for name, values in criteria.equal.items():
        query = query.where(_among(stack.c[name], values))
    padded = sa.literal(",") + stack.c.tags + sa.literal(",")

    def has(tag: str) -> sa.ColumnElement[bool]:
        return sa.func.coalesce(padded, "").icontains(f",{tag},", autoescape=True)

    if criteria.tags:
        query = query.where(*(has(tag) for tag in criteria.tags))
    if criteria.tags_any:
        query = query.where(sa.or_(*(has(tag) for tag in criteria.tags_any)))
    if criteria.not_tags:
        query = query.where(sa.not_(sa.and_(*(has(tag) for tag in criteria.not_tags))))
    if criteria.not_tags_any:
        query = query.where(sa.not_(sa.or_(*(has(tag) for tag in criteria.not_tags_any))))
    return query


def _among(column: sa.Column[Any], values: Sequence[Any]) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of these values, whatever the case of letters."""
    if not isinstance(column.type, sa.String):
        return column.in_(values)
    return sa.func.lower(column).in_(_lowered(values))


def _lowered(values: Iterable[str]) -> set[str]:
    return {value.lower() for value in values}


def _after(
    tx: Tx, query: sa.Select[Any], columns: Sequence[Any], marker: str, *, down: bool
) -> sa.Select[Any]:
    row = tx.first(sa.select(*columns).where(stack.c.id == marker))
    return query if row is None else query.where(_beyond(columns, row, down=down))


def _beyond(
    columns: Sequence[sa.Column[Any]], values: Sequence[Any], *, down: bool
) -> sa.ColumnElement[bool]:
    """Return the condition that a row comes after the row with these values, in the order of the
    columns.
    """
    column, value = columns[0], values[0]
    later: sa.ColumnElement[bool] = column < value if down else column > value
    if len(columns) == 1:
        return later
    tail = _beyond(columns[1:], values[1:], down=down)
    return sa.or_(later, sa.and_(column == value, tail))


def _below(*conditions: sa.ColumnElement[bool]) -> sa.Select[Any]:
    """Return the query for the nested stacks of a tree that fulfil the `conditions`."""
    return (
        sa.select(stack)
        .where(
            stack.c.root_id == sa.bindparam("root_id", type_=sa.String()),
            stack.c.deleted_at.is_(None),
            stack.c.depth > sa.bindparam("above", type_=sa.Integer()),
            stack.c.depth <= sa.bindparam("deepest", type_=sa.Integer()),
            *conditions,
        )
        .order_by(stack.c.depth, stack.c.created_at)
    )


_CHILDREN = Prepared(lambda: _below(sa.exists().where(resource.c.id == stack.c.parent_record)))
_CHILDREN_AND_RETAINED = Prepared(_below)


ALL_LEVELS = 1_000_000
"""A depth below every nested stack: the limit of the levels is a setting that may have changed."""


def children(
    tx: Tx, root: StackRow, depth: int = ALL_LEVELS, *, retained: bool = False
) -> list[StackRow]:
    """Return the nested stacks down to `depth` levels below the stack `root`, except deleted ones.

    A parent comes before its nested stacks. A nested stack whose resource no longer exists, because
    its deletion policy retained it, is left out unless `retained` is true.
    """
    values = {
        "root_id": root.root_id,
        "above": root.depth,
        "deepest": root.depth + min(depth, ALL_LEVELS),
    }
    rows = tx.rows(_CHILDREN_AND_RETAINED if retained else _CHILDREN, values)
    stacks: dict[str, StackRow] = {root.id: root}
    for row in (stack_row(tx, row) for row in rows):
        if row.parent_id in stacks:
            stacks[row.id] = row
    return list(stacks.values())[1:]


def path(tx: Tx, row: StackRow) -> list[tuple[str | None, str]]:
    """Return the stacks from the root stack to this one as (resource name, stack name).

    The resource name is that of the stack's resource in its parent. It is None for the root stack,
    and if the record of the resource no longer exists.
    """
    names: list[tuple[str | None, str]] = []
    parent_id, record, name = row.parent_id, row.parent_record, row.name
    while parent_id is not None:
        above = tx.first(
            sa.select(stack.c.parent_id, stack.c.parent_record, stack.c.name, resource.c.name)
            .outerjoin(resource, resource.c.id == record)
            .where(stack.c.id == parent_id)
        )
        assert above is not None, f"{parent_id} has nested stacks"
        names.append((above[3], name))
        parent_id, record, name = above[0], above[1], above[2]
    names.append((None, name))
    return names[::-1]


_RECORDS = Prepared(
    lambda: (
        sa.select(resource)
        .where(resource.c.stack_id == sa.bindparam("stack_id", type_=sa.String()))
        .order_by(resource.c.created_at, resource.c.id)
    )
)


def records(tx: Tx, stack_id: str) -> list[Record]:
    """Return all records of a stack, oldest first."""
    return [record_of(tx, row) for row in rows_of_records(tx, stack_id)]


def rows_of_records(tx: Tx, stack_id: str) -> list[Any]:
    """Return the rows of all records of a stack, oldest first."""
    return tx.rows(_RECORDS, {"stack_id": stack_id})


def given_from_above(tx: Tx, row: StackRow) -> tuple[bool, bool]:
    """Return whether the resource of a nested stack in its parent, or one above it, contains hidden
    values, and whether it contains secrets of other resources.
    """
    hidden = secrets = False
    parent, record_id = row.parent_id, row.parent_record
    while parent is not None and record_id is not None:
        records_above = {record.id: record for record in records(tx, parent)}
        if record_id in records_above:
            held = records_above[record_id].held
            hidden, secrets = hidden or bool(held.secret), secrets or bool(held.guarded)
        above = stacks_of(tx, [parent])
        parent, record_id = (above[0].parent_id, above[0].parent_record) if above else (None, None)
    return hidden, secrets


def fingerprint(row: StackRow, records: Sequence[Any]) -> int:
    """Return a number that changes whenever the row of a stack or a row of its records changes.

    Numbers from different processes cannot be compared.
    """
    return hash((row, *records))


_RECORDS_OF = Listed(
    lambda ids: (
        sa.select(resource)
        .where(resource.c.stack_id.in_(ids))
        .order_by(resource.c.created_at, resource.c.id)
    )
)


def records_of(tx: Tx, ids: Sequence[str]) -> dict[str, list[Record]]:
    """Return all records of the given stacks by stack id, oldest first."""
    by_stack: dict[str, list[Record]] = {stack_id: [] for stack_id in ids}
    for row in record_rows(tx, ids):
        by_stack[row.stack_id].append(record_of(tx, row))
    return by_stack


def record_rows(tx: Tx, ids: Sequence[str]) -> list[Any]:
    """Return the rows of all records of the given stacks, oldest first."""
    return tx.listed(_RECORDS_OF, ids)


_STACKS_OR_DELETED = Listed(lambda ids: sa.select(stack).where(stack.c.id.in_(ids)))


def fingerprints_of_stacks(tx: Tx, ids: Collection[str], with_records: bool) -> dict[str, int]:
    """Return the fingerprint of each of these stacks that exists, by its id.

    Without `with_records` it is that of the row alone.
    """
    records: dict[str, list[Any]] = {stack_id: [] for stack_id in ids}
    for row in record_rows(tx, list(ids)) if with_records else ():
        records[row.stack_id].append(row)
    rows = tx.listed(_STACKS_OR_DELETED, list(ids))
    return {row.id: fingerprint(stack_row(tx, row), records[row.id]) for row in rows}


_NAMED = Prepared(
    lambda: (
        sa.select(resource)
        .where(
            resource.c.stack_id == sa.bindparam("stack_id", type_=sa.String()),
            resource.c.name == sa.bindparam("name", type_=sa.String()),
        )
        .order_by(resource.c.created_at, resource.c.id)
    )
)


def records_named(tx: Tx, stack_id: str, name: str) -> list[Record]:
    """Return the records with this name in a stack, oldest first."""
    return [record_of(tx, row) for row in tx.rows(_NAMED, {"stack_id": stack_id, "name": name})]


def record_with_stack(tx: Tx, record_id: str) -> tuple[Record, StackRow] | None:
    """Return a record and its stack, or None if there is no such record."""
    row = tx.first(sa.select(resource).where(resource.c.id == record_id))
    if row is None:
        return None
    its_stack = tx.first(_BY_ID, {"identity": row.stack_id})
    assert its_stack is not None
    return record_of(tx, row), stack_row(tx, its_stack)


def name_of(tx: Tx, record_id: str) -> str | None:
    """Return the name of a record's resource, or None if there is no such record."""
    name: str | None = tx.value(sa.select(resource.c.name).where(resource.c.id == record_id))
    return name


def stacks_with_physical_id(tx: Tx, project_id: str, physical_id: str) -> list[StackRow]:
    """Return up to two stacks of a project that have a resource with this physical id.

    Replaced resources do not count. Two stacks are enough to detect that the id is ambiguous.
    """
    query = (
        sa.select(stack)
        .join(resource, resource.c.stack_id == stack.c.id)
        .where(
            resource.c.physical_id == physical_id,
            resource.c.until.is_(None),
            stack.c.project_id == project_id,
            stack.c.deleted_at.is_(None),
        )
        .distinct()
        .limit(2)
    )
    return [stack_row(tx, row) for row in tx.rows(query)]


_ROOT = stack.alias("root")
_BESIDE = Prepared(
    lambda: sa.select(sa.func.count().label("resources")).select_from(
        sa.select(resource.c.id)
        .join(stack, stack.c.id == resource.c.stack_id)
        .join(_ROOT, _ROOT.c.id == stack.c.root_id)
        .where(
            stack.c.root_id == sa.bindparam("root_id", type_=sa.String()),
            stack.c.id != sa.bindparam("stack_id", type_=sa.String()),
            resource.c.until.is_(None),
            _ROOT.c.action != Action.ROLLBACK.value,
        )
        .limit(sa.bindparam("most", type_=sa.Integer()))
        .subquery()
    )
)


def resources_beside(tx: Tx, row: StackRow, limit: int) -> int:
    """Return the number of resources in the other stacks of the tree, but at most `limit`.

    Replaced resources do not count. If the last operation of the root stack is a rollback, return
    0, because a rollback may exceed the limit of resources.
    """
    count: int = tx.value(_BESIDE, {"root_id": row.root_id, "stack_id": row.id, "most": limit})
    return count


class FlightRow(Struct, frozen=True):
    """The attempt in progress on a resource: some columns of its row in the table `node`."""

    resource_id: str
    stack_id: str
    action: str
    phase: str
    step: str
    attempt: int
    started_at: float


def flights(tx: Tx, stack_ids: Sequence[str]) -> dict[str, FlightRow]:
    """Return the attempts in progress in the given stacks, by record id."""
    if not stack_ids:
        return {}
    names = ("resource_id", "stack_id", "action", "phase", "step", "attempt", "started_at")
    query = sa.select(*(node.c[name] for name in names)).where(node.c.stack_id.in_(stack_ids))
    return {row.resource_id: FlightRow(**row._mapping) for row in tx.rows(query)}


def in_charge(records: Sequence[Record]) -> dict[str, Record]:
    """Return, by resource name, which of these records is in charge of the name.

    If none is in charge of a name, its newest record is returned.
    """
    chosen: dict[str, Record] = {}
    for record in records:
        before = chosen.get(record.name)
        if (
            before is None
            or (before.until is not None and record.until is None)
            or (
                (before.until is None) == (record.until is None)
                and record.created_at >= before.created_at
            )
        ):
            chosen[record.name] = record
    return chosen


def record_in_charge(tx: Tx, stack_id: str, name: str) -> Record | None:
    """Return the record of a stack that is in charge of this name.

    If none is in charge, return the newest record of that name; None if there is no record.
    """
    return in_charge(records_named(tx, stack_id, name)).get(name)


def record_for(tx: Tx, stack_id: str, name: str, guest_id: str | None) -> Record | None:
    """Return the record of a stack that a caller means by this name; None if there is no record.

    For the stack domain user `guest_id`, that is the record for which the user was created: while
    a resource is replaced, two records have its name, and software of the old one still calls. For
    everybody else, and for a user without such a record, it is the record in charge.
    """
    records = records_named(tx, stack_id, name)
    if guest_id is not None and len(records) > 1:
        for record in records:
            if data_of(tx, record.id)[1].get("user_id") == guest_id:
                return record
    return in_charge(records).get(name)


_DATA = Prepared(
    lambda: sa.select(resource_data).where(
        resource_data.c.resource_id == sa.bindparam("resource_id", type_=sa.String())
    )
)


def data_of(tx: Tx, resource_id: str) -> tuple[int, dict[str, str], Any]:
    """Return (version, private data, metadata) of a resource.

    If the resource has no such row yet, the version is 0 and the others are empty maps.
    """
    row = tx.first(_DATA, {"resource_id": resource_id})
    if row is None:
        return 0, {}, {}
    return row.version, *_opened(tx, row)


def is_user_of(tx: Tx, physical_id: str, user_project_id: str, user_id: str) -> bool:
    """Return whether a stack domain user was created for the resource that has this object.

    `user_project_id` is the domain project of the user.
    """
    query = (
        sa.select(resource.c.id)
        .join(stack, stack.c.id == resource.c.stack_id)
        .where(resource.c.physical_id == physical_id, stack.c.user_project_id == user_project_id)
    )
    return any(data_of(tx, row.id)[1].get("user_id") == user_id for row in tx.rows(query))


_ALL_DATA = Listed(lambda ids: sa.select(resource_data).where(resource_data.c.stack_id.in_(ids)))


def all_data_of(tx: Tx, ids: Sequence[str]) -> dict[str, tuple[dict[str, str], Any]]:
    """Return (private data, metadata) of the resources of the given stacks, by record id.

    Resources without such a row are left out.
    """
    return {row.resource_id: _opened(tx, row) for row in tx.listed(_ALL_DATA, ids)}


def _opened(tx: Tx, row: Any) -> tuple[dict[str, str], Any]:
    key = row.resource_id
    return tx.unseal(row.data, DATA, key), tx.unseal(row.metadata, METADATA, key)


def _labelled(table: sa.Table) -> list[sa.Label[Any]]:
    return [column.label(f"{table.name}_{column.name}") for column in table.columns]


FINGERPRINTS_AT_ONCE = 16


def _any(column: sa.Column[str], prefix: str) -> sa.ColumnElement[bool]:
    names = (f"{prefix}_{number}" for number in range(FINGERPRINTS_AT_ONCE))
    return column.in_([sa.bindparam(name, type_=sa.String()) for name in names])


_DESCRIBED = Prepared(
    lambda: (
        sa.select(*_labelled(stack), *_labelled(resource), *_labelled(resource_data))
        .join(resource, resource.c.stack_id == stack.c.id)
        .outerjoin(resource_data, resource_data.c.resource_id == resource.c.id)
        .where(_any(resource.c.stack_id, "stack"), _any(resource.c.name, "name"))
        .order_by(resource.c.id)
    )
)


def fingerprints(tx: Tx, keys: Sequence[tuple[str, str]]) -> list[int]:
    """Return a number for each resource, which changes whenever a row about the resource changes.

    `keys` are pairs (stack id, resource name); the numbers have the same order. The rows about a
    resource are those of its stack, of its records, and of their data and metadata. Numbers from
    different processes cannot be compared.
    """
    numbers: list[int] = []
    for first in range(0, len(keys), FINGERPRINTS_AT_ONCE):
        batch = keys[first : first + FINGERPRINTS_AT_ONCE]
        rows: dict[tuple[str, str], list[Any]] = {key: [] for key in batch}
        padded = [*batch, *[batch[-1]] * (FINGERPRINTS_AT_ONCE - len(batch))]
        values = {f"stack_{number}": key[0] for number, key in enumerate(padded)}
        values |= {f"name_{number}": key[1] for number, key in enumerate(padded)}
        for row in tx.rows(_DESCRIBED, values):
            if (of := rows.get((row.stack_id, row.resource_name))) is not None:
                of.append(row)
        numbers += [hash(tuple(rows[key])) for key in batch]
    return numbers


METADATA_BYTES_MAX = 1024 * 1024
"""The maximum size of a resource's metadata as JSON, in bytes; the default of the option
`max_json_body_size` is the same.
"""


def demand_metadata(metadata: Any) -> None:
    """Raise Rejected if the metadata of a resource is too large."""
    size = len(msgspec.json.encode(metadata, enc_hook=str))
    if size > METADATA_BYTES_MAX:
        message = (
            f"Request limit exceeded: metadata of {size} bytes is more than the "
            f"{METADATA_BYTES_MAX} allowed for a resource."
        )
        raise rejection(RequestLimitExceeded, message)


def set_data(
    tx: Tx, stack_id: str, resource_id: str, version: int, data: Mapping[str, Any], metadata: Any
) -> bool:
    """Write the private data and the metadata of a resource; return whether they were written.

    They are not written if their version is no longer `version`, which `data_of` returned; 0 means
    no row yet. Raises Rejected if the metadata is too large.
    """
    demand_metadata(metadata)
    values = {
        "data": tx.seal(dict(data), DATA, resource_id),
        "metadata": tx.seal(metadata, METADATA, resource_id),
    }
    if version == 0:
        query = sa.select(resource_data.c.version).where(resource_data.c.resource_id == resource_id)
        if tx.first(query.with_for_update()) is not None:
            return False
        row = {**values, "resource_id": resource_id, "stack_id": stack_id, "version": 1}
        tx.execute(resource_data.insert(), row)
        return True
    done = tx.execute(
        resource_data.update()
        .where(resource_data.c.resource_id == resource_id, resource_data.c.version == version)
        .values(**values, version=version + 1)
    )
    return bool(done.rowcount)


class EventFilter(Struct, frozen=True):
    """The filters, the order and the page of a list of events.

    `equal` maps columns of the table `event` to the allowed values, in which the case of letters
    does not count; `exact` maps columns to the value in which it counts. `sort_keys` are
    `event_time` and `resource_type`; others are ignored. `marker` is the id of the event that
    precedes the page.
    """

    stack_ids: tuple[str, ...]
    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()
    descending: bool | None = None
    equal: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    exact: Mapping[str, str] = field(default_factory=dict)


class NumberedEvent(Struct, frozen=True):
    """An event with its number `seq` among the events of its tree of stacks."""

    seq: int
    event: Event


_LISTED = [column for column in event.c if column is not event.c.properties]


def list_events(tx: Tx, criteria: EventFilter) -> list[NumberedEvent]:
    """Return the matching events without their properties.

    Without sort keys the newest events come first by default, with sort keys the order is
    ascending. The order by time is the order of the events' numbers. An unknown marker is ignored.
    So a client that follows a stack in ascending order from an event that was purged continues with
    the oldest remaining event, and sees no event twice.
    """
    filtered = criteria.equal or criteria.exact
    if criteria.marker is None and not filtered and len(criteria.stack_ids) == 1:
        page = _first_events(criteria.limit, criteria.sort_keys, criteria.descending)
        rows = tx.rows(page, {"stack_id": criteria.stack_ids[0]})
    else:
        query = sa.select(*_LISTED).where(event.c.stack_id.in_(criteria.stack_ids))
        for name, values in criteria.equal.items():
            query = query.where(_among(event.c[name], values))
        for name, value in criteria.exact.items():
            query = query.where(event.c[name] == value)
        rows = tx.rows(_events(tx, query, criteria))
    return [event_of(tx, row) for row in rows]


@lru_cache(SHAPES_MAX)
def _first_events(
    limit: int | None, sort_keys: tuple[str, ...], descending: bool | None
) -> Prepared:
    """Return the query for the events of a stack, without a marker and without filters."""
    of_stack = event.c.stack_id == sa.bindparam("stack_id", type_=sa.String())
    criteria = EventFilter((), limit, None, sort_keys, descending)
    return Prepared(_events(None, sa.select(*_LISTED).where(of_stack), criteria))


def _events(tx: Tx | None, query: sa.Select[Any], criteria: EventFilter) -> sa.Select[Any]:
    """Return the query for a page of the events that `query` finds. `tx` is needed for a marker."""
    keys = {"event_time": event.c.seq, "resource_type": event.c.resource_type}
    columns = [keys[name] for name in criteria.sort_keys if name in keys]
    down = (not columns) if criteria.descending is None else criteria.descending
    columns = [column for column in columns if column is not event.c.seq] + [event.c.seq]
    if criteria.marker is not None:
        assert tx is not None
        marker = tx.first(sa.select(*columns).where(event.c.id == criteria.marker))
        if marker is not None:
            query = query.where(_beyond(columns, marker, down=down))
    query = query.order_by(*(column.desc() if down else column.asc() for column in columns))
    return query if criteria.limit is None else query.limit(criteria.limit)


def get_event(tx: Tx, stack_id: str, event_id: str) -> NumberedEvent | None:
    """Return an event with the properties of its resource at that time.

    An event about the stack itself has no properties. Return None if the stack has no event with
    this id.
    """
    row = tx.first(sa.select(*_LISTED).where(event.c.id == event_id, event.c.stack_id == stack_id))
    if row is None:
        return None
    if row.physical_id == stack_id:  # of the stack itself
        return event_of(tx, row)
    begun = (
        sa.select(event.c.properties, event.c.root_id, event.c.seq)
        .where(event.c.stack_id == stack_id, event.c.resource_name == row.resource_name)
        .where(event.c.seq <= row.seq, event.c.properties.is_not(None))
        .order_by(event.c.seq.desc())
        .limit(1)
    )
    origin = tx.first(begun)
    if origin is None:
        return event_of(tx, row)
    properties = tx.unseal(origin.properties, "event.properties", origin.root_id, origin.seq)
    return event_of(tx, row, properties)


def event_of(tx: Tx, row: Any, properties: Any = None) -> NumberedEvent:
    """Return the event in a row of the table `event`.

    The column `properties` is not read: the caller passes the properties, which may be stored with
    an earlier event of the same action.
    """
    event = Event(
        row.id,
        row.stack_id,
        row.root_id,
        row.time,
        row.resource_name,
        row.resource_type,
        row.physical_id,
        row.action,
        row.status,
        tx.unseal_text(row.reason, "event.reason", row.root_id, row.seq),
        properties,
    )
    return NumberedEvent(row.seq, event)


def revision_of(tx: Tx, row: StackRow) -> Revision:
    """Return the target revision of a stack."""
    return get_revision(tx, row.id, row.revision)


def credential_of(tx: Tx, row: StackRow) -> credentials.StackCredential | None:
    """Return the credential of a stack, or None if it has none."""
    if row.credential_id is None:
        return None
    credential_row = tx.first(sa.select(credential).where(credential.c.id == row.credential_id))
    return (
        credentials.opened(tx, credential_row.body, credential_row.id) if credential_row else None
    )


def stack_by_physical_id(tx: Tx, physical_id: str) -> StackRow | None:
    """Return the stack with this id in any project, even if it is deleted; None if it does not
    exist.

    The caller must have checked that the requester may access it, for example through its parent
    stack.
    """
    row = tx.first(sa.select(stack).where(stack.c.id == physical_id))
    return stack_row(tx, row) if row is not None else None
