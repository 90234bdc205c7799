"""Messages to the owner of a stack. Each kind is a struct; the table `mail` holds them.

A message says "look at this", and its owner reads what is true now. Only the end of a nested
stack's operation carries what its parent needs.
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
    """A user lets a resource go on that waits at a hook."""

    record: str
    hook: str


class DataChanged(msgspec.Struct, frozen=True):
    """Somebody else wrote a resource's private data or metadata."""

    record: str


class HealthMarked(msgspec.Struct, frozen=True):
    """A user marks a resource as healthy or not."""

    record: str
    healthy: bool
    reason: str


class Signalled(msgspec.Struct, frozen=True):
    """A resource received a signal; its row has it."""

    record: str


class SnapshotDeleted(msgspec.Struct, frozen=True):
    """A snapshot is to be deleted with what its resources left in the cloud."""

    id: str


class ChildEnded(msgspec.Struct, frozen=True):
    """The operation of a nested stack has ended.

    `record` is the parent's, `asked_by` the traversal under which it asked. `outputs` and `members`
    are None where nothing was done: what the parent has recorded of them holds.
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
    """A message that has a row."""

    id: int
    content: Content


def kind_of(content: type[Content]) -> str:
    """Return the kind in the rows of such messages."""
    return _NAMES[content]


def packed(content: Content) -> tuple[str, Any]:
    """Return the kind and the body of a message, as its row has them."""
    return _NAMES[type(content)], msgspec.to_builtins(content)


def unpacked(kind: str, body: Any) -> Content:
    """Return what a row holds. Raises msgspec.ValidationError for a body of another shape."""
    known = _KINDS.get(kind)
    return UnknownKind(kind) if known is None else msgspec.convert(body, known)


def child_ended(row: StackRow, **more: Any) -> ChildEnded:
    """Return what a parent is sent at the end of a nested stack's operation; `more` are the
    outputs and the members."""
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
