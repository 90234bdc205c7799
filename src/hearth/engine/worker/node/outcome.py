"""The possible outcomes of a node."""

from msgspec import Struct

from hearth.engine.core.record import Record
from hearth.model.state import Action


class Done(Struct, frozen=True):
    """The node succeeded.

    If `record` is given, a hook after its `action` may delay the end of the node. `if_current` is
    true if the changes of the node are in the change set of that name.
    """

    record: Record | None = None
    action: Action | None = None
    if_current: bool = False


class Removed(Struct, frozen=True):
    """The object is gone or no longer belongs to the stack; the record is deleted, after a hook if
    one is set.
    """

    record: Record
    if_current: bool = False


class Failed(Struct, frozen=True):
    """The node failed; `reason` is the reason to show at the stack.

    If `fatal` is true and the node belongs to an older operation, the failure also fails the
    current operation.
    """

    reason: str
    fatal: bool = False


Outcome = Done | Removed | Failed
