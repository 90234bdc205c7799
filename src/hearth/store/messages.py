"""Messages to the owner of a stack. Each kind is a struct, stored in the table `mail`.

A message about changed rows only makes the owner read the current rows. The message of a nested
stack also carries data that its parent stack needs. In all messages, `record` is the id of a
resource's record.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from hearth.model.state import Action, Status
from hearth.store.rows import StackRow


class OperationBegun(msgspec.Struct, frozen=True):
    """A newer operation of the stack has begun; the stack's row describes it."""


class Cancel(msgspec.Struct, frozen=True):
    """A request to cancel the operation with this traversal.

    If `rollback` is true, the stack is rolled back.
    """

    rollback: bool
    traversal: str


class HookCleared(msgspec.Struct, frozen=True):
    """A user has cleared the hook at which a resource waits."""

    record: str
    hook: str


class DataChanged(msgspec.Struct, frozen=True):
    """A process other than the owner has changed the private data or the metadata of a resource."""

    record: str


class HealthMarked(msgspec.Struct, frozen=True):
    """A user requests that a resource is marked as healthy or unhealthy."""

    record: str
    healthy: bool
    reason: str


class Signalled(msgspec.Struct, frozen=True):
    """A resource has received a signal, which is stored in its rows."""

    record: str


class SnapshotDeleted(msgspec.Struct, frozen=True):
    """A user requests the deletion of a snapshot and of its objects in the cloud."""

    id: str


class ChildEnded(msgspec.Struct, frozen=True):
    """The operation of a nested stack has ended.

    The message is also sent if the values of the nested stack have changed without an operation.
    `record` belongs to the nested stack's resource in the parent stack, and `child` is the id of
    the nested stack. `asked_by` is the traversal of the parent that requested the operation; None
    if there was no operation. `failure` is the first failure of the operation. `outputs` and
    `members` are None if no engine had to carry out the operation; then the values that the parent
    has recorded stay valid. `guarded` are the names of the outputs, and of the attributes of the
    nested stack's resources, that contain hidden values or secrets, and `hidden` those of them
    that contain hidden values.
    """

    record: str | None
    child: str
    asked_by: str | None
    action: Action
    status: Status
    reason: str
    failure: str | None
    outputs: Mapping[str, Any] | None = None
    members: Mapping[str, Any] | None = None
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class UnknownKind(msgspec.Struct, frozen=True):
    """A message of a kind that only a newer version of Hearth knows."""

    kind: str


Content = (
    OperationBegun
    | Cancel
    | HookCleared
    | DataChanged
    | HealthMarked
    | Signalled
    | SnapshotDeleted
    | ChildEnded
    | UnknownKind
)
_KINDS: dict[str, type[Content]] = {
    "operation": OperationBegun,
    "cancel": Cancel,
    "hook": HookCleared,
    "data": DataChanged,
    "health": HealthMarked,
    "signal": Signalled,
    "snapshot": SnapshotDeleted,
    "child": ChildEnded,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class Message(Struct, frozen=True):
    """A message with the id of its row, and the time when it was written."""

    id: int
    content: Content
    at: float = 0.0


def kind_of(content: type[Content]) -> str:
    """Return the value in the column `kind` for this type of message."""
    return _NAMES[content]


def packed(content: Content) -> tuple[str, Any]:
    """Return (kind, body) of a message, as its row stores them."""
    return _NAMES[type(content)], msgspec.to_builtins(content)


def unpacked(kind: str, body: Any) -> Content:
    """Return the message that a row stores. Raises msgspec.ValidationError if its body is
    invalid.
    """
    content_type = _KINDS.get(kind)
    return UnknownKind(kind) if content_type is None else msgspec.convert(body, content_type)


def child_ended(row: StackRow, **results: Any) -> ChildEnded:
    """Return the message to the parent stack about the end of a nested stack's operation.

    `results` are `outputs`, `members`, `guarded` and `hidden`, if an engine carried out the
    operation.
    """
    return ChildEnded(
        record=row.parent_record,
        child=row.id,
        asked_by=row.parent_traversal,
        action=row.action,
        status=row.status,
        reason=row.reason,
        failure=row.first_failure,
        **results,
    )
