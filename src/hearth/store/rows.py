"""Conversion of records, stacks and events to rows and back."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, field

from hearth.engine.core.record import Held, Record
from hearth.model.state import Action, Status
from hearth.store.database import Tx

REASON_MAX = 4096
"""The maximum length of a stored reason in characters. Services and servers can send texts of any
length.
"""


def cut(reason: str) -> str:
    """Return a reason, shortened to the maximum length that is stored."""
    return reason if len(reason) <= REASON_MAX else f"{reason[: REASON_MAX - 1]}…"


DATA = "resource_data.data"  # the column for which values are encrypted, with the resource id
METADATA = "resource_data.metadata"


class Options(msgspec.Struct, frozen=True):
    """The options of an operation.

    `converge`: compare with the real state in the cloud. `abandon`: delete the stack but leave its
    objects in the cloud. `further`: this is one more batch of a group's update that has already
    examined every member.
    """

    converge: bool = False
    abandon: bool = False
    further: bool = False

    @property
    def words(self) -> str | None:
        """Return the options as text for a row, or None if none is set."""
        return " ".join(name for name in self.__struct_fields__ if getattr(self, name)) or None


@cache
def options_of(text: str | None) -> Options:
    """Return the options in a row; ignore a word that only a newer version of Hearth knows."""
    names = [word for word in (text or "").split() if word in Options.__struct_fields__]
    return Options(**dict.fromkeys(names, True))


class StackRow(msgspec.Struct, frozen=True):
    """A row of the table `stack`: one field per column, with enums for action and status."""

    id: str
    project_id: str
    name: str
    live_name: str | None
    root_id: str
    parent_id: str | None
    parent_record: str | None
    parent_traversal: str | None
    depth: int
    action: Action
    status: Status
    reason: str
    first_failure: str | None
    revision: int
    previous_revision: int
    traversal: str
    started_at: float
    deadline: float | None
    timeout_mins: int | None
    disable_rollback: bool
    owner: str | None
    epoch: int
    takeovers: int
    due_at: float | None
    credential_id: str | None
    user_project_id: str | None
    creator: str | None
    tags: str | None
    created_at: float
    updated_at: float | None
    deleted_at: float | None
    options: "Options"

    @property
    def state(self) -> str:
        """Return the state as `ACTION_STATUS`."""
        return f"{self.action}_{self.status}"

    @property
    def deletes_objects(self) -> bool:
        """Return whether the last operation is a delete that also deletes the objects in the
        cloud.
        """
        return self.action is Action.DELETE and not self.options.abandon

    def having(self, **changes: Any) -> "StackRow":
        return msgspec.structs.replace(self, **changes)


def stack_row(tx: Tx, row: Any) -> StackRow:
    """Return the stack in a row that has all columns of the table."""
    values = list(row)
    for index, column in _TEXTS:
        values[index] = tx.unseal_text(values[index], column, values[0])
    for index, word in _WORDS:
        values[index] = word(values[index])
    return StackRow(*values)


COLUMNS = StackRow.__struct_fields__
_WORDS = [
    (COLUMNS.index(name), word)
    for name, word in (
        ("action", Action),
        ("status", Status),
        ("disable_rollback", bool),
        ("options", options_of),
    )
]
_TEXTS = [(COLUMNS.index(name), f"stack.{name}") for name in ("reason", "first_failure")]


def stack_values(tx: Tx, row: StackRow) -> dict[str, Any]:
    """Return the values of all columns for a stack."""
    values = msgspec.structs.asdict(row)
    values["action"], values["status"] = row.action.value, row.status.value
    values["options"] = row.options.words
    for _, column in _TEXTS:
        name = column.removeprefix("stack.")
        text = values[name]
        values[name] = None if text is None else tx.seal_text(cut(text), column, row.id)
    return values


class Event(msgspec.Struct, frozen=True):
    """An event of a resource or of a stack.

    In an event of a stack, `resource_name` is the name of the stack, and `physical_id` its id.
    `properties` are those of the resource when the action began.
    """

    id: str
    stack_id: str
    root_id: str
    time: float
    resource_name: str
    resource_type: str
    physical_id: str | None
    action: str
    status: str
    reason: str
    properties: Any = None


class AttemptRow(msgspec.Struct, frozen=True):
    """An attempt at an action on a resource whose intent is committed but whose end is not.

    `step` and `phase` ("intent" or "accepted") show how far it is; `attempt` counts from 0. `kind`
    is the kind of the node. `wanted` is the desired state, as JSON, which the record has after a
    success. No engine sets `due_at`.
    """

    resource_id: str
    traversal: str
    kind: str
    action: str
    phase: str
    step: str
    attempt: int
    started_at: float
    wanted: Any
    due_at: float | None = None


class Document(msgspec.Struct, frozen=True, omit_defaults=True, rename={"purpose": "for"}):
    """The part of a stack's document that an adopt or a restore needs.

    `purpose` is ADOPT or RESTORE. `resources` has the data of each resource, by name. If `late` is
    true, a later operation of the parent stack completes the adoption.
    """

    purpose: Action
    resources: Mapping[str, Any]
    late: bool = False


class Revision(Struct, frozen=True):
    """The desired state of a stack: its template, its files, and the values given for it.

    `files` maps names to texts. For a nested stack, `exports` are the attributes of its resources
    that the parent stack reads, and `facade` is the parent's resource as the template of the nested
    stack sees it. `document` is the data of an adopt or a restore.
    """

    template: str
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    exports: list[str] = field(default_factory=list)
    facade: dict[str, Any] = field(default_factory=dict)
    document: Document | None = None

    @property
    def characters(self) -> int:
        """Return the number of characters in the template and in all files."""
        return characters_of(self.template, self.files)


def characters_of(template: str, files: Mapping[str, str]) -> int:
    """Return the number of characters in the template and in all files.

    A file that is not a string does not count.
    """
    return len(template) + sum(len(text) for text in files.values() if isinstance(text, str))


def record_values(tx: Tx, record: Record) -> dict[str, Any]:
    """Return the values of all columns for a record; the caller must set `stack_id`."""
    return {
        **record_state(tx, record),
        "stack_id": "",
        "name": record.name,
        "type": record.type,
        "since": record.since,
        "replaces": record.replaces,
        "requires": json_list(record.requires),
        "state": seal_held(tx, record),
        "created_at": record.created_at,
    }


def json_list(ids: Iterable[str]) -> str:
    """Return ids as the text of a JSON list in sorted order."""
    ordered = sorted(ids)
    return '["' + '","'.join(ordered) + '"]' if ordered else "[]"


def record_state(tx: Tx, record: Record) -> dict[str, Any]:
    """Return the values of those columns of a record that change while a node works on it."""
    return {
        "id": record.id,
        "action": record.action.value,
        "status": record.status.value,
        "reason": tx.seal_text(cut(record.reason), "resource.reason", record.id),
        "physical_id": record.physical_id,
        "until": record.until,
        "traversal": record.traversal,
        "replaced_by": record.replaced_by,
        "updated_at": record.updated_at,
    }


def seal_held(tx: Tx, record: Record) -> bytes:
    """Return the values of the last success of a record, encrypted for the column `state`."""
    body = msgspec.json.encode(record.held, enc_hook=str)
    return tx.sealer.seal_bytes(body, "resource.state", record.id)


_decode_held = msgspec.json.Decoder(Held).decode
_ids = msgspec.json.Decoder(frozenset[str]).decode
_ACTIONS = {action.value: action for action in Action}  # ten times faster than the enum
_STATUSES = {status.value: status for status in Status}


def record_of(tx: Tx, row: Any) -> Record:
    """Return the record in a row that has all columns of the table `resource`."""
    return Record(
        id=row.id,
        name=row.name,
        type=row.type,
        since=row.since,
        created_at=row.created_at,
        action=_ACTIONS[row.action],
        status=_STATUSES[row.status],
        reason=tx.unseal_text(row.reason, "resource.reason", row.id),
        until=row.until,
        physical_id=row.physical_id,
        traversal=row.traversal,
        replaces=row.replaces,
        replaced_by=row.replaced_by,
        requires=_ids(row.requires),
        held=_decode_held(tx.sealer.unseal_bytes(row.state, "resource.state", row.id)),
        updated_at=row.updated_at,
    )
