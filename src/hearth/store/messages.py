"""Messages to the owner of a stack. Each kind is a struct, stored in the table `mail`.

A message only requests that the owner reads the current rows. Only the end of a nested stack's
operation also carries the data that its parent needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from hearth.model.state import Action, Status
from hearth.store.rows import StackRow


class OperationBegun(msgspec.Struct, frozen=True):
    """The stack's row has a newer operation."""


class Cancel(msgspec.Struct, frozen=True):
    """Cancel the operation of a traversal; with `rollback` the stack is rolled back."""

    rollback: bool
    traversal: str


class HookCleared(msgspec.Struct, frozen=True):
    """A user cleared the hook at which a resource waits."""

    record: str
    hook: str


class DataChanged(msgspec.Struct, frozen=True):
    """A process other than the owner wrote a resource's private data or metadata."""

    record: str


class HealthMarked(msgspec.Struct, frozen=True):
    """A request of a user to mark a resource as healthy or unhealthy."""

    record: str
    healthy: bool
    reason: str


class Signalled(msgspec.Struct, frozen=True):
    """A resource received a signal, which is stored in its row."""

    record: str


class SnapshotDeleted(msgspec.Struct, frozen=True):
    """A user requested the delete of a snapshot and of its objects in the cloud."""

    id: str


class ChildEnded(msgspec.Struct, frozen=True):
    """The operation of a nested stack has ended.

    `record` is the parent's, `asked_by` the traversal that requested the operation. `outputs` and
    `members` are None if the operation changed nothing, so that the values recorded by the parent
    stay valid.
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


class UnknownKind(msgspec.Struct, frozen=True):
    """A message that only a newer version of Hearth understands."""

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


@dataclass(frozen=True, slots=True)
class Message:
    """A message with the id of its row, and the time when it was written."""

    id: int
    content: Content
    at: float = 0.0


def kind_of(content: type[Content]) -> str:
    """Return the value of the column `kind` for a type of message."""
    return _NAMES[content]


def packed(content: Content) -> tuple[str, Any]:
    """Return the kind and the body of a message for its row."""
    return _NAMES[type(content)], msgspec.to_builtins(content)


def unpacked(kind: str, body: Any) -> Content:
    """Return the message in a row. Raises msgspec.ValidationError if the body is invalid."""
    known = _KINDS.get(kind)
    return UnknownKind(kind) if known is None else msgspec.convert(body, known)


def child_ended(row: StackRow, **more: Any) -> ChildEnded:
    """Return the message to a parent at the end of a nested stack's operation.

    `more` are the outputs and the members.
    """
    return ChildEnded(
        record=row.parent_record,
        child=row.id,
        asked_by=row.parent_traversal,
        action=row.action,
        status=row.status,
        reason=row.reason,
        failure=row.first_failure,
        **more,
    )
